"""Mutation score: which mutants the examples notice, miss, or cannot notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import anyio

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.sandbox.variants.code_on_call import UNLOADABLE
from alita_mcp.values import MutationScore, Survivor
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.examples.examples import Trial, still_met
from alita_mcp.verification.examples.trials import RehearsedDraft, each_of
from alita_mcp.verification.findings import sorted_json
from alita_mcp.verification.mutation.idle_parts import without_idle_parts
from alita_mcp.verification.mutation.mutants import Mutant, mutants_in, mutants_of
from alita_mcp.verification.mutation.other_inputs import ENOUGH, OtherInputs, Way, alike, behaviour_of

Run = Callable[[str, Trial], Awaitable[RunResult]]
"""Runs one example on one variant of the code."""

MAX_SECONDS = 20.0
"""What was not run by then does not count; the order of the mutants is fair at every length."""
TRIED_FIRST = 3
"""Examples that are run before a variant meets all inputs at once, after which only those that it changed are left."""


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
        self.vouched = 0
        """Mistakes noticed in parts that change no result: they earn no trust, and refuse no tool either."""
        self._survivors: list[Survivor] = []
        self._results: dict[tuple[str, int], RunResult] = {}

    async def score(self) -> MutationScore | None:
        """The score; None when the code has no mutants.

        Raises:
            SandboxError: the sandbox failed.
        """
        code, name = self._subject.draft.code, self._subject.draft.name
        mutants = await anyio.to_thread.run_sync(mutants_of, code, name, abandon_on_cancel=True)
        if not mutants:
            return None
        tree = await anyio.to_thread.run_sync(parse_code, code)
        counting, idle = mutants, list[Mutant]()
        if await without_idle_parts(tree, name, self._is_same):
            counting = await anyio.to_thread.run_sync(mutants_in, tree, code, name, abandon_on_cancel=True)
            left = {each.change for each in counting}
            idle = [each for each in mutants if each.change not in left]
        judged = [*((each, True) for each in counting), *((each, False) for each in idle)]
        await each_of(judged, self._judge, MAX_SECONDS)
        survivors = sorted(self._survivors, key=lambda one: (one.line, one.was, one.now))
        return MutationScore(
            killed=self._killed,
            total=self._killed + len(survivors),
            survivors=tuple(survivors),
            equivalent=self._equivalent,
            inputs=self._others.count,
        )

    async def _is_same(self, code: str) -> bool:
        """Whether a variant does what the code does, with the examples and with other inputs."""
        try:
            if await self._others.are_usable():
                return await self._others.differing(code) == []
            for trial in self._in_turn():
                result = await self._run(code, trial)
                if trial.result is None or not alike(behaviour_of(trial.result), behaviour_of(result)):
                    self._noticed[trial.number] += 1
                    return False
        except SandboxRefused:
            return False
        return True

    async def _run(self, code: str, trial: Trial) -> RunResult:
        """The result of one example on one variant, which is run once: an idle part may be a mistake, too."""
        key = (code, trial.number)
        if key not in self._results:
            self._results[key] = await self._subject.rehearsal.run(self._way(code, trial.example))
        return self._results[key]

    def _in_turn(self) -> list[Trial]:
        """The example that noticed most so far goes first; which one notices does not matter."""
        return sorted(self._trials, key=lambda trial: -self._noticed[trial.number])

    async def _judge(self, judged: tuple[Mutant, bool]) -> None:
        """Counts a mistake; that one in an idle part is noticed says nothing (see `idle_parts`), but it may survive."""
        mutant, counts = judged
        with suppress(SandboxRefused):  # the mistake needs what this sandbox does not have
            trials = self._in_turn()
            noticing = await first_noticing(self._subject, mutant.code, self._run, trials[:TRIED_FIRST])
            differing = None
            if noticing is None:
                trials = trials[TRIED_FIRST:]
                if await self._others.are_usable():
                    differing = await self._others.differing(mutant.code)
                if differing is not None:
                    changed = {sorted_json(each) for each in differing}
                    trials = [each for each in trials if sorted_json(each.example.arguments) in changed]
                noticing = await first_noticing(self._subject, mutant.code, self._run, trials)
            self._noticed[noticing] += 1
            # a mutant (1) is noticed, (2) is equivalent if no input shows it though enough reach it, or (3) survives;
            # few inputs come to a refusal, and one that does shows whether what follows refuses as well
            enough = 1 if mutant.was.startswith("raise ") else ENOUGH
            if noticing is not None:
                self._killed += counts
                self.vouched += not counts
            elif differing == [] and await self._others.is_tried(mutant.trap, enough):
                self._equivalent += 1
            else:
                shown_by = min(differing, key=lambda each: len(sorted_json(each))) if differing else None
                self._survivors.append(
                    Survivor(line=mutant.line, was=mutant.was, now=mutant.now, shown_by=shown_by)
                )
