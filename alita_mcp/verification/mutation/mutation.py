"""Mutation gate: tests whether the examples notice small mistakes in the code, and names the missed ones."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import anyio

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.code_on_call import UNLOADABLE, loader_program, on_call
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.syntax import module_tree
from alita_mcp.values import Check, Example, Limits, MutationScore, Survivor
from alita_mcp.verification.examples.examples import Trial, still_met
from alita_mcp.verification.examples.trials import RehearsedDraft, each_of, job_of
from alita_mcp.verification.findings import brief, fail_check, json_key, pass_check
from alita_mcp.verification.mutation.mutants import Mutant, mutants_of
from alita_mcp.verification.mutation.other_inputs import (
    ENOUGH,
    ObservedCalls,
    OtherInputs,
    Way,
)

Run = Callable[[str, Trial], Awaitable[RunResult]]
"""Runs one example on one variant of the code."""

MAX_SECONDS = 20.0
"""What was not run by then does not count; the order of the mutants is fair at every length."""
TRIED_FIRST = 3
"""Examples that are run before a variant meets all inputs at once, after which only those that it changed are left."""
REJECTED_BELOW = 0.3
"""A suite that misses more than this proves nothing; that of a tool that varies may not be able to say more."""
VERIFIED_FROM = 0.8
"""Below, the trust is `provisional` at most. Both were fitted on the development tasks (docs/decisions)."""
VERIFIED_IN_REHEARSAL_FROM = 0.4
"""The same for tools with grants: examples do not see what a tool sends out, only a stand-in does."""

_SLOWEST_TIMES = 5
_STEPS = (1.0, 3.0, 10.0, 30.0)
_CPU_SHARE = 0.4
"""What a mutant may compute of its time: a loop without an end is over sooner, and a busy machine ends no other one."""
_NAMED = 3
_LOOKS_AT_ITSELF = frozenset({
    "inspect", "dis", "linecache", "traceback", "getsource", "getsourcelines", "_getframe", "currentframe",
    "__code__", "co_code", "co_consts", "co_lines", "f_code", "f_back", "tb_frame", "gc", "get_objects", "__loader__",
    "__file__", "__traceback__", "settrace", "setprofile", "monitoring",
})  # fmt: skip
"""Names by which code learns how it is written or who runs it, and could fail only where it was changed."""


async def first_noticing(subject: RehearsedDraft, code: str, run: Run, trials: Sequence[Trial]) -> int | None:
    """The number of the first example that a variant fails; None when it meets all.

    Raises:
        SandboxError: the sandbox failed or refused.
    """
    for trial in trials:
        result = await run(code, trial)
        unloadable = result.status == "load_failed" or result.error_type == UNLOADABLE
        if unloadable or not await still_met(subject, trial, result):
            return trial.number
    return None


class Measurement:
    """Measurement of the mutation score of one draft, whose examples all pass."""

    def __init__(
        self, subject: RehearsedDraft, trials: Sequence[Trial], way: Way, others: OtherInputs
    ) -> None:
        self._subject, self._trials, self._way, self._others = subject, trials, way, others
        self._noticed: Counter[int | None] = Counter()
        self._killed = self._equivalent = 0
        self._survivors: list[Survivor] = []

    async def score(self) -> MutationScore | None:
        """The score; None when the code has no mutants.

        Raises:
            SandboxError: the sandbox failed.
        """
        code, name = self._subject.draft.code, self._subject.draft.name
        mutants = await anyio.to_thread.run_sync(mutants_of, code, name, abandon_on_cancel=True)
        if not mutants:
            return None
        await each_of(mutants, self._judge, MAX_SECONDS)
        survivors = sorted(self._survivors, key=lambda one: (one.line, one.was, one.now))
        return MutationScore(
            killed=self._killed,
            total=self._killed + len(survivors),
            survivors=tuple(survivors),
            equivalent=self._equivalent,
            inputs=self._others.count,
        )

    async def _run(self, code: str, trial: Trial) -> RunResult:
        return await self._subject.rehearsal.run(self._way(code, trial.example))

    def _in_turn(self) -> list[Trial]:
        """The example that noticed most so far goes first; which one notices does not matter."""
        return sorted(self._trials, key=lambda trial: -self._noticed[trial.number])

    async def _judge(self, mutant: Mutant) -> None:
        """Counts one mistake."""
        with suppress(SandboxRefused):  # the mistake needs what this sandbox does not have
            trials = self._in_turn()
            noticing = await first_noticing(self._subject, mutant.code, self._run, trials[:TRIED_FIRST])
            differing = None
            if noticing is None:
                trials = trials[TRIED_FIRST:]
                if await self._others.are_usable():
                    differing = await self._others.inputs_that_differ(mutant.code)
                if differing is not None:
                    changed = {json_key(each) for each in differing}
                    trials = [each for each in trials if json_key(each.example.arguments) in changed]
                noticing = await first_noticing(self._subject, mutant.code, self._run, trials)
            self._noticed[noticing] += 1
            # a mutant (1) is noticed, (2) is equivalent if no input shows it though enough reach it, or (3) survives;
            # few inputs come to a refusal, and one that does shows whether what follows refuses as well
            enough = 1 if mutant.was.startswith("raise ") else ENOUGH
            if noticing is not None:
                self._killed += 1
            elif differing == [] and await self._others.is_tried(mutant.trap, enough):
                self._equivalent += 1
            else:
                shown_by = min(differing, key=lambda each: len(json_key(each))) if differing else None
                self._survivors.append(
                    Survivor(line=mutant.line, was=mutant.was, now=mutant.now, shown_by=shown_by)
                )


@dataclass(frozen=True)
class MutationFound:
    """Findings of the gate; no score where none could be measured."""

    checks: list[Check]
    score: MutationScore | None = None


async def mutation_gate(
    subject: RehearsedDraft, trials: Sequence[Trial], seen: ObservedCalls = ()
) -> MutationFound:
    """Runs the examples of a draft, all of which passed, on variants of its code.

    `seen` are inputs that no example shows, and what the code did with them.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    draft = subject.draft
    if looks_at_itself(draft.code):
        message = "the code looks at its own source or its caller, so its variants prove nothing"
        fix = "Leave out inspect, sys._getframe, __code__ and the like."
        return MutationFound([fail_check("mutation", message, fix, hard=False)])
    ordered = sorted(trials, key=lambda trial: trial.example.check is not None)
    way = await _find_way(subject, ordered)
    if way is None:
        message = "the examples fail when the module is loaded anew for each call, so no variant was run"
        fix = "Make the code independent of how its module is loaded."
        return MutationFound([fail_check("mutation", message, fix, hard=False)])
    others = OtherInputs(subject, ordered, seen, way)
    found = await Measurement(subject, ordered, way, others).score()
    if found is None:
        return MutationFound([pass_check("mutation", "nothing in the code could be written another way")])
    if not found.total and not found.equivalent:
        message = "no variant of the code could be run"
        check = fail_check("mutation", message, "Use a faster algorithm.", hard=False)
        return MutationFound([check], found)
    if not found.total:
        message = (
            f"none of {found.equivalent} small mistakes in the code changes a result on {found.inputs} inputs"
        )
        fix = "Let the result depend on the arguments."
        return MutationFound([fail_check("mutation", message, fix, hard=False)], found)
    message = f"the examples notice {found.killed} of {found.total} small mistakes in the code"
    if found.equivalent:
        message += f"; {found.equivalent} more change no result on {found.inputs} inputs"
    if found.killed / found.total >= (VERIFIED_FROM if draft.grants.is_pure else VERIFIED_IN_REHEARSAL_FROM):
        return MutationFound([pass_check("mutation", message)], found)
    # a few of the mistakes, from different lines, each with an input that shows it where one is known
    by_line = {survivor.line: survivor for survivor in reversed(found.survivors)}
    lines = sorted(by_line)
    named = []
    for line in lines[:: max(1, len(lines) // _NAMED)][:_NAMED]:
        one = by_line[line]
        shown = "" if one.shown_by is None else f" (another result with {brief(one.shown_by)})"
        named.append(f"line {line}: `{one.now}` for `{one.was}`{shown}")
    fix = f"Add examples that notice {'; '.join(named)}."
    is_hard = found.killed / found.total < (0.0 if draft.varies else REJECTED_BELOW)
    return MutationFound([fail_check("mutation", message, fix, hard=is_hard)], found)


def looks_at_itself(code: str) -> bool:
    """Whether the code could inspect itself and detect a mutation; code that runs text is never `verified` anyway."""
    for node in ast.walk(module_tree(code)):
        match node:
            case (
                ast.Name(id=name)
                | ast.Attribute(attr=name)
                | ast.Constant(value=str(name))
                | ast.alias(name=name)
                | ast.ImportFrom(module=str(name))
            ) if name in _LOOKS_AT_ITSELF:
                return True
    return False


async def _find_way(subject: RehearsedDraft, trials: Sequence[Trial]) -> Way | None:
    """The way to run mutants in which the code itself passes its examples; None when there is none."""
    draft = subject.draft
    program = loader_program(draft.code)
    # Limits are a few times what the code itself took, so that endless loops end soon. They come in steps because
    # workers are told apart by their limits; the second one is for a machine that has become slower.
    slowest = max((trial.result.wall_seconds for trial in trials if trial.result is not None), default=0.0)
    enough = [step for step in _STEPS if step >= slowest * _SLOWEST_TIMES] or [_STEPS[-1]]
    for seconds in enough[:: len(_STEPS) // 2][:2]:
        wall = min(draft.limits.wall_seconds, seconds)
        cpu = min(draft.limits.cpu_seconds, wall * _CPU_SHARE)
        limits = draft.limits.model_copy(update={"wall_seconds": wall, "cpu_seconds": cpu})

        def way(code: str, example: Example, limits: Limits = limits) -> Job:
            job = job_of(draft, example, subject.environment)
            return on_call(job.model_copy(update={"code": code, "limits": limits}), program)

        async def run(code: str, trial: Trial, way: Way = way) -> RunResult:
            return await subject.rehearsal.run(way(code, trial.example))

        with suppress(SandboxRefused):
            if await first_noticing(subject, draft.code, run, trials) is None:
                return way
    return None
