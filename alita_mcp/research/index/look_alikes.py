"""Detector of package names that are almost certainly mistyped well-known ones."""

from __future__ import annotations

import re
from functools import cache

from packaging.utils import canonicalize_name

from alita_mcp.research.index.well_known_names import WELL_KNOWN

_SAME_SHAPE = str.maketrans("01i|53468", "olllseabb")
_SHORTEST = 6
"""Shorter names have too many real neighbours."""


def slip_of(name: str) -> str:
    """The well-known package that a name is almost certainly meant for; or empty.

    Real packages have names near others, so this is narrow: with the same hyphens, characters of the same shape stand
    in the place of others, two neighbours are swapped, or one letter inside is missing or too many.
    """
    plain = canonicalize_name(name)
    if plain in WELL_KNOWN or len(plain) < _SHORTEST:
        return ""
    alike = [known for known in sorted(WELL_KNOWN) if known.count("-") == plain.count("-")]
    shape = _shape(name)
    by_shape = (known for known in alike if _shape(known) == shape)
    return next(by_shape, "") or next((known for known in alike if _is_one_slip(plain, known)), "")


@cache
def _shape(name: str) -> str:
    plain = re.sub(r"[^a-z0-9|]", "", name.casefold())
    return plain.translate(_SAME_SHAPE).replace("rn", "m").replace("vv", "w").replace("cl", "d")


def _is_one_slip(name: str, known: str) -> bool:
    """Whether two neighbours are swapped, or a letter inside a long name is missing or too many."""
    if len(name) == len(known):
        swaps = (f"{known[:i]}{known[i + 1]}{known[i]}{known[i + 2 :]}" for i in range(len(known) - 1))
        return name in swaps
    shorter, longer = sorted((name, known), key=len)
    if len(longer) - len(shorter) > 1 or len(known) <= _SHORTEST:
        return False
    return any(longer[:i] + longer[i + 1 :] == shorter for i in range(1, len(longer) - 1))
