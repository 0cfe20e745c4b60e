"""Rounds of one synthesis: candidates and suites are drawn, run against one another and repaired."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from alita_mcp.errors import BudgetSpent, ModelError
from alita_mcp.toolsmith.context import Work
from alita_mcp.toolsmith.requests.modes import REPAIRS, Width
from alita_mcp.toolsmith.requests.outcomes import rejection
from alita_mcp.toolsmith.requests.request import grants_of
from alita_mcp.toolsmith.specification import MAX_REQUESTS, Specification
from alita_mcp.toolsmith.writing.candidate_sampler import CandidateCode, CandidateSampler, draw_all, draw_both
from alita_mcp.toolsmith.writing.prompts import Brief
from alita_mcp.toolsmith.writing.selection import NoSelection, Round
from alita_mcp.values import Draft, Example
from alita_mcp.verification.agreement import Prepared, extend_matrix, prepare_draft, run_row
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

T = TypeVar("T")


class Rounds:
    """Draws and runs the candidates and suites of one synthesis, round by round."""

    def __init__(self, work: Work, brief: Brief, sampler: CandidateSampler) -> None:
        self._work = work
        self._request = work.request
        self._brief = brief
        self._specification = specification_of(brief)
        self._sampler = sampler
        self._rehearsal = Rehearsal(work.context.sandbox, work.context.library.read)

    async def widen(self, current: Round, width: Width) -> Round:
        """The round with as many candidates and suites as `width` says; only new pairs are run.

        Raises:
            ModelError: the first round has no candidate or no suite, a later one nothing at all.
            SandboxError: the sandbox failed.
        """
        on_stage = self._work.on_stage
        failures: list[ModelError] = []

        async def draw(drawn: Callable[[range], Awaitable[list[T]]], numbers: range) -> list[T]:
            try:
                return await drawn(numbers) if numbers else []
            except BudgetSpent:
                raise
            except ModelError as failure:
                failures.append(failure)
                return []

        missing_suites = range(current.asked.suites, width.suites)
        if missing_suites:
            await on_stage("tests")
        missing_candidates = range(current.asked.candidates, width.candidates)
        if missing_candidates:
            await on_stage("code")
        new_suites, new_candidates = await draw_both(
            partial(draw, partial(self._sampler.draw_suites, self._brief), missing_suites),
            partial(draw, self._draw_candidates, missing_candidates),
        )
        # a round may go without a part that could not be had only where it has some of it already
        if failures and (not current.codes or not (new_suites or new_candidates)):
            raise failures[0]

        contract = self._specification.contract()
        tests = [suite.tests_that_fit(contract) for suite in new_suites]
        await on_stage("matrix")
        prepared = [each for _, each in new_candidates]
        matrix = await extend_matrix(current.matrix, prepared, tests, self._rehearsal)
        own_rows = [
            await run_row(each, self._request.tests, self._rehearsal)
            for each in matrix.candidates[len(current.codes) :]
        ]
        return replace(
            current,
            codes=(*current.codes, *(candidate for candidate, _ in new_candidates)),
            matrix=matrix,
            held_out=(*current.held_out, *(row for _, row in own_rows)),
            asked=width,
        )

    async def _draw_candidates(self, numbers: range) -> list[tuple[CandidateCode, Prepared]]:
        """The candidates of these numbers; one that cannot be run is repaired, which shows its author no test."""

        async def draw(place: int) -> tuple[CandidateCode, Prepared]:
            candidate = await self._sampler.draw_candidate(self._brief, numbers[place])
            await self._work.on_stage("static")
            prepared = await self._prepare_candidate(candidate)
            for _ in range(REPAIRS):
                if prepared.failure is None:
                    break
                try:
                    candidate = await self._sampler.repair(candidate, rejection(prepared.failure))
                except ModelError:
                    break
                prepared = await self._prepare_candidate(candidate)
            return candidate, prepared

        return await draw_all(draw, len(numbers))

    async def repair_best(self, current: Round, choice: NoSelection) -> Round:
        """The round with the most promising candidate repaired."""
        await self._work.on_stage("repair")
        number, matrix = choice.number, current.matrix
        candidate = await self._sampler.repair(
            current.codes[number], choice.rejected, shows_test=choice.shows_test
        )
        prepared, row = await run_row(await self._prepare_candidate(candidate), matrix.tests, self._rehearsal)
        _, own_row = await run_row(prepared, self._request.tests, self._rehearsal)

        def put(values: tuple[T, ...], value: T) -> tuple[T, ...]:
            return (*values[:number], value, *values[number + 1 :])

        return replace(
            current,
            codes=put(current.codes, candidate),
            matrix=replace(matrix, candidates=put(matrix.candidates, prepared), rows=put(matrix.rows, row)),
            held_out=put(current.held_out, own_row),
            blind=False,
        )

    async def _prepare_candidate(self, candidate: CandidateCode) -> Prepared:
        """A candidate that can be run, or why it cannot: a package or a gate."""
        draft = self.make_draft(candidate, self._request.tests)
        packages = () if self._request.packages else draft.packages
        unfit = await self._work.context.packages.failure(packages)
        if unfit is not None:
            return Prepared(draft, failure=unfit)
        return await prepare_draft(draft, self._rehearsal, self._work.on_stage)

    def make_draft(self, candidate: CandidateCode, examples: tuple[Example, ...]) -> Draft:
        """The draft of a candidate with these examples."""
        request, specification, written = self._request, self._specification, candidate.written
        return Draft(
            name=specification.name,
            description=specification.description,
            code=written.code,
            examples=examples,
            use_when=tuple(dict.fromkeys((*request.use_when, *specification.use_when)))[:MAX_REQUESTS],
            packages=request.packages or written.packages,
            grants=grants_of(request),
            varies=tuple(sorted(set(request.varies))),
            recorded=request.recorded,
        )


def specification_of(brief: Brief) -> Specification:
    """The specification of a brief that has one."""
    if brief.specification is None:
        raise AssertionError("writers are asked after the planner")
    return brief.specification
