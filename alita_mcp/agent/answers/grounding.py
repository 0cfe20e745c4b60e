"""Grounding of claims in observed texts, by pure text comparison without a model.

Numbers count as the same when one is the other rounded; words when they stand in an observation in that order, whatever
their case, punctuation and spacing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation

_NUMBER = re.compile(r"(?<![\w.])[-+\u2212]?\d[\d,_\u202f\u00a0']*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORDS = re.compile(r"\w+")
MAX_SHORT = 12
"""Words of an answer that is looked up as a whole; a longer one has claims."""
_FILLERS = frozenset(
    ("a", "an", "the", "is", "are", "was", "were", "of", "in", "on", "at", "to", "and", "or", "by", "for")
)


def is_observed(claim: str, observations: Iterable[str]) -> bool:
    """Whether an observation supports a short claim: each of its numbers, and its other words."""
    numbers = numbers_in(claim)
    words = [word for word in words_in(_NUMBER.sub(" ", claim)) if word not in _FILLERS]
    if not numbers and not words:
        return False
    return any(_supports(text, numbers, words) for text in observations)


def is_quoted(quote: str, text: str) -> bool:
    """Whether a text contains a quotation, regardless of case, punctuation and spacing."""
    wanted = words_in(quote)
    return bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(words_in(text))} "


def _supports(text: str, numbers: Sequence[Decimal], words: Sequence[str]) -> bool:
    there = numbers_in(text)
    if not all(any(_is_rounded(number, other) for other in there) for number in numbers):
        return False
    # Case 1: numbers alone. Case 2: words alone, which stand there in this order.
    if not words:
        return True
    found = [word for word in words_in(text) if word not in _FILLERS]
    if not numbers:
        return f" {' '.join(words)} " in f" {' '.join(found)} "
    # Case 3: numbers with units, or with a few words around them.
    return len(words) <= 3 or sum(word in found for word in words) * 2 >= len(words)


def numbers_in(text: str) -> list[Decimal]:
    """The numbers of a text, without separators of thousands."""
    found = []
    for match in _NUMBER.findall(text):
        plain = re.sub(r"[,_'\u202f\u00a0]", "", match).replace("\u2212", "-")
        try:
            found.append(Decimal(plain))
        except InvalidOperation:
            continue
    return found


def _is_rounded(said: Decimal, observed: Decimal) -> bool:
    """Whether the number said is the one observed, rounded to the places that it is said with."""
    exponent = said.as_tuple().exponent
    if said == observed or not isinstance(exponent, int) or abs(observed) > Decimal("1e20"):
        return said == observed
    try:
        return observed.quantize(Decimal(1).scaleb(min(exponent, 0))) == said
    except InvalidOperation:
        return False


def words_in(text: str) -> list[str]:
    """The words of a text in lower case, with accents."""
    return _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())
