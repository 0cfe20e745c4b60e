"""Evaluator of `check` expressions, in a sandbox without the tool's code."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import Any

from alita_mcp.sandbox.interface import Job, Sandbox
from alita_mcp.values import Example, Varying
from alita_mcp.verification.code.source import parse_expression
from alita_mcp.verification.examples.trials import ClockAndSeed, describe_failure, run_jobs
from alita_mcp.verification.findings import ContractError, refusal

_PROGRAM = """\
import math
def check(results, arguments, now, seed):
    if now is not None:
        import datetime
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        now = epoch + datetime.timedelta(seconds=now)
    if seed is not None:
        import random
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
NOTHING_PINNED = ClockAndSeed()
_REFUSED = ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr

ConditionResult = bool | str
"""True or false, or the error that the expression raised."""


_ALWAYS = ("result", "arguments", "math")
_WITH: dict[Varying, tuple[str, ...]] = {"clock": ("now", "datetime"), "random": ("seed", "random")}
"""Names that a check may use besides Python's builtins, always and with what its tool varies by."""


def read_condition(example: Example, where: str, varies: Sequence[Varying] = tuple(_WITH)) -> str:
    """The check of an example on one line.

    Raises:
        ContractError: it does not parse, does not use `result`, or names what a check does not have.
    """
    try:
        expression = parse_expression(example.check or "")
        written = ast.unparse(expression)
    except (ContractError, ValueError) as broken:
        fix = "Write one Python expression over result and arguments, as in `len(result) == arguments['n']`."
        reason = broken.message if isinstance(broken, ContractError) else "holds a number that is too long"
        raise refusal(f"{where}: check {reason}", fix, stage="examples") from broken
    nodes = list(ast.walk(expression))
    if any(isinstance(node, _REFUSED) for node in nodes):
        fix = "Leave out await, yield and `:=`."
        raise refusal(f"{where}: check is more than a plain expression", fix, stage="examples")
    names = [node for node in nodes if isinstance(node, ast.Name)]
    may_use = [*_ALWAYS, *(name for each in varies for name in _WITH[each])]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for name in (node.id for node in names if node.id not in bound and not hasattr(builtins, node.id)):
        if name not in may_use:
            instead = f" For the argument write arguments[{name!r}]." if name in example.arguments else ""
            more = (
                f' With "varies": ["{each}"] it has {name}.' for each, known in _WITH.items() if name in known
            )
            fix = f"A check may use {', '.join(may_use)} and Python's builtins.{instead}{''.join(more)}"
            raise refusal(f"{where}: check names {name!r}, which it does not have", fix, stage="examples")
    if not any(node.id == "result" for node in names):
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
    pinned_values = {"now": pinned.moment, "seed": pinned.seed}
    jobs = [
        Job(
            code=_PROGRAM.format(expression=read_condition(example, "example")),
            function="check",
            arguments={"results": list(results), "arguments": example.arguments, **pinned_values},
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
