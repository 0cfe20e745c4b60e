"""Exact-match scoring of answers, as in GAIA.

The rules are those of GAIA's public scorer (Mialon et al., 2023, arXiv:2311.12983): what is expected decides how both
are compared, as a number, as a list or as a text. One thing differs: `inf` and `nan` are texts here, not numbers.
"""

from __future__ import annotations

import math
import re
import string

_SEPARATORS = re.compile("[,;]")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_answer(got: str | None, expected: str) -> bool:
    """Whether an answer is exactly the expected one.

    A number is compared as a number, without `$`, `%` and commas; a text with a comma or a semicolon element by
    element, in order; any other text without whitespace, punctuation and case.
    """
    said = "None" if got is None else got
    if _is_number(expected):
        return _as_number(said) == float(expected)
    if _SEPARATORS.search(expected):
        wanted, given = _SEPARATORS.split(expected), _SEPARATORS.split(said)
        return len(wanted) == len(given) and all(map(_same_element, given, wanted))
    return _folded(said).translate(_PUNCTUATION) == _folded(expected).translate(_PUNCTUATION)


def _same_element(got: str, expected: str) -> bool:
    if _is_number(expected):
        return _as_number(got) == float(expected)
    return _folded(got) == _folded(expected)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _as_number(text: str) -> float:
    """What is no number equals nothing that is expected."""
    for sign in "$%,":
        text = text.replace(sign, "")
    try:
        return float(text)
    except ValueError:
        return math.inf


def _folded(text: str) -> str:
    return re.sub(r"\s", "", text).lower()
