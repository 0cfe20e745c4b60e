"""The mutation gate: would the examples notice a small mistake in the code? Those that they miss are named."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import anyio

from alita_mcp.errors import AlitaError, SandboxRefused
from alita_mcp.sandbox.code_on_call import UNLOADABLE, loading_program, on_call
from alita_mcp.sandbox.seam import Environment, Job
from alita_mcp.values import Check, Draft, Example, Limits, MutationScore, Survivor, ToolContract
from alita_mcp.verification.examples import Trial, still_met
from alita_mcp.verification.findings import failed, passed
from alita_mcp.verification.mutants import Mutant, mutants_of
from alita_mcp.verification.rehearsal import Rehearsal
from alita_mcp.verification.trials import job_of

REJECTED_BELOW = 0.3
"""A suite that misses more than this proves nothing."""
VERIFIED_FROM = 0.8
"""Below, the trust is `provisional` at most. Both were fitted on the development tasks (docs/decisions)."""
VERIFIED_IN_REHEARSAL_FROM = 0.4
"""The same for tools with grants: examples do not see what goes out through a door, only a stand-in does."""

MAX_SECONDS = 20.0
"""What was not run by then does not count; the order of the mutants is fair at every length."""
AT_ONCE = 4
_SLOWEST_TIMES = 3
_STEPS = (0.3, 1.0, 3.0, 10.0, 30.0)
_NAMED = 3
_LOOKS_AT_ITSELF = frozenset({
    "inspect", "dis", "linecache", "traceback", "getsource", "getsourcelines", "_getframe", "currentframe",
    "__code__", "co_code", "co_consts", "co_lines", "f_code", "f_back", "tb_frame", "gc", "get_objects", "__loader__",
    "__file__", "__traceback__", "settrace", "setprofile", "monitoring",
})  # fmt: skip
"""Names by which code learns how it is written or who runs it, and could fail only where it was changed."""


AsJob = Callable[[str, Example], Job]
"""Makes the job that runs one example on one variant of the code."""


@dataclass(frozen=True)
class MutationFound:
    """What the gate found; no score where none could be measured."""

    checks: list[Check]
    score: MutationScore | None = None


async def mutation_gate(
    draft: Draft,
    contract: ToolContract,
    trials: Sequence[Trial],
    environment: Environment | None,
    rehearsal: Rehearsal,
) -> MutationFound:
    """Runs the examples of a draft, all of which passed, on variants of its code.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    if looks_at_itself(draft.code):
        message = "the code looks at its own source or at its caller, so nothing follows from what a changed one does"
        fix = "Leave out inspect, sys._getframe, __code__ and the like."
        return MutationFound([failed("mutation", message, fix, hard=False)])
    mutants = await anyio.to_thread.run_sync(mutants_of, draft.code, draft.name, abandon_on_cancel=True)
    if not mutants:
        return MutationFound([passed("mutation", "nothing in the code could be written another way")])
    ordered = sorted(trials, key=lambda trial: trial.example.check is not None)
    as_job = await _control(draft, contract, ordered, environment, rehearsal)
    if as_job is None:
        message = "the examples do not hold when the code is loaded anew for each call, so no mutant was run"
        fix = "Let nothing depend on how the module is loaded."
        return MutationFound([failed("mutation", message, fix, hard=False)])
    score = await _score(mutants, as_job, ordered, contract, rehearsal)
    verified_from = VERIFIED_FROM if draft.grants.is_pure else VERIFIED_IN_REHEARSAL_FROM
    return MutationFound(_checks(score, verified_from), score)


def looks_at_itself(code: str) -> bool:
    """Whether the code could find out that it was changed."""
    for node in ast.walk(ast.parse(code)):
        names: set[str] = set()
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                names = {name}
            case ast.Import(names=aliases):
                names = {alias.name for alias in aliases}
            case ast.ImportFrom(module=module, names=aliases):
                names = {module or "", *(alias.name for alias in aliases)}
        if names & _LOOKS_AT_ITSELF:
            return True
    return False


async def _control(
    draft: Draft,
    contract: ToolContract,
    trials: Sequence[Trial],
    environment: Environment | None,
    rehearsal: Rehearsal,
) -> AsJob | None:
    """The way to run mutants in which the code itself passes its examples; None when there is none."""
    for limits in _tight(draft, trials):
        for as_job in _ways(draft, environment, limits):
            try:
                if await _first_noticing(draft.code, as_job, trials, contract, rehearsal) is None:
                    return as_job
            except SandboxRefused:
                continue
    return None


def _ways(draft: Draft, environment: Environment | None, limits: Limits) -> Iterator[AsJob]:
    """All mutants in the same workers, or where that cannot be, each as other jobs without workers to keep.

    The embedded interpreter has no `exec`, and needs none: a call there loads its code anyway.
    """

    def plain(code: str, example: Example) -> Job:
        job = job_of(draft, example, environment)
        return job.model_copy(update={"code": code, "limits": limits, "fresh": True})

    program = loading_program(draft.code)
    yield lambda code, example: on_call(plain(code, example), program).model_copy(update={"fresh": False})
    yield plain


def _tight(draft: Draft, trials: Sequence[Trial]) -> Iterator[Limits]:
    """Limits for mutants: a few times what the code itself took, so that endless loops end soon.

    In steps, because workers are told apart by their limits; the second one is for a machine that has become slower.
    """
    slowest = max((trial.result.wall_seconds for trial in trials if trial.result is not None), default=0.0)
    enough = [step for step in _STEPS if step >= slowest * _SLOWEST_TIMES] or [_STEPS[-1]]
    for seconds in enough[:: len(_STEPS) // 2][:2]:
        wall = min(draft.limits.wall_seconds, seconds)
        cpu = min(draft.limits.cpu_seconds, wall)
        yield draft.limits.model_copy(update={"wall_seconds": wall, "cpu_seconds": cpu})


async def _first_noticing(
    code: str, as_job: AsJob, trials: Sequence[Trial], contract: ToolContract, rehearsal: Rehearsal
) -> int | None:
    """The number of the first example that the code does not meet; None when it meets all."""
    for trial in trials:
        result = await rehearsal.run(as_job(code, trial.example))
        unloadable = result.status == "load_failed" or result.error_type == UNLOADABLE
        if unloadable or not await still_met(trial, result, contract, rehearsal.sandbox):
            return trial.number
    return None


async def _score(
    mutants: Sequence[Mutant],
    as_job: AsJob,
    trials: Sequence[Trial],
    contract: ToolContract,
    rehearsal: Rehearsal,
) -> MutationScore:
    killed: set[int] = set()
    survived: set[int] = set()
    errors: list[AlitaError] = []
    waiting = iter(enumerate(mutants))
    noticed: Counter[int | None] = Counter()

    async def work() -> None:
        for place, mutant in waiting:
            # the example that noticed most so far goes first; which one notices does not matter
            ordered = sorted(trials, key=lambda trial: -noticed[trial.number])
            try:
                noticing = await _first_noticing(mutant.code, as_job, ordered, contract, rehearsal)
            except SandboxRefused:  # the mistake needs what this sandbox does not have
                continue
            except AlitaError as error:
                errors.append(error)
                group.cancel_scope.cancel()
                return
            noticed[noticing] += 1
            (survived if noticing is None else killed).add(place)

    with anyio.move_on_after(MAX_SECONDS):
        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(work)
    if errors:
        raise errors[0]
    return _as_score(mutants, killed, survived)


def _as_score(mutants: Sequence[Mutant], killed: set[int], survived: set[int]) -> MutationScore:
    left = sorted(
        (mutants[place] for place in survived), key=lambda mutant: (mutant.line, mutant.was, mutant.now)
    )
    return MutationScore(
        killed=len(killed),
        total=len(killed) + len(survived),
        survivors=tuple(Survivor(line=each.line, was=each.was, now=each.now) for each in left),
    )


def _checks(score: MutationScore, verified_from: float) -> list[Check]:
    if not score.total:
        return [failed("mutation", "no mutant could be run", "Use a faster algorithm.", hard=False)]
    message = f"the examples notice {score.killed} of {score.total} small mistakes in the code"
    share = score.killed / score.total
    if share >= verified_from:
        return [passed("mutation", message)]
    named = [f"line {one.line}: `{one.now}` for `{one.was}`" for one in _spread(score.survivors)]
    fix = f"Add examples that notice {'; '.join(named)}."
    return [failed("mutation", message, fix, hard=share < REJECTED_BELOW)]


def _spread(survivors: Sequence[Survivor]) -> list[Survivor]:
    """A few of them, from different lines where there are so many."""
    by_line = {survivor.line: survivor for survivor in reversed(survivors)}
    lines = sorted(by_line)
    return [by_line[line] for line in lines[:: max(1, len(lines) // _NAMED)][:_NAMED]]
