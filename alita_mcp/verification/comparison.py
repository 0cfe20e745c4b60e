"""Comparison of two JSON results or errors, and the first difference between two values."""

from __future__ import annotations

import builtins
import hashlib
import json
import math
import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from alita_mcp.sandbox.interface import RunResult
from alita_mcp.verification.findings import SHOWN_CHARACTERS, cut_value

RELATIVE_TOLERANCE = 1e-9


def same_result(expected: Any, got: Any, exact: bool = False) -> bool:
    """Whether two JSON values are equal.

    A bool is not a number; 1 equals 1.0; a tuple equals a list; floats within a relative tolerance of 1e-9
    are equal unless `exact`.
    """
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, int | float) and isinstance(got, int | float):
        if expected == got or exact or (isinstance(expected, int) and isinstance(got, int)):
            return bool(expected == got)
        try:
            return math.isclose(expected, got, rel_tol=RELATIVE_TOLERANCE, abs_tol=0.0)
        except OverflowError:  # an int beyond every float
            return False
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        return len(expected) == len(got) and all(
            same_result(one, other, exact) for one, other in zip(expected, got, strict=True)
        )
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(
            same_result(value, got[key], exact) for key, value in expected.items()
        )
    return type(expected) is type(got) and bool(expected == got)


def matches_error(name: str, result: RunResult) -> bool:
    """Whether a call raised an error of that class or of a subclass, as `pytest.raises` matches.

    A bare name of a builtin means the builtin, any other one each class of that name. A module of the standard library
    narrows it down to itself, its package and builtins, `tool` to what the tool calls so, any other module to what is
    not of the standard library.
    """
    kinds = kinds_of(result) if result.status == "error" else ()
    module, _, bare_name = name.rpartition(".")
    known = _builtin(name)
    if known is not None:
        return f"builtins.{known.__name__}" in kinds
    homes = [home for home, _, own in (kind.rpartition(".") for kind in kinds) if own == bare_name]
    if not module or not homes:
        return bool(homes)

    modules = module.split(".")

    def may_hold(home: str) -> bool:
        # the module in the name is (1) the tool, (2) of the standard library, or (3) any other
        own = [part.lstrip("_") for part in home.split(".")]
        if modules[0] == "tool":
            return modules == own
        if modules[0] in sys.stdlib_module_names:
            return own == ["builtins"] or not {*modules}.isdisjoint(own)
        return own[0] not in sys.stdlib_module_names or not {*modules}.isdisjoint(own)

    return any(map(may_hold, homes))


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


SIGNIFICANT_DIGITS = 9
"""Floats that agree so far are the same behaviour, as in every comparison of results."""
LONGEST = 200


def result_word(result: RunResult | None, errors: Collection[str] = ()) -> str:
    """A word for a result; an error's message does not count.

    `errors` are those that tests expect of this call: an error is told by which of them it satisfies, if any.
    """
    if result is None:
        return "not run"
    if met := sorted(name for name in errors if matches_error(name, result)):
        return f"raises {' '.join(met)}"
    if result.status == "error":
        return f"error {result.error_type.rsplit('.', 1)[-1]}"
    if not result.ok:
        return result.status
    text = comparison_key(result.value)
    return f"value {hashlib.sha256(text.encode()).hexdigest() if len(text) > LONGEST else text}"


def comparison_key(value: Any) -> str:
    """The value as JSON with sorted keys and floats as they compare: few digits, and whole ones as integers."""
    return json.dumps(_round(value), sort_keys=True)


def _round(value: Any) -> Any:
    if isinstance(value, float):
        shortened = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
        return int(shortened) if shortened.is_integer() and abs(shortened) < 1e15 else shortened
    if isinstance(value, list | tuple):
        return [_round(each) for each in value]
    if isinstance(value, dict):
        return {name: _round(each) for name, each in value.items()}
    return value


CONTEXT = 60
"""So many characters before the difference are shown in a check."""
AROUND = 600
"""A check shows so much of a large value, in characters."""
MAX_WHERE = 60


class Difference(NamedTuple):
    """The place where two values first differ, and the part of each around it."""

    where: str
    """As in `result[3].name, character 917`, which is counted where a text is cut; empty where all differs."""
    expected: str
    got: str
    """Parts of the JSON texts, with an ellipsis where something is left out; unlike for unlike values."""


def difference(expected: Any, got: Any, width: int, before: int = CONTEXT) -> Difference:
    """The parts of two values around their first difference, each of at most `width` + 2 characters (`width` ≥ 24).

    A part begins at most `before` characters ahead of the difference. Numbers within the tolerance of examples
    differ only where nothing else does. Invisible characters are spelled out.
    """
    found = _first_difference(expected, got, exact=False) or _first_difference(expected, got, exact=True)
    path, *ends = found or ([], None, None)
    ones, others = _json_text(expected), _json_text(got)
    if max(len(ones), len(others)) > width:  # numbers that compare alike hide nothing behind them
        rounded = _json_text(_round(expected)), _json_text(_round(got))
        ones, others = rounded if rounded[0] != rounded[1] else (ones, others)
    common = _common(ones, others)
    before = min(before, width // 2)
    parts = _window(ones, common, before, width), _window(others, common, before, width)
    steps = (
        f"[{step}]"
        if isinstance(step, int)
        else f".{step}"
        if step.isidentifier()
        else f"[{_json_text(step)}]"
        for step in path
    )
    where = _visible("result" + "".join(steps)) if path else ""
    where = where if len(where) <= MAX_WHERE else "…" + where[1 - MAX_WHERE :]
    if any(part.startswith("…") for part in parts):
        place = _common(*ends) if all(isinstance(end, str) for end in ends) else 0
        where = ", ".join(filter(None, (where, f"character {place + 1}" if place else "")))
    return Difference(where, *parts)


def cut_pair(expected: Any, got: Any) -> tuple[Any, Any]:
    """Two values as a check carries them: whole when small, else the part around their first difference."""
    sizes = len(json.dumps(expected)), len(json.dumps(got))
    if max(sizes) <= SHOWN_CHARACTERS:
        return cut_value(expected), cut_value(got)
    found = difference(expected, got, AROUND)

    def cut(value: Any, part: str, size: int) -> Any:
        if size <= SHOWN_CHARACTERS:
            return cut_value(value)
        place = f"at {found.where}: " if found.where and part.startswith("…") else ""
        return f"{place}{part} ({size} characters)"

    return cut(expected, found.expected, sizes[0]), cut(got, found.got, sizes[1])


def _first_difference(expected: Any, got: Any, *, exact: bool) -> tuple[list[str | int], Any, Any] | None:
    """The way to the first part that differs, and both parts; `...` is one that is missing. None: all is the same."""
    parts: Iterable[tuple[str | int, tuple[Any, Any]]]
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        parts = enumerate(zip_longest(expected, got, fillvalue=...))
    elif isinstance(expected, dict) and isinstance(got, dict):
        keys = sorted(expected.keys() | got.keys())
        parts = ((key, (expected.get(key, ...), got.get(key, ...))) for key in keys)
    else:
        return None if same_result(expected, got, exact) else ([], expected, got)
    for step, pair in parts:
        if (found := _first_difference(*pair, exact=exact)) is not None:
            path, *ends = found
            return [step, *path], ends[0], ends[1]
    return None


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=repr)


def _visible(text: str) -> str:
    """A JSON text with what a reader does not see spelled out, so that it can be told apart and sent."""
    unseen = {each for each in set(text) if not each.isprintable()}
    return text.translate({ord(each): each.encode("unicode_escape").decode() for each in unseen})


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    lengths = range(1, min(len(one), len(other)) + 1)
    return bisect_left(lengths, True, key=lambda length: one[:length] != other[:length])


def _window(text: str, position: int, before: int, width: int) -> str:
    if len(text) <= width and len(whole := _visible(text)) <= width:
        return whole
    start, end = max(0, position - before), position + width
    ahead, behind = _visible(text[start:position]), _visible(text[position:end])
    kept = ahead[max(0, len(ahead) - before) :]
    shown_behind = behind[: width - len(kept)]
    starts = "…" if start or kept != ahead else ""
    ends = "…" if end < len(text) or shown_behind != behind else ""
    return starts + kept + shown_behind + ends
