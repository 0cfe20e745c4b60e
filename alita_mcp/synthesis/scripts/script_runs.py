"""Runs of a plain script, and comparison of its printed output with a typed result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field, JsonValue

from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.synthesis.scripts.scripts import ENTRY, program_of
from alita_mcp.synthesis.specification.values import Specification, Written
from alita_mcp.values import Limits
from alita_mcp.verification.comparison.compare import same_result

MAX_RUNS = 8
WALL_S = 10.0
"""For one run of a script."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SAID = {True: ("true", "yes"), False: ("false", "no")}


class ScriptRun(Written):
    """One run of a script, with the equivalent call of the tool."""

    stdin: tuple[str, ...] = Field(default=(), max_length=200)
    argv: tuple[str, ...] = Field(default=(), max_length=50)
    constants: dict[str, JsonValue] = Field(default_factory=dict, max_length=20)
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class ScriptSpecification(Specification):
    """Specification of the typed function that a script amounts to, with runs that show it."""

    runs: tuple[ScriptRun, ...] = Field(min_length=1)


class Results(Written):
    """Results that the function should give for each run, where the script prints."""

    results: tuple[Any, ...] = Field(min_length=1)


async def run_script(code: str, run: ScriptRun, sandbox: Sandbox) -> RunResult:
    """Runs the script with these inputs.

    Raises:
        ContractError: the code does not parse.
        SandboxError: the sandbox failed.
    """
    arguments = {"_given_lines": list(run.stdin), "_given_argv": list(run.argv)}
    program = program_of(code, run.constants)
    return await sandbox.run(
        Job(code=program, function=ENTRY, arguments=arguments, limits=Limits(wall_seconds=WALL_S))
    )


def lacks_lines(result: RunResult) -> bool:
    """Whether a script read more lines than it was given; not every sandbox knows the error by its name."""
    return result.status == "error" and "EOFError" in f"{result.error_type} {result.message}"


def wants_input(result: RunResult) -> bool:
    """Whether a script that was given nothing ended as one does that wants something."""
    missing = ("IndexError", "SystemExit")
    return lacks_lines(result) or (result.status == "error" and result.error_type.endswith(missing))


def says_the_same(result: Any, printed: str) -> bool:
    """Whether a typed result says what was printed: every value in it stands there, in the same order.

    Words around the values do not matter: `{"area": 12.5}` says the same as `The area is 12.5`.
    """
    text = printed.strip()
    if isinstance(result, str):
        return result.strip() == text or (bool(result.strip()) and result.strip() in text.splitlines())
    leaves = list(_leaves(result))
    if not leaves:
        return not text or text in ("[]", "{}", "None", "()")
    place = 0
    for leaf in leaves:
        found = _find(leaf, text, place)
        if found is None:
            return False
        place = found
    return True


def _leaves(value: Any) -> Iterator[Any]:
    match value:
        case list():
            for each in value:
                yield from _leaves(each)
        case dict():
            for each in value.values():
                yield from _leaves(each)
        case None:
            return
        case _:
            yield value


def _find(leaf: Any, text: str, start: int) -> int | None:
    """Where a value ends in the text, behind `start`."""
    if isinstance(leaf, bool):
        lowered = text.lower()
        ends = [lowered.find(word, start) + len(word) for word in _SAID[leaf] if word in lowered[start:]]
        return min(ends, default=None)
    if isinstance(leaf, int | float):
        for number in _NUMBER.finditer(text, start):
            if same_result(leaf, float(number[0])):
                return number.end()
        return None
    at = text.find(str(leaf), start)
    return at + len(str(leaf)) if at >= 0 else None
