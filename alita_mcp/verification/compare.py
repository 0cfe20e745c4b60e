"""Are two JSON results the same? The one comparison that every gate and every benchmark uses."""

from __future__ import annotations

import math
from typing import Any

RELATIVE_TOLERANCE = 1e-9


def same_result(expected: Any, got: Any, exact: bool = False) -> bool:
    """Whether two JSON values are equal.

    A bool is not a number; 1 equals 1.0; a tuple equals a list; floats within a relative tolerance of 1e-9
    are equal unless `exact`.
    """
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return _same_number(expected, got, exact)
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        return len(expected) == len(got) and all(
            same_result(one, other, exact) for one, other in zip(expected, got, strict=True)
        )
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(
            same_result(value, got[key], exact) for key, value in expected.items()
        )
    return type(expected) is type(got) and bool(expected == got)


def _same_number(expected: float, got: float, exact: bool) -> bool:
    if expected == got:
        return True
    if exact or (isinstance(expected, int) and isinstance(got, int)):
        return False
    try:
        return math.isclose(expected, got, rel_tol=RELATIVE_TOLERANCE, abs_tol=0.0)
    except OverflowError:  # an int beyond every float
        return False


def same_error(one: str, other: str) -> bool:
    """Whether two names of exception classes, with or without their modules, name the same class."""
    return one.rpartition(".")[2] == other.rpartition(".")[2]
