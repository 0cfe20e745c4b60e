"""Pipeline in which models write a tool: test suites blind to the code, candidates blind to the tests.

The specification, a look-up of what it asks, then up to `attempts` times: two candidates and a suite side by side, the
pass matrix, a selection by agreement, the gates. Where they disagree, more of both is drawn; where mutants survive,
more suites are. What still fails is mended at most twice against one set of suites; then all is drawn anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from alita_mcp.errors import ModelError
from alita_mcp.toolsmith.context import Submission, Work
from alita_mcp.toolsmith.duplicates.duplicates import (
    find_rivals,
    find_tool_meeting_examples,
    find_tool_passing_tests,
)
from alita_mcp.toolsmith.example_requests import learn_words
from alita_mcp.toolsmith.failures import classify
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Rejected, rejection
from alita_mcp.toolsmith.requests.request import SynthesisRequest, grants_of
from alita_mcp.toolsmith.requests.template import describe_lacks
from alita_mcp.toolsmith.specification import Specification, Suite
from alita_mcp.toolsmith.writing import prompts
from alita_mcp.toolsmith.writing.candidate_sampler import CandidateCode, CandidateSampler
from alita_mcp.toolsmith.writing.lookup import Lookup
from alita_mcp.toolsmith.writing.prompts import Brief
from alita_mcp.toolsmith.writing.rounds import Rounds, specification_of
from alita_mcp.toolsmith.writing.selection import (
    NoSelection,
    Round,
    Selection,
    add_agreement,
    empty_round,
    hide_examples,
    judge,
    verifies,
)
from alita_mcp.values import Draft, VerificationReport
from alita_mcp.verification.agreement import FEWEST_TESTS, MAJORITY
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict, verify


@dataclass
class Drawn:
    """What a candidate was selected from, and the selection; more suites change both."""

    current: Round | None
    """None where the candidate was mended since: no more suites are drawn for it."""
    selection: Selection


class Pipeline:
    """One synthesis by models, from the request to its outcome."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._context = work.context
        self._request = work.request
        self._models = work.models
        self._on_stage = work.on_stage
        self._sampler = CandidateSampler(work.models)
        self._rounds = Rounds(work, self._sampler)
        advice, packages = work.context.advice, work.context.packages
        self._looking_up = Lookup(advice.research, packages, work.on_stage)
        self._rehearsal = Rehearsal(work.context.sandbox, work.context.library.read)

    async def make(self) -> Outcome:
        """The outcome, whatever it is; nothing is published but a version that passed all gates.

        Raises:
            ModelError: the models did not write what is needed for a first attempt.
            SandboxError: the sandbox failed.
        """
        await self._on_stage("search")
        request, library = self._request, self._context.library
        similar = await library.similar(f"{request.name} {request.description}".strip())
        serving = None
        if not request.update:
            serving = await find_tool_meeting_examples(request.tests, similar, library, self._rehearsal)
        if serving is not None:
            await learn_words(library, serving.tool, request.description, request.use_when)
            return serving
        unfit = await self._context.packages.failure(request.packages, pinned_are_meant=True)
        if unfit is not None:
            return rejection(unfit)
        brief = await self._brief()
        await self._on_stage("spec")
        specification = await self._specified(brief, similar)
        if isinstance(specification, Exists | Rejected):
            return specification
        return await self._attempts(await self._looking_up.told(brief, specification))

    async def _brief(self) -> Brief:
        return Brief(
            request=self._request.full_description,
            sandbox=await describe_lacks(self._context.sandbox),
            grants=grants_of(self._request),
        )

    async def _specified(self, brief: Brief, similar: tuple[str, ...]) -> Specification | Exists | Rejected:
        """The specification under a name that is free; a name that is taken is asked about once more."""
        taken = similar
        refused: Exists | Rejected | None = None
        for again in range(2):
            may_ask = self._looking_up.is_possible
            asked = prompts.specify(brief, self._request.name, taken, may_ask=may_ask)
            specification = await self._sampler.specification(asked, again)
            refused = name_problem(specification, self._request, self._context.submission)
            if refused is None:
                return specification
            taken = (*taken, specification.name)
        if refused is None:
            raise AssertionError("the loop ends with a name or a refusal")
        return refused

    async def _attempts(self, brief: Brief) -> Outcome:
        """The outcome for a brief that is specified; errors as `make`."""
        rejected: Rejected | None = None
        drawn = await self._before_code(brief)
        if isinstance(drawn, Exists):
            return drawn
        for attempt in range(1, self._work.plan.attempts + 1):
            try:
                outcome = await self._attempt(brief, attempt, drawn if attempt == 1 else None)
            except ModelError as failure:
                if rejected is None:
                    raise
                return with_end_reason(rejected, failure)
            if not isinstance(outcome, Rejected):
                return outcome
            rejected = outcome
        if rejected is None:
            raise AssertionError("every plan has at least one attempt")
        return rejected

    async def _before_code(self, brief: Brief) -> Exists | list[Suite] | None:
        """A tool that serves already; else the suites, where they had to be drawn to find that out."""
        library, wanted = self._context.library, specification_of(brief)
        rivals = () if self._request.update else await find_rivals(wanted, library)
        if not rivals:
            return None
        await self._on_stage("tests")
        suites = await self._sampler.suites(brief, 1, range(self._work.plan.rounds[0].suites))
        await self._on_stage("duplicates")
        tests = [test for suite in suites for test in suite.fitting(wanted.contract())]
        serving = await find_tool_passing_tests(
            wanted, self._request.tests, tests, rivals, library, self._rehearsal
        )
        if serving is None:
            return suites
        await learn_words(library, serving.tool, self._request.description, self._request.use_when)
        return serving

    async def _attempt(self, brief: Brief, attempt: int, drawn: list[Suite] | None) -> Outcome:
        first = self._work.plan.rounds[0]
        current = await self._rounds.widened(brief, empty_round(attempt), first, drawn)
        current, found, ended = await self._decided(brief, current)
        if attempt == 1:
            self._note_agreement(found)
        repairs = 0
        seen: dict[int, str] = {}
        while True:
            if isinstance(found, Selection):
                return await self._line(brief, current, found, self._work.plan.repairs - repairs)
            if ended is not None:
                return with_end_reason(found.rejected, ended)
            if repairs == self._work.plan.repairs or classify(found.rejected) == "evidence":
                return found.rejected
            repairs += 1
            try:
                current = await self._rounds.with_another(brief, current, found, seen)
            except ModelError as failure:
                return with_end_reason(found.rejected, failure)
            found = judge(current)

    def _note_agreement(self, found: Selection | NoSelection) -> None:
        if self._work.plan.candidates >= MAJORITY:  # one candidate cannot agree with another
            self._work.ending.agreed = isinstance(found, Selection) and found.agreement.agreed

    async def _decided(
        self, brief: Brief, current: Round
    ) -> tuple[Round, Selection | NoSelection, ModelError | None]:
        """A round that is large enough to decide, its verdict, and the error that kept it from growing."""
        found = judge(current)
        for width in self._work.plan.rounds[1:]:
            if isinstance(found, Selection) and not found.disputed:
                break
            try:
                current = await self._rounds.widened(brief, current, width)
            except ModelError as failure:
                return current, found, failure
            found = judge(current)
        return current, found, None

    async def _line(self, brief: Brief, current: Round, selection: Selection, repairs: int) -> Outcome:
        """The chosen candidate through all gates with the tests that stand, mended where a gate refuses it."""
        candidate, last = current.codes[selection.number], ""
        drawn = Drawn(current, selection)
        outcome = await self._proved(brief, candidate, drawn)
        while isinstance(outcome, Rejected) and outcome.stage == "mutation":
            if not await self._draw_suite(brief, drawn):
                break
            outcome = await self._proved(brief, candidate, drawn)
        for left in range(repairs, -1, -1):
            if not isinstance(outcome, Rejected):
                return outcome
            if left == 0 or classify(outcome) == "evidence":
                break
            await self._on_stage("repair")
            try:
                told = hide_examples(outcome, self._request.tests, candidate.written.code)
                shows = outcome.stage == "examples"
                candidate, last = await self._rounds.revised(
                    brief, candidate, told, last, current.attempt, shows_test=shows
                )
            except ModelError as failure:
                return with_end_reason(outcome, failure)
            mended = without_agreement(drawn.selection, repairs=candidate.repairs)
            outcome = await self._proved(brief, candidate, Drawn(None, mended))
        return outcome

    async def _draw_suite(self, brief: Brief, drawn: Drawn) -> bool:
        """Adds a suite because those so far prove too little; whether there is one more, and the choice stands."""
        current, chosen = drawn.current, drawn.selection
        if current is None or current.asked.suites >= self._work.plan.suites:
            return False
        width = current.asked.model_copy(update={"suites": current.asked.suites + 1})
        try:
            drawn.current = await self._rounds.widened(brief, current, width)
        except ModelError:
            return False
        found = judge(drawn.current)
        stands = isinstance(found, Selection) and found.number == chosen.number
        drawn.selection = found if isinstance(found, Selection) and stands else without_agreement(chosen)
        if current.attempt == 1:
            self._note_agreement(drawn.selection)
        return stands

    def _is_thin(self, selection: Selection, report: VerificationReport) -> bool:
        """Whether the tests so far prove too little: mutants survive them, or there are hardly any."""
        survived = any(check.stage == "mutation" and not check.passed for check in report.checks)
        return survived or len(selection.kept) < FEWEST_TESTS

    async def _proved(self, brief: Brief, candidate: CandidateCode, drawn: Drawn) -> Outcome:
        """The candidate through all gates and into the library; where its tests are thin, more are drawn."""
        own, context = self._request.tests, self._context
        draft = self._rounds.draft(brief, candidate, (*own, *drawn.selection.kept))

        async def amend(proved: Draft, verdict: Verdict) -> tuple[Draft, Verdict]:
            while self._is_thin(drawn.selection, verdict.report):
                if not await self._draw_suite(brief, drawn):
                    break
                new = tuple(test for test in drawn.selection.kept if test not in proved.examples)
                more = proved.model_copy(update={"examples": (*proved.examples, *new)})
                again = await verify(more, context.sandbox, self._on_stage, context.library.read)
                if again.report.failure is not None:  # the further tests refute what the matrix kept
                    drawn.selection = without_agreement(drawn.selection)
                    self._note_agreement(drawn.selection)
                    break
                proved, verdict = more, again
            agreement, by_caller = drawn.selection.agreement, None
            if own and not verifies(agreement, self._work.agreed_before):
                alone = draft.model_copy(update={"examples": own})
                by_own = await verify(alone, context.sandbox, self._on_stage, context.library.read)
                by_caller = by_own.report.trust
            before = self._work.agreed_before
            report = add_agreement(verdict.report, agreement, before, by_caller, self._models.usage)
            looked_up = await self._looking_up.with_packages(brief.looked_up, proved.packages)
            told = {"written_from": specification_of(brief).told(brief.request), "looked_up": looked_up}
            return proved, verdict.model_copy(update={"report": report.model_copy(update=told)})

        return await self._context.submission.submit(
            draft,
            self._on_stage,
            update=self._request.update,
            breaks=self._request.breaks,
            amend=amend,
            made_by=self._request.made_by,
        )


def without_agreement(selection: Selection, **changed: int) -> Selection:
    """A selection that agreement no longer speaks for, with these fields of its agreement changed."""
    agreement = selection.agreement.model_copy(update={"agreed": False, **changed})
    return replace(selection, agreement=agreement)


def name_problem(
    specification: Specification, request: SynthesisRequest, submission: Submission
) -> Exists | Rejected | None:
    """Returns why a tool may not be published under the name that its planner chose; None when it may."""
    if request.name and specification.name != request.name:
        reason = f"name: the planner wrote {specification.name!r}, asked for was {request.name!r}."
        return Rejected(stage="schema", reason=reason, fix="Try again, or leave the name out.")
    standing = submission.standing(specification.name, update=request.update)
    return standing if isinstance(standing, Exists | Rejected) else None


def with_end_reason(rejected: Rejected, failure: ModelError) -> Rejected:
    """Adds to the last rejection that no more could be tried, and why."""
    return rejected.model_copy(update={"reason": f"{rejected.reason}; no more was tried: {failure.message}"})
