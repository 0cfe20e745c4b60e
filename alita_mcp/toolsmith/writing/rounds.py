"""Rounds of sampling, in which every candidate is run once on every test of every suite.

Candidates and suites are written side by side; a candidate that cannot be run is mended while suites are still written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from alita_mcp.errors import BudgetSpent, ModelError
from alita_mcp.toolsmith.context import Work
from alita_mcp.toolsmith.failures import signature
from alita_mcp.toolsmith.requests.modes import Width
from alita_mcp.toolsmith.requests.outcomes import Rejected, rejection
from alita_mcp.toolsmith.requests.request import grants_of
from alita_mcp.toolsmith.specification import Specification, Suite
from alita_mcp.toolsmith.writing.candidate_sampler import (
    CandidateCode,
    CandidateSampler,
    draw_all,
    side_by_side,
)
from alita_mcp.toolsmith.writing.prompts import Brief
from alita_mcp.toolsmith.writing.selection import NoSelection, Round
from alita_mcp.values import Draft, Example, ToolContract
from alita_mcp.verification.agreement import Prepared, extend_matrix, prepare, run_row
from alita_mcp.verification.findings import fail_check
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.static.wording import MAX_REQUESTS

T = TypeVar("T")
Settled = tuple[CandidateCode, Prepared]


class Rounds:
    """Draws and runs the candidates and suites of one synthesis, round by round."""

    def __init__(self, work: Work, sampler: CandidateSampler) -> None:
        self._context = work.context
        self._request = work.request
        self._plan = work.plan
        self._sampler = sampler
        self._on_stage = work.on_stage
        self._rehearsal = Rehearsal(work.context.sandbox, work.context.library.read)

    async def widened(
        self, brief: Brief, current: Round, width: Width, suites: list[Suite] | None = None
    ) -> Round:
        """The round with as many candidates and suites as `width` says; only pairs that are new are run.

        `suites` are those of this round where they were drawn before.

        Raises:
            ModelError: the first round has no candidate or no suite, a later one nothing at all.
            SandboxError: the sandbox failed.
        """
        written, settled = await self._drawn(brief, current, width, suites)
        contract = specification_of(brief).contract()
        fitting = [suite.fitting(contract) for suite in written]
        await self._on_stage("matrix")
        matrix = await extend_matrix(current.matrix, [each for _, each in settled], fitting, self._rehearsal)
        fresh = matrix.candidates[len(current.codes) :]
        own = [await run_row(each, self._request.tests, self._rehearsal) for each in fresh]
        return replace(
            current,
            codes=(*current.codes, *(each for each, _ in settled)),
            matrix=matrix,
            held_out=(*current.held_out, *(row for _, row in own)),
            asked=width,
        )

    async def _drawn(
        self, brief: Brief, current: Round, width: Width, suites: list[Suite] | None
    ) -> tuple[list[Suite], list[Settled]]:
        """What one round adds; a part that cannot be had is done without where there is some of it already."""
        failures: list[ModelError] = []

        async def tried(draw: Callable[[range], Awaitable[list[T]]], numbers: range) -> list[T]:
            if not numbers:
                return []
            try:
                return await draw(numbers)
            except BudgetSpent:
                raise
            except ModelError as failure:
                failures.append(failure)
                return []

        missing = range(current.asked.suites, width.suites) if suites is None else range(0)
        if missing:
            await self._on_stage("tests")
        more = range(current.asked.candidates, width.candidates)
        if more:
            await self._on_stage("code")
        drawn = await side_by_side(
            partial(tried, partial(self._sampler.suites, brief, current.attempt), missing),
            partial(tried, partial(self._candidates, brief, current.attempt), more),
        )
        written = [*(suites or ()), *drawn[0]]
        is_first = not current.codes
        if failures and (is_first or not (written or drawn[1])):
            raise failures[0]
        return written, drawn[1]

    async def _candidates(self, brief: Brief, attempt: int, numbers: range) -> list[Settled]:
        """The candidates of these numbers, each brought as far as it can be run."""

        async def settle(place: int) -> Settled:
            drawn = await self._sampler.candidate(brief, attempt, numbers[place])
            return await self._settled(brief, drawn, attempt)

        return await draw_all(settle, len(numbers))

    async def _settled(self, brief: Brief, drawn: CandidateCode, attempt: int) -> Settled:
        """A candidate that can be run, mended at most twice; this shows its author no test, so it stays blind."""
        candidate, last = drawn, ""
        await self._on_stage("static")
        prepared = await self._prepared(brief, candidate)
        for _ in range(self._plan.repairs):
            if prepared.failure is None:
                break
            rejected = rejection(prepared.failure)
            try:
                candidate, last = await self.revised(brief, candidate, rejected, last, attempt)
            except ModelError:
                break
            prepared = await self._prepared(brief, candidate)
        return candidate, prepared

    async def with_another(
        self, brief: Brief, current: Round, found: NoSelection, seen: dict[int, str]
    ) -> Round:
        """The round with the failing candidate mended, or drawn anew where mending leads nowhere."""
        await self._on_stage("repair")
        number, last = found.number, seen.get(found.number, "")
        candidate, seen[number] = await self.revised(
            brief, current.codes[number], found.rejected, last, current.attempt, shows_test=found.shows_test
        )
        prepared = await self._prepared(brief, candidate)
        prepared, row = await run_row(prepared, current.matrix.tests, self._rehearsal)
        _, own = await run_row(prepared, self._request.tests, self._rehearsal)
        candidates = _put(current.matrix.candidates, number, prepared)
        rows = _put(current.matrix.rows, number, row)
        return replace(
            current,
            codes=_put(current.codes, number, candidate),
            matrix=replace(current.matrix, candidates=candidates, rows=rows),
            held_out=_put(current.held_out, number, own),
            blind=False,
        )

    async def revised(
        self, brief: Brief, candidate: CandidateCode, rejected: Rejected, last: str, attempt: int,
        *, shows_test: bool = False,
    ) -> tuple[CandidateCode, str]:  # fmt: skip
        """The candidate mended, or another in its place when it fails as it did before; and how it failed."""
        now = signature(rejected)
        if now == last:
            return await self._sampler.another(brief, candidate.index, attempt), ""
        return await self._sampler.mended(candidate, rejected, shows_test=shows_test), now

    async def _prepared(self, brief: Brief, candidate: CandidateCode) -> Prepared:
        draft = self.draft(brief, candidate, self._request.tests)
        unfit = await self._context.packages.failure(() if self._request.packages else draft.packages)
        if unfit is not None:
            return Prepared(draft, failure=unfit)
        prepared = await prepare(draft, self._rehearsal, self._on_stage)
        return prepared if prepared.failure else keeps_signature(prepared, specification_of(brief))

    def draft(self, brief: Brief, candidate: CandidateCode, examples: tuple[Example, ...]) -> Draft:
        """Draft of a candidate with these examples."""
        request, specification, written = self._request, specification_of(brief), candidate.written
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


def keeps_signature(prepared: Prepared, specification: Specification) -> Prepared:
    """Returns the candidate, failed where it takes other arguments than specified: tests could not call it."""
    if prepared.contract is None or _parameters(prepared.contract) == _parameters(specification.contract()):
        return prepared
    fix = f"Write `{specification.signature}` word for word."
    return replace(
        prepared, failure=fail_check("schema", "the signature is not the one that was asked for", fix)
    )


def _parameters(contract: ToolContract) -> dict[str, object]:
    return {name: node.get("type") for name, node in contract.input_schema["properties"].items()}


def specification_of(brief: Brief) -> Specification:
    """Returns the specification of a brief that has one."""
    if brief.specification is None:
        raise AssertionError("writers are asked after the planner")
    return brief.specification


def _put(values: tuple[T, ...], number: int, value: T) -> tuple[T, ...]:
    return (*values[:number], value, *values[number + 1 :])
