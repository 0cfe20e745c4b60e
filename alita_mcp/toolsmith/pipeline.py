"""Pipeline in which models write a tool: test suites blind to the code, candidates blind to the tests.

First the specification and a look-up of what it asks. Then two candidates and a suite side by side, the pass matrix, a
selection by agreement, the gates. Where candidates disagree, more candidates and suites are drawn; where mutants
survive, more suites are. A failing candidate is repaired at most twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from alita_mcp.errors import BudgetSpent, ModelError
from alita_mcp.models.structured.typed_answers import ask_model
from alita_mcp.toolsmith.context import Work
from alita_mcp.toolsmith.failures import blames_tests
from alita_mcp.toolsmith.package_check import find_slip
from alita_mcp.toolsmith.requests.modes import REPAIRS, Width, seed
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Rejected, rejection
from alita_mcp.toolsmith.requests.request import grants_of
from alita_mcp.toolsmith.requests.template import describe_lacks
from alita_mcp.toolsmith.specification import MAX_REQUESTS, Specification
from alita_mcp.toolsmith.track_record import mark_request, mark_shape
from alita_mcp.toolsmith.writing import prompts
from alita_mcp.toolsmith.writing.draws import (
    CandidateCode,
    draw_all,
    draw_both,
    draw_candidate,
    draw_suites,
    repair,
)
from alita_mcp.toolsmith.writing.lookup import add_notes
from alita_mcp.toolsmith.writing.prompts import Brief
from alita_mcp.toolsmith.writing.selection import (
    NoSelection,
    Round,
    Selection,
    add_agreement,
    hide_examples,
    judge,
    verifies,
)
from alita_mcp.values import Draft, Example
from alita_mcp.verification.agreement import (
    FEWEST_TESTS,
    MAJORITY,
    PassMatrix,
    Prepared,
    extend_matrix,
    prepare_draft,
    run_row,
)
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict, verify

T = TypeVar("T")


async def write_tool(work: Work) -> Outcome:
    """The outcome of one synthesis of a new tool by models; only a version that passed all gates is published.

    Raises:
        ModelError: the models did not write what is needed for a first attempt.
        SandboxError: the sandbox failed.
    """
    context, request = work.context, work.request
    await work.on_stage("search")
    similar = await context.library.similar(f"{request.name} {request.description}".strip())
    unfit = find_slip(request.packages, pinned_are_meant=True)
    if unfit is not None:
        return rejection(unfit)
    lacks = await describe_lacks(context.sandbox)
    brief = Brief(request=request.full_description, sandbox=lacks, grants=grants_of(request))
    await work.on_stage("spec")
    # where a planner's open questions are looked up; without it none is asked for
    web = context.advice.research if request.looks_up else None
    specification = await _specify(work, brief, similar, may_ask=web is not None)
    if not isinstance(specification, Specification):
        return specification
    brief = await add_notes(brief, specification, web, work.on_stage)
    return await Writing(work, brief, specification).run()


async def _specify(
    work: Work, brief: Brief, taken: tuple[str, ...], *, may_ask: bool, again: int = 0
) -> Specification | Exists | Rejected:
    """The specification under the name asked for, or a free one; if it is taken, the planner is asked once more."""
    name = work.request.name
    messages = prompts.specify(brief, name, taken, may_ask=may_ask)
    number = seed(0, again)  # asked in the same words, it is still another draw
    planner = work.models.role("planner")
    answer = await ask_model(planner, messages, Specification, temperature=0.2, seed=number)
    if name:
        return answer.value.under(name)
    follows = work.context.publisher.version_to_follow(answer.value.name, update=False)
    if isinstance(follows, int) or again:
        return answer.value if isinstance(follows, int) else follows
    return await _specify(work, brief, (*taken, answer.value.name), may_ask=may_ask, again=1)


@dataclass
class Basis:
    """What a candidate was selected from, and the selection; more suites change both."""

    round: Round | None
    """None where the candidate was repaired since: no more suites are drawn for it."""
    selection: Selection


class Writing:
    """Writing of a tool that is specified, from the first candidates and suite to its outcome."""

    def __init__(self, work: Work, brief: Brief, specification: Specification) -> None:
        self._work = work
        self._brief = brief
        self._specification = specification
        self._rehearsal = Rehearsal(work.context.sandbox, work.context.library.read)

    async def run(self) -> Outcome:
        """The outcome; errors as `write_tool`."""
        first, *wider = self._work.rounds
        current = await self._widen(Round((), PassMatrix(), (), Width()), first)
        choice = judge(current)
        ended: ModelError | None = None
        for width in wider:
            if isinstance(choice, Selection) and not choice.disputed:
                break
            try:
                current = await self._widen(current, width)
            except ModelError as failure:
                ended = failure
                break
            choice = judge(current)
        self._record_agreement(current, choice)
        repairs = 0
        while not isinstance(choice, Selection):
            # (1) the models give no more, (2) no repair is left or would help, or (3) the best candidate is repaired
            if ended is not None:
                return with_end_reason(choice.rejected, ended)
            if repairs == REPAIRS or blames_tests(choice.rejected):
                return choice.rejected
            repairs += 1
            try:
                current = await self._repair_best(current, choice)
            except ModelError as failure:
                return with_end_reason(choice.rejected, failure)
            choice = judge(current)
        return await self._prove_selected(current, choice, REPAIRS - repairs)

    async def _widen(self, current: Round, width: Width) -> Round:
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
            partial(draw, partial(draw_suites, self._work.models, self._brief), missing_suites),
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
            await run_row(each, self._work.request.tests, self._rehearsal)
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
            candidate = await draw_candidate(self._work.models, self._brief, numbers[place])
            await self._work.on_stage("static")
            prepared = await self._prepare_candidate(candidate)
            for _ in range(REPAIRS):
                if prepared.failure is None:
                    break
                try:
                    candidate = await repair(self._work.models, candidate, rejection(prepared.failure))
                except ModelError:
                    break
                prepared = await self._prepare_candidate(candidate)
            return candidate, prepared

        return await draw_all(draw, len(numbers))

    async def _repair_best(self, current: Round, choice: NoSelection) -> Round:
        """The round with the most promising candidate repaired."""
        await self._work.on_stage("repair")
        number, matrix = choice.number, current.matrix
        candidate = await repair(self._work.models, current.codes[number], choice.rejected)
        prepared, row = await run_row(await self._prepare_candidate(candidate), matrix.tests, self._rehearsal)
        _, own_row = await run_row(prepared, self._work.request.tests, self._rehearsal)

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
        draft = self._make_draft(candidate, self._work.request.tests)
        packages = () if self._work.request.packages else draft.packages
        unfit = find_slip(packages)
        if unfit is not None:
            return Prepared(draft, failure=unfit)
        return await prepare_draft(draft, self._rehearsal, self._work.on_stage)

    def _make_draft(self, candidate: CandidateCode, examples: tuple[Example, ...]) -> Draft:
        """The draft of a candidate with these examples."""
        request, specification, written = self._work.request, self._specification, candidate.written
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

    def _record_agreement(self, current: Round, choice: Selection | NoSelection) -> None:
        if self._work.rounds[0].candidates >= MAJORITY:  # one candidate cannot agree with another
            record, agreed = self._work.record, isinstance(choice, Selection) and choice.agreement.agreed
            record.agreed, record.marks = agreed, {"request": mark_request(self._work.request.description)}
            if agreed:
                record.marks["shape"] = mark_shape(current.codes[choice.number].written.code)

    async def _prove_selected(self, current: Round, selection: Selection, repairs: int) -> Outcome:
        """Takes the selected candidate through all gates with the tests that stand, and repairs it where one fails."""
        candidate = current.codes[selection.number]
        basis = Basis(current, selection)
        outcome = await self._submit(candidate, basis)
        while isinstance(outcome, Rejected) and outcome.stage == "mutation" and await self._add_suite(basis):
            outcome = await self._submit(candidate, basis)
        for _ in range(repairs):
            if not isinstance(outcome, Rejected) or blames_tests(outcome):
                break
            await self._work.on_stage("repair")
            shown = hide_examples(outcome, self._work.request.tests, candidate.written.code)
            try:
                candidate = await repair(self._work.models, candidate, shown)
            except ModelError as failure:
                return with_end_reason(outcome, failure)
            repaired = without_agreement(basis.selection, repairs=candidate.repairs)
            outcome = await self._submit(candidate, Basis(None, repaired))
        return outcome

    async def _add_suite(self, basis: Basis) -> bool:
        """Draws one more suite because those so far prove too little; returns whether the selection still stands."""
        current, selection = basis.round, basis.selection
        if current is None or current.asked.suites >= self._work.rounds[-1].suites:
            return False
        width = current.asked.model_copy(update={"suites": current.asked.suites + 1})
        try:
            basis.round = await self._widen(current, width)
        except ModelError:
            return False
        choice = judge(basis.round)
        stands = isinstance(choice, Selection) and choice.number == selection.number
        basis.selection = choice if isinstance(choice, Selection) and stands else without_agreement(selection)
        self._record_agreement(current, basis.selection)
        return stands

    async def _submit(self, candidate: CandidateCode, basis: Basis) -> Outcome:
        """Takes a candidate through all gates and into the library; where its tests are thin, more are drawn."""
        work, request, context = self._work, self._work.request, self._work.context
        draft = self._make_draft(candidate, (*request.tests, *basis.selection.kept))

        async def amend(proved: Draft, verdict: Verdict) -> tuple[Draft, Verdict]:
            # Tests are thin where mutants survive them, or where there are hardly any.
            while len(basis.selection.kept) < FEWEST_TESTS or any(
                check.stage == "mutation" and not check.passed for check in verdict.report.checks
            ):
                if not await self._add_suite(basis):
                    break
                new = tuple(test for test in basis.selection.kept if test not in proved.examples)
                more = proved.model_copy(update={"examples": (*proved.examples, *new)})
                again = await verify(more, context.sandbox, work.on_stage, context.library.read)
                if again.report.failure is not None:  # the further tests refute what the matrix kept
                    basis.selection = without_agreement(basis.selection)
                    work.record.agreed = False
                    break
                proved, verdict = more, again
            agreement, trust_by_caller = basis.selection.agreement, None
            if request.tests and not verifies(agreement, work.agreed_before):
                alone = draft.model_copy(update={"examples": request.tests})
                by_caller = await verify(alone, context.sandbox, work.on_stage, context.library.read)
                trust_by_caller = by_caller.report.trust
            report = add_agreement(
                verdict.report, agreement, work.agreed_before, trust_by_caller, work.models.usage
            )
            origin = {
                "written_from": self._specification.as_written_from(self._brief.request),
                "looked_up": self._brief.looked_up,
            }
            return proved, verdict.model_copy(update={"report": report.model_copy(update=origin)})

        return await context.publisher.submit(
            draft, work.on_stage, update=False, amend=amend, request=request
        )


def without_agreement(selection: Selection, **changes: int) -> Selection:
    """A selection that agreement no longer speaks for, with these fields of its agreement changed."""
    agreement = selection.agreement.model_copy(update={"agreed": False, **changes})
    return replace(selection, agreement=agreement)


def with_end_reason(rejected: Rejected, failure: ModelError) -> Rejected:
    """The last rejection, with the reason why nothing more was tried."""
    reason = f"{rejected.reason}; no further attempt: {failure.message}"
    return rejected.model_copy(update={"reason": reason})
