"""Judge of code by examples in a sandbox, and breaker of requests that at least one example notices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.values import Example, Limits, Value
from alita_mcp.verification.comparison import matches_error, same_result
from benchmarks.synthesis import mutate
from benchmarks.synthesis.tool_requests import ToolRequest

LIMITS = Limits(wall_seconds=5, cpu_seconds=5)
"""The examples take milliseconds; a mutant that loops for ever should not take longer than this to notice."""


class BrokenRequest(Value):
    """A request whose code was broken by one mistake that its own examples notice."""

    request: ToolRequest
    mutation: mutate.Mutation
    noticed_by: Literal["tests", "hidden"]
    """`hidden`: every example that is handed in passes all the same."""
    drawn: int
    """How many mutants were tried, this one included."""


class Unbroken(Value):
    """A request that was not broken, and why."""

    task_id: str
    why: str


async def break_request(request: ToolRequest, seed: int, sandbox: Sandbox) -> BrokenRequest | Unbroken:
    """Draws mutants until the examples notice one.

    An example that the unbroken code fails in this sandbox notices nothing and is left out.
    """
    try:
        tests = await _holding(request, request.tests, sandbox)
        hidden = await _holding(request, request.hidden, sandbox)
        mutants = mutate.drawn(request.code, f"{seed} {request.task_id}")
    except SandboxRefused as refused:
        return Unbroken(task_id=request.task_id, why=f"the sandbox refuses the unbroken code: {refused}")
    except (SyntaxError, ValueError) as unreadable:
        return Unbroken(task_id=request.task_id, why=f"the code does not parse: {unreadable}")
    for count, mutation in enumerate(mutants, start=1):
        broken = request.model_copy(update={"code": mutation.code})
        for word, examples in (("tests", tests), ("hidden", hidden)):
            if await _is_noticed(broken, examples, sandbox):
                return BrokenRequest(request=broken, mutation=mutation, noticed_by=word, drawn=count)
    return Unbroken(task_id=request.task_id, why=f"none of {len(mutants)} mutants is noticed")


async def _holding(request: ToolRequest, examples: Sequence[Example], sandbox: Sandbox) -> list[Example]:
    return [example for example in examples if await holds(request, example, sandbox)]


async def _is_noticed(request: ToolRequest, examples: Sequence[Example], sandbox: Sandbox) -> bool:
    for example in examples:
        if not await holds(request, example, sandbox):
            return True
    return False


async def holds(request: ToolRequest, example: Example, sandbox: Sandbox) -> bool:
    """Whether the request's code meets the example; a crash or a time-out does not.

    Raises:
        SandboxRefused: the sandbox does not offer what the code needs.
        SandboxError: the sandbox failed.
    """
    result = await sandbox.run(
        Job(code=request.code, function=request.name, arguments=example.arguments, limits=LIMITS)
    )
    if example.raises is not None:
        return matches_error(example.raises, result)
    if not result.ok:
        return False
    if example.check is not None:
        return await _check_holds(example.check, example, result, sandbox)
    return same_result(example.expected, result.value, example.exact)


async def _check_holds(check: str, example: Example, result: RunResult, sandbox: Sandbox) -> bool:
    """Evaluates an author's expression where it can do no harm: in the sandbox too."""
    code = f"def holds(result, arguments):\n    return bool(\n{check}\n    )\n"
    words = {"result": result.value, "arguments": example.arguments}
    verdict = await sandbox.run(Job(code=code, function="holds", arguments=words, limits=LIMITS))
    return verdict.ok and verdict.value is True
