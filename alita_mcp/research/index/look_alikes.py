"""Detector of names that resemble well-known packages."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from packaging.utils import canonicalize_name

from alita_mcp.research.index.well_known_names import CALLED, WELL_KNOWN

_CODES = """
a:0251,03b1,0430,0434 b:00df,03b2,0431,0432 c:0441 d:0111,0501 e:03b5,0435 g:0261 h:043d,04bb
i:0131,03b9,0456 j:0458 k:03ba,043a l:0142,03bb,04cf m:043c n:03b7,03bd,043f o:00f8,03bf,043e
p:03c1,0440 q:051b r:0433 s:0455 t:03c4,0442 u:03c5 w:03c9,051d x:03c7,0445 y:03b3,0443 z:0437
"""
_LETTERS = {
    int(code, 16): latin
    for latin, codes in (line.split(":") for line in _CODES.split())
    for code in codes.split(",")
}
"""Letters of other alphabets by the Latin ones that they look like."""
_ALIKE = str.maketrans("01i|53468", "olllseabb")
_AFFIXES = frozenset(
    {"python", "python2", "python3", "py", "py3", "lib", "library", "package", "sdk2", "official"}
)
_SHORTEST = 3
_ONE_SLIP, _TWO_SLIPS = 5, 10
"""From so many characters on, names count as alike with one slip of the pen, or two."""


def disguise_of(name: str) -> str:
    """The well-known package whose name looks the same, except for hyphens and characters of the same shape."""
    return "" if canonicalize_name(name) in WELL_KNOWN else _by_shape().get(_shape(name), "")


def look_alike_of(name: str) -> str:
    """The well-known package that a name could be taken for; empty for one that is well known or resembles none."""
    if canonicalize_name(name) in WELL_KNOWN:
        return ""
    plain = canonicalize_name(_latin(name))
    if called := disguise_of(name) or CALLED.get(plain) or _by_stem().get(_stem(plain)):
        return called
    most = (len(plain) >= _ONE_SLIP) + (len(plain) >= _TWO_SLIPS)
    slips, nearest = min((_slips(plain, known, most), known) for known in WELL_KNOWN)
    return nearest if slips <= most else ""


def _latin(name: str) -> str:
    folded = unicodedata.normalize("NFKD", name).casefold().translate(_LETTERS)
    return "".join(letter for letter in folded if not unicodedata.combining(letter))


def _shape(name: str) -> str:
    plain = re.sub(r"[^a-z0-9|]", "", _latin(name))
    return plain.translate(_ALIKE).replace("rn", "m").replace("vv", "w").replace("cl", "d")


def _stem(plain: str) -> str:
    """The name without what is put before or after names: `python-`, `py`, a number; its parts in order."""
    parts = sorted(part for part in plain.split("-") if part not in _AFFIXES)
    joined = "-".join(parts)
    for affix in ("python", "py"):
        if len(joined) - len(affix) >= _SHORTEST:
            joined = joined.removeprefix(affix).removesuffix(affix)
    short = joined.rstrip("0123456789")
    return short if len(short) >= _SHORTEST else joined


@cache
def _by_shape() -> dict[str, str]:
    return {_shape(known): known for known in sorted(WELL_KNOWN, reverse=True)}


@cache
def _by_stem() -> dict[str, str]:
    return {stem: known for known in sorted(WELL_KNOWN, reverse=True) if (stem := _stem(known))}


def _slips(one: str, other: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two words; above `most`, `most + 1`."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            steps = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                steps = min(steps, last[j - 2] + 1)
            row.append(steps)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
