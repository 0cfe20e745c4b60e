"""Evaluator of `check` expressions, in a sandbox without the tool's code."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from alita_mcp.sandbox.interface import Job, Sandbox
from alita_mcp.values import Example
from alita_mcp.verification.code.source import parse_expression
from alita_mcp.verification.examples.trials import ClockAndSeed, describe_failure, run_jobs
from alita_mcp.verification.findings import ContractError, refusal

_PROGRAM = """\
{imports}
def check(results, arguments{names}):
{clock}
    def holds(result):
        return bool({expression})
    outcomes = []
    for result in results:
        try:
            outcomes.append(holds(result))
        except Exception as error:
            outcomes.append(type(error).__name__ + ": " + str(error))
    return outcomes
"""

_NOW = (
    "    now = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=now)"
)
NOTHING_PINNED = ClockAndSeed()
_REFUSED = ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr

ConditionResult = bool | str
"""True or false, or the error that the expression raised."""


def read_condition(text: str, where: str) -> str:
    """Parses a check to one line and refuses one that does not use the result.

    Raises:
        ContractError: it does not parse, or does not use `result`.
    """
    try:
        expression = parse_expression(text)
        written = ast.unparse(expression)
    except (ContractError, ValueError) as broken:
        fix = "Write one Python expression over result and arguments, as in `len(result) == arguments['n']`."
        reason = broken.message if isinstance(broken, ContractError) else "holds a number that is too long"
        raise refusal(f"{where}: check {reason}", fix, stage="examples") from broken
    nodes = list(ast.walk(expression))
    if any(isinstance(node, _REFUSED) for node in nodes):
        fix = "Leave out await, yield and `:=`."
        raise refusal(f"{where}: check is more than a plain expression", fix, stage="examples")
    if not any(isinstance(node, ast.Name) and node.id == "result" for node in nodes):
        fix = "Say what must hold of `result`."
        raise refusal(f"{where}: check does not look at the result", fix, stage="examples")
    return written


async def evaluate(
    sandbox: Sandbox,
    conditions: Sequence[tuple[Example, Sequence[Any]]],
    pinned: ClockAndSeed = NOTHING_PINNED,
) -> list[list[ConditionResult]]:
    """Evaluates each example's check on each of the given results, under the same clock and seed.

    Raises:
        SandboxError: the sandbox failed.
    """
    jobs = [
        Job(
            code=_program(read_condition(example.check or "", "example"), pinned),
            function="check",
            arguments={"results": list(results), "arguments": example.arguments, **_arguments_for(pinned)},
        )
        for example, results in conditions
    ]
    runs = await run_jobs(sandbox, jobs)
    found: list[list[ConditionResult]] = []
    for (_, results), run in zip(conditions, runs, strict=True):
        value = run.value if run is not None and run.ok else None
        if (
            isinstance(value, list)
            and len(value) == len(results)
            and all(isinstance(each, ConditionResult) for each in value)
        ):
            found.append(value)
        else:
            why = describe_failure(run) if run is not None and not run.ok else "it was not evaluated"
            found.append([why] * len(results))
    return found


def _program(expression: str, pinned: ClockAndSeed) -> str:
    """A check as a program; `now` and `seed` are there where the tool varies by the clock or by chance."""
    modules = ["datetime"] * (pinned.moment is not None) + ["random"] * (pinned.seed is not None)
    return _PROGRAM.format(
        expression=expression,
        imports=f"import {', '.join(modules)}" if modules else "",
        names="".join(f", {name}" for name in _arguments_for(pinned)),
        clock="    pass" if pinned.moment is None else _NOW,
    )


def _arguments_for(pinned: ClockAndSeed) -> dict[str, Any]:
    given = {"now": pinned.moment, "seed": pinned.seed}
    return {name: value for name, value in given.items() if value is not None}
