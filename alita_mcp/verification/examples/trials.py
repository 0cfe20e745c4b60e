"""Calls of a draft's examples in the sandbox, a few at a time, under a pinned clock and seed."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.sandbox.interface import Environment, Job, RunResult, RunStatus, Sandbox
from alita_mcp.sandbox.workers.calls import hash_seed
from alita_mcp.values import Draft, Example, ToolContract, Value
from alita_mcp.verification.findings import encodable
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

SECOND_CLOCK_OFFSET_S = 400 * 86_400 + 5 * 3_600 + 1_234
"""More than a year and some hours on: another year, month, weekday, hour and minute."""
OTHER_REHEARSALS = 3
"""Further rehearsals, each with another clock and seed, in which the examples of a draft that varies must hold."""


class ClockAndSeed(Value):
    """The clock and the random seed that a call begins with; None: not pinned."""

    moment: int | None = None
    """Seconds of the epoch."""
    seed: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether the clock or the seed is pinned."""
        return self != ClockAndSeed()


def clock_and_seed_of(draft: Draft, number: int = 0) -> ClockAndSeed:
    """The pinned clock and seed of a draft's rehearsals; each `number` has another moment and another seed."""
    whole = pin_clock_and_seed(draft.code, number)
    return ClockAndSeed(
        moment=whole.moment if "clock" in draft.varies else None,
        seed=whole.seed if "random" in draft.varies else None,
    )


@cache
def start_of_clock() -> int:
    """Seconds of the epoch at which the rehearsals' clock starts; one for this process, so that workers are shared."""
    return int(time.time())


def pin_clock_and_seed(code: str, number: int = 0) -> ClockAndSeed:
    """A pinned clock and a pinned seed; the seed cannot be foreseen outside this process."""
    moment = start_of_clock() + number * SECOND_CLOCK_OFFSET_S
    return ClockAndSeed(moment=moment, seed=hash_seed(f"random numbers {number} {code}", 0))


T = TypeVar("T")

AT_ONCE = 4

FIXES: Mapping[RunStatus, str] = {
    "error": "Handle these arguments, or say `raises` in the example if the error is meant.",
    "load_failed": "Fix what fails when the module is imported, and declare the packages it needs.",
    "bad_result": "Return JSON only: str, int, finite float, bool, None, lists, dicts with string keys.",
    "timeout": "Use a faster algorithm, or a smaller example; check that loops end.",
    "memory": "Use less memory: generators instead of lists, smaller tables.",
    "output_flood": "Remove print calls: the result is what the function returns.",
    "crashed": "Avoid unbounded recursion and calls that end the process.",
}
"""What to change, by how a run ended."""


@dataclass(frozen=True)
class RehearsedDraft:
    """A draft under verification, with its contract, its environment and the rehearsal that runs its calls."""

    draft: Draft
    contract: ToolContract
    environment: Environment | None
    rehearsal: Rehearsal


async def run_jobs(runner: Sandbox | Rehearsal, jobs: Sequence[Job]) -> list[RunResult | None]:
    """Runs jobs, a few at a time; results in their order, and None for those that a time-out ended.

    A rehearsal runs jobs with grants too: nothing that they ask for is real.

    Raises:
        SandboxError: the sandbox failed or refused; the first such error, not a group.
    """
    results: list[RunResult | None] = [None] * len(jobs)
    timed_out = anyio.CancelScope()

    async def run(numbered: tuple[int, Job]) -> None:
        place, job = numbered
        if not timed_out.cancel_called:
            result = results[place] = await runner.run(job)
            if result.status == "timeout":
                timed_out.cancel()

    try:
        with timed_out:
            await each_of(enumerate(jobs), run, math.inf)
    except AlitaError:
        if not timed_out.cancel_called:
            raise
    return results


async def each_of(items: Iterable[T], look: Callable[[T], Awaitable[None]], max_seconds: float) -> None:
    """Applies `look` to all items, a few at a time and in their order, until time is up.

    Raises:
        AlitaError: the first that a look raised, not a group.
    """
    errors: list[AlitaError] = []
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            try:
                await look(item)
            except AlitaError as error:
                errors.append(error)
                group.cancel_scope.cancel()
                return

    with anyio.move_on_after(max_seconds):
        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(work)
    if errors:
        raise errors[0]


def job_of(
    draft: Draft,
    example: Example,
    environment: Environment | None,
    *,
    again: bool = False,
    pinned: ClockAndSeed | None = None,
) -> Job:
    """The job that a later call makes too; `again` uses another clock and the hash seed that belongs to it.

    What the draft declares in `varies` is as `pinned` has it, or as in all its rehearsals.
    """
    pinned = pinned or clock_and_seed_of(draft)
    return Job(
        code=draft.code,
        function=draft.name,
        arguments=example.arguments,
        environment=environment,
        limits=draft.limits,
        hash_seed=hash_seed(draft.code, SECOND_CLOCK_OFFSET_S)
        if again and pinned.moment is not None
        else None,
        clock_offset_s=SECOND_CLOCK_OFFSET_S if again and pinned.moment is None else 0,
        moment=pinned.moment,
        random_seed=pinned.seed,
        grants=draft.grants,
    )


def describe_failure(result: RunResult) -> str:
    """The end of a run without a value, in a few words."""
    message = encodable(result.message[:300])
    if result.status == "error":
        return f"raised {result.error_type}: {message}" if message else f"raised {result.error_type}"
    words = {
        "load_failed": "the module does not load",
        "bad_result": "the result is not JSON",
        "timeout": "out of time",
        "memory": "out of memory",
        "output_flood": "printed too much",
        "crashed": "the process died",
    }
    detail = ": ".join(part for part in (result.error_type, message) if part)
    return f"{words[result.status]}: {detail}" if detail else words[result.status]
