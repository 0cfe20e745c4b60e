"""Equality of JSON results and matching of errors, as every gate and benchmark compares them."""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Sequence
from typing import Any

from alita_mcp.sandbox.interface import RunResult

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


def raised(wanted: str, result: RunResult) -> bool:
    """Whether a call raised an error of that class or of a subclass, as `pytest.raises` matches.

    A bare name of a builtin means the builtin, any other one each class of that name. A module of the standard library
    narrows it down to itself, its package and builtins, `tool` to what the tool calls so, any other module to what is
    not of the standard library.
    """
    kinds = kinds_of(result) if result.status == "error" else ()
    module, _, name = wanted.rpartition(".")
    known = _builtin(wanted)
    if known is not None:
        return f"builtins.{known.__name__}" in kinds
    homes = [home for home, _, own in (kind.rpartition(".") for kind in kinds) if own == name]
    return bool(homes) and (not module or any(_may_hold(module, home) for home in homes))


def kinds_of(result: RunResult) -> Sequence[str]:
    """Qualified names of the error's class and its bases; derived from the name for a builtin without bases."""
    known = _builtin(result.error_type)
    named = [f"builtins.{kind.__name__}" for kind in known.__mro__[:-1]] if known else [result.error_type]
    return result.error_kinds or named


def bare_kinds_of(result: RunResult) -> set[str]:
    """Names of the error's class and its bases without modules, as docstrings have them."""
    return {name.rpartition(".")[2] for name in kinds_of(result)}


def exclude_each_other(one: str, other: str) -> bool:
    """Whether an error that matches one name cannot match the other; known for builtins only."""
    known, others = _builtin(one), _builtin(other)
    if known is None or others is None:
        return False
    return not (issubclass(known, others) or issubclass(others, known))


def _builtin(name: str) -> type[BaseException] | None:
    found = getattr(builtins, name.removeprefix("builtins."), None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _may_hold(module: str, home: str) -> bool:
    """Whether a module may hold a class whose own module is `home`, without importing either."""
    asked, own = module.split("."), [part.lstrip("_") for part in home.split(".")]
    if asked[0] == "tool":
        return asked == own
    if asked[0] in sys.stdlib_module_names:
        return own == ["builtins"] or not {*asked}.isdisjoint(own)
    return own[0] not in sys.stdlib_module_names or not {*asked}.isdisjoint(own)
