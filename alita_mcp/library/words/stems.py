"""Tokens of search: lower case, Latin letters without accents, English stems, no stop words."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

LONGEST_BYTES = 40
"""A longer run of letters is no word."""

_STOP_WORDS = """
a about after again against all am an and are aren as at be been being below between both but by can
couldn d did didn do doesn doing don down each few for from further had has hasn have haven having he her
here him himself his how i if in into is it its just ll m ma me more most my myself no nor not now o of
off on or other our out over own re s same she should shouldn so some such t than that the their them
then there these they this those through to too under until up ve was wasn we were what when where which
while who whom will with won wouldn y you your yourself
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Compared with stems, as the words alone were when the certainty was fitted; `any` and `very` are none of them."""
_SPELLED = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l"}
_KEPT_LETTERS = 5_000


class _Plain(dict[int, str]):
    """What stands for each character in a text that is cut into words; made as they come up."""

    def __missing__(self, code: int) -> str:
        plain = _plain(chr(code))
        if len(self) < _KEPT_LETTERS:
            self[code] = plain
        return plain


_LETTERS = _Plain()


@lru_cache(maxsize=1_024)
def stems(text: str) -> tuple[str, ...]:
    """The words of a text, in their order; those of the texts of tools are asked for in every search."""
    plain = unicodedata.normalize("NFC", text.lower()).translate(_LETTERS)
    words = (word for word in plain.split() if len(word.encode()) <= LONGEST_BYTES)
    return tuple(stem for word in words if (stem := _stem(word)) not in STOP_WORDS)


def _plain(letter: str) -> str:
    if letter in _SPELLED:
        return _SPELLED[letter]
    if "\u0300" <= letter <= "\u036f":  # an accent that stands beside its letter
        return ""
    if unicodedata.category(letter)[0] not in "LMN":
        return " "
    bare = "".join(part for part in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(part))
    return bare.lower() if bare.isascii() and bare.isalnum() else letter


@lru_cache(maxsize=8_192)
def _stem(word: str) -> str:
    from Stemmer import Stemmer

    # one of its own for each word: threads cannot share one, and making it costs nothing
    return word if word.isdigit() else str(Stemmer("english", 0).stemWord(word))
