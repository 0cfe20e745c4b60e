"""Detector of package names that resemble well-known ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from packaging.utils import canonicalize_name

from alita_mcp.research.index.well_known_names import CALLED, WELL_KNOWN

_SAME_SHAPE = str.maketrans("01i|53468", "olllseabb")
_AFFIXES = frozenset(
    ["python", "python2", "python3", "py", "py3", "lib", "library", "package", "sdk2", "official"]
)
_MIN_STEM = 3
_ONE_TYPO, _TWO_TYPOS = 5, 10
"""Length from which a name with one typo, or two, counts as a look-alike."""
_SLIP = 6
"""Length from which a name counts as a slip of the pen."""


def disguise_of(name: str) -> str:
    """The well-known package whose name looks the same but for hyphens and characters of the same shape; or empty."""
    return "" if canonicalize_name(name) in WELL_KNOWN else _names_by(_shape).get(_shape(name), "")


def look_alike_of(name: str) -> str:
    """The well-known package that a name could be taken for; empty for one that is well known or resembles none."""
    plain = canonicalize_name(name)
    if plain in WELL_KNOWN:
        return ""
    # Four cases, the surest first: it looks the same; it is the name of a module; it differs by an affix; by typos.
    if found := disguise_of(name) or CALLED.get(plain) or _names_by(_stem).get(_stem(plain)):
        return found
    max_typos = (len(plain) >= _ONE_TYPO) + (len(plain) >= _TWO_TYPOS)
    typos, nearest = min((_edit_distance(plain, known, max_typos), known) for known in WELL_KNOWN)
    return nearest if typos <= max_typos else ""


def slip_of(name: str) -> str:
    """The well-known package that a name is almost certainly meant for, without asking an index; or empty.

    Real packages have names near others, so this is narrower than `look_alike_of`: the hyphens are the same, and the
    shapes too, or two neighbours are swapped, or one letter inside is missing or too many.
    """
    plain = canonicalize_name(name)
    if plain in WELL_KNOWN or len(plain) < _SLIP:
        return ""
    hyphens, letters = plain.count("-"), sorted(plain)
    if disguised := disguise_of(name):
        return disguised if disguised.count("-") == hyphens else ""
    for known in sorted(WELL_KNOWN):
        if abs(len(plain) - len(known)) > 1 or known.count("-") != hyphens:
            continue
        is_inside = len(plain) != len(known) > _SLIP and (plain[0], plain[-1]) == (known[0], known[-1])
        if (is_inside or letters == sorted(known)) and _edit_distance(plain, known, 1) == 1:
            return known
    return ""


@cache
def _names_by(key: Callable[[str], str]) -> dict[str, str]:
    return {key(known): known for known in sorted(WELL_KNOWN, reverse=True) if key(known)}


def _shape(name: str) -> str:
    plain = re.sub(r"[^a-z0-9|]", "", name.casefold())
    return plain.translate(_SAME_SHAPE).replace("rn", "m").replace("vv", "w").replace("cl", "d")


def _stem(plain: str) -> str:
    """The name without `python-`, `py`, a number and the like at its ends; its parts in alphabetical order."""
    stem = "-".join(sorted(part for part in plain.split("-") if part not in _AFFIXES))
    for affix in ("python", "py"):
        if len(stem) - len(affix) >= _MIN_STEM:
            stem = stem.removeprefix(affix).removesuffix(affix)
    short = stem.rstrip("0123456789")
    return short if len(short) >= _MIN_STEM else stem


def _edit_distance(one: str, other: str, limit: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two words; `limit + 1` for more."""
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            steps = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                steps = min(steps, last[j - 2] + 1)
            row.append(steps)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)
