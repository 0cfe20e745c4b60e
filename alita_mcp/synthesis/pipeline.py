"""One tool written by models: a wish in, an outcome out; suites blind to code, candidates blind to tests.

spec, then up to `attempts` times: suites, candidates, the pass matrix, a choice by agreement, the gates. What fails is
mended at most twice against one set of suites; then everything is drawn afresh.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TypeVar

from alita_mcp.errors import ModelError
from alita_mcp.models.roles import Models
from alita_mcp.synthesis import prompts
from alita_mcp.synthesis.before_code import Asked, find_passing, rivals_of
from alita_mcp.synthesis.drawing import Drawing, Manuscript, gathered, side_by_side
from alita_mcp.synthesis.evidence import amended
from alita_mcp.synthesis.failures import classify, lesson_text, signature
from alita_mcp.synthesis.grants import grants_of
from alita_mcp.synthesis.judging import Choice, Failing, Field, judge, told_to_author
from alita_mcp.synthesis.lessons import Lesson
from alita_mcp.synthesis.modes import Plan
from alita_mcp.synthesis.outcomes import Exists, Outcome, Rejected, rejection
from alita_mcp.synthesis.prompts import Brief
from alita_mcp.synthesis.request import SynthesisRequest
from alita_mcp.synthesis.serving import find_serving
from alita_mcp.synthesis.template import told_lacks
from alita_mcp.synthesis.wordings import learn_words
from alita_mcp.synthesis.workshop import OnStage, Submission, Workshop
from alita_mcp.synthesis.written import Specification, Suite
from alita_mcp.values import Draft, Example, ToolContract, VerificationReport
from alita_mcp.verification.findings import failed
from alita_mcp.verification.matrix import Prepared, prepare, run_matrix, run_row
from alita_mcp.verification.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict, verify
from alita_mcp.verification.wording import MAX_REQUESTS

T = TypeVar("T")


class Pipeline:
    """One synthesis under way."""

    def __init__(
        self, workshop: Workshop, wish: SynthesisRequest, plan: Plan, models: Models, on_stage: OnStage
    ) -> None:
        self._workshop = workshop
        self._wish = wish
        self._plan = plan
        self._models = models
        self._on_stage = on_stage
        self._drawing = Drawing(models, plan)
        self._rehearsal = Rehearsal(workshop.sandbox, workshop.library.read)

    async def make(self) -> Outcome:
        """The outcome, whatever it is; nothing is published but a version that passed all gates.

        Raises:
            ModelError: the models did not write what is needed for a first attempt.
            SandboxError: the sandbox failed.
        """
        await self._on_stage("search")
        wish, library = self._wish, self._workshop.library
        similar = await library.similar(f"{wish.name} {wish.description}".strip())
        serving = None
        if not wish.update:
            serving = await find_serving(wish.tests, similar, library, self._rehearsal)
        if serving is not None:
            await learn_words(library, serving.tool, wish.description, wish.use_when)
            return serving
        brief = await self._brief()
        await self._on_stage("spec")
        specification = await self._specified(brief, similar)
        if isinstance(specification, Exists | Rejected):
            return specification
        return await self.attempts(brief.model_copy(update={"specification": specification}))

    async def _brief(self) -> Brief:
        description, notes = self._wish.description, ""
        if self._workshop.advice.research is not None:
            await self._on_stage("research")
            notes = await self._workshop.advice.research(description)
        lessons = await self._workshop.advice.lessons.recall(description)
        return Brief(
            request=self._wish.wish,
            notes=notes,
            lessons=lessons,
            sandbox=await told_lacks(self._workshop.sandbox),
            grants=grants_of(self._wish),
        )

    async def _specified(self, brief: Brief, similar: tuple[str, ...]) -> Specification | Exists | Rejected:
        """The specification under a name that is free; a name that is taken is asked about once more."""
        taken = similar
        refused: Exists | Rejected | None = None
        for again in range(2):
            asked = prompts.specify(brief, self._wish.name, taken)
            specification = await self._drawing.specification(asked, again)
            refused = named(specification, self._wish, self._workshop.submission)
            if refused is None:
                return specification
            taken = (*taken, specification.name)
        if refused is None:
            raise AssertionError("the loop ends with a name or a refusal")
        return refused

    async def attempts(self, brief: Brief) -> Outcome:
        """The outcome for a brief that is specified; errors as `make`."""
        rejected: Rejected | None = None
        drawn = await self._before_code(brief)
        if isinstance(drawn, Exists):
            return drawn
        for attempt in range(1, self._plan.attempts + 1):
            try:
                outcome = await self._attempt(brief, attempt, drawn if attempt == 1 else None)
            except ModelError as failure:
                if rejected is None:
                    raise
                return ended_by(rejected, failure)
            if not isinstance(outcome, Rejected):
                return outcome
            rejected = outcome
        if rejected is None:
            raise AssertionError("every plan has at least one attempt")
        return rejected

    async def _before_code(self, brief: Brief) -> Exists | list[Suite] | None:
        """A tool that serves already; else the suites, where they had to be drawn to find that out."""
        library, wanted = self._workshop.library, specified(brief)
        rivals = () if self._wish.update else await rivals_of(wanted, library)
        if not rivals:
            return None
        await self._on_stage("tests")
        suites = await self._drawing.suites(brief, 1)
        await self._on_stage("duplicates")
        asked = Asked(wanted, self._wish.tests, [suite.fitting(wanted.contract()) for suite in suites])
        serving = await find_passing(asked, rivals, library, self._rehearsal)
        if serving is None:
            return suites
        await learn_words(library, serving.tool, self._wish.description, self._wish.use_when)
        return serving

    async def _attempt(self, brief: Brief, attempt: int, drawn: list[Suite] | None) -> Outcome:
        field, repairs = await self._field(brief, attempt, drawn), 0
        seen: dict[int, str] = {}
        while True:
            found = judge(field)
            if isinstance(found, Choice):
                return await self._line(brief, field, found, self._plan.repairs - repairs)
            await self._learn(found.rejected)
            if repairs == self._plan.repairs or classify(found.rejected) == "evidence":
                return found.rejected
            repairs += 1
            try:
                field = await self._with_another(brief, field, found, seen)
            except ModelError as failure:
                return ended_by(found.rejected, failure)

    async def _field(self, brief: Brief, attempt: int, suites: list[Suite] | None) -> Field:
        """Fresh suites and candidates, each candidate brought as far as it can be run, and the matrix of both."""
        written, drawn = await self._drawn(brief, attempt, suites)
        contract = specified(brief).contract()
        fitting = [suite.fitting(contract) for suite in written]
        await self._on_stage("static")

        async def settle(index: int) -> tuple[Manuscript, Prepared]:
            return await self._settled(brief, drawn[index], attempt)

        settled = await gathered(settle, len(drawn))
        await self._on_stage("matrix")
        matrix = await run_matrix([each for _, each in settled], fitting, self._rehearsal)
        own = [await run_row(each, self._wish.tests, self._rehearsal) for each in matrix.candidates]
        manuscripts = tuple(each for each, _ in settled)
        return Field(manuscripts, matrix, tuple(row for _, row in own), attempt)

    async def _drawn(
        self, brief: Brief, attempt: int, suites: list[Suite] | None
    ) -> tuple[list[Suite], list[Manuscript]]:
        if suites is None:
            await self._on_stage("tests")
        await self._on_stage("code")
        candidates = partial(self._drawing.candidates, brief, attempt)
        if suites is not None:
            return suites, await candidates()
        return await side_by_side(partial(self._drawing.suites, brief, attempt), candidates)

    async def _settled(self, brief: Brief, drawn: Manuscript, attempt: int) -> tuple[Manuscript, Prepared]:
        """A candidate that can be run, mended at most twice; this shows its author no test, so it stays blind."""
        manuscript, last = drawn, ""
        prepared = await self._prepared(brief, manuscript)
        for _ in range(self._plan.repairs):
            if prepared.failure is None:
                break
            rejected = rejection(prepared.failure)
            await self._learn(rejected)
            try:
                manuscript, last = await self._revised(brief, manuscript, rejected, last, attempt)
            except ModelError:
                break
            prepared = await self._prepared(brief, manuscript)
        return manuscript, prepared

    async def _with_another(self, brief: Brief, field: Field, found: Failing, seen: dict[int, str]) -> Field:
        """The field with the failing candidate mended, or drawn anew where mending leads nowhere."""
        await self._on_stage("repair")
        number, last = found.number, seen.get(found.number, "")
        manuscript, seen[number] = await self._revised(
            brief, field.manuscripts[number], found.rejected, last, field.attempt, shows_test=found.shows_test
        )
        prepared = await self._prepared(brief, manuscript)
        prepared, row = await run_row(prepared, field.matrix.tests, self._rehearsal)
        _, own = await run_row(prepared, self._wish.tests, self._rehearsal)
        candidates = _put(field.matrix.candidates, number, prepared)
        rows = _put(field.matrix.rows, number, row)
        return replace(
            field,
            manuscripts=_put(field.manuscripts, number, manuscript),
            matrix=replace(field.matrix, candidates=candidates, rows=rows),
            held_out=_put(field.held_out, number, own),
        )

    async def _revised(
        self, brief: Brief, manuscript: Manuscript, rejected: Rejected, last: str, attempt: int,
        *, shows_test: bool = False,
    ) -> tuple[Manuscript, str]:  # fmt: skip
        """The manuscript mended, or another in its place when it fails as it did before; and how it failed."""
        now = signature(rejected)
        if now == last:
            return await self._drawing.another(brief, manuscript.index, attempt), ""
        return await self._drawing.mended(manuscript, rejected, shows_test=shows_test), now

    async def _line(self, brief: Brief, field: Field, choice: Choice, repairs: int) -> Outcome:
        """The chosen candidate through all gates with the tests that stand, mended where a gate refuses it."""
        manuscript, last = field.manuscripts[choice.number], ""
        for left in range(repairs, -1, -1):
            outcome = await self._proved(brief, manuscript, choice)
            if not isinstance(outcome, Rejected):
                return outcome
            await self._learn(outcome)
            if left == 0 or classify(outcome) == "evidence":
                break
            await self._on_stage("repair")
            try:
                told = told_to_author(outcome, self._wish.tests, manuscript.written.code)
                shows = outcome.stage == "examples"
                manuscript, last = await self._revised(
                    brief, manuscript, told, last, field.attempt, shows_test=shows
                )
            except ModelError as failure:
                return ended_by(outcome, failure)
            agreement = choice.agreement.model_copy(update={"repairs": manuscript.repairs})
            choice = replace(choice, trust="provisional", agreement=agreement)
        return outcome

    async def _proved(self, brief: Brief, manuscript: Manuscript, choice: Choice) -> Outcome:
        draft = self._draft(brief, manuscript, (*self._wish.tests, *choice.kept))

        async def amend(verdict: Verdict) -> VerificationReport:
            by_caller = None
            if self._wish.tests and choice.trust != "verified":
                alone = draft.model_copy(update={"examples": self._wish.tests})
                own = await verify(alone, self._workshop.sandbox, self._on_stage, self._workshop.library.read)
                by_caller = own.report.trust
            return amended(verdict.report, choice.agreement, choice.trust, by_caller, self._models.usage)

        return await self._workshop.submission.submit(
            draft,
            self._on_stage,
            update=self._wish.update,
            breaks=self._wish.breaks,
            amend=amend,
            made_by=self._wish.made_by,
        )

    async def _prepared(self, brief: Brief, manuscript: Manuscript) -> Prepared:
        draft = self._draft(brief, manuscript, self._wish.tests)
        prepared = await prepare(draft, self._rehearsal, self._on_stage)
        return prepared if prepared.failure else keeps_signature(prepared, specified(brief))

    def _draft(self, brief: Brief, manuscript: Manuscript, examples: tuple[Example, ...]) -> Draft:
        wish, specification, written = self._wish, specified(brief), manuscript.written
        return Draft(
            name=specification.name,
            description=specification.description,
            code=written.code,
            examples=examples,
            use_when=tuple(dict.fromkeys((*wish.use_when, *specification.use_when)))[:MAX_REQUESTS],
            packages=wish.packages or written.packages,
            grants=grants_of(wish),
            varies=tuple(sorted(set(wish.varies))),
        )

    async def _learn(self, rejected: Rejected) -> None:
        text = lesson_text(rejected)
        lesson = Lesson(description=self._wish.description[:500], kind=classify(rejected), text=text)
        await self._workshop.advice.lessons.learn(lesson)


def named(
    specification: Specification, wish: SynthesisRequest, submission: Submission
) -> Exists | Rejected | None:
    """Why a tool may not be published under the name that its planner chose; None when it may."""
    if wish.name and specification.name != wish.name:
        reason = f"name: the planner wrote {specification.name!r}, asked for was {wish.name!r}."
        return Rejected(stage="schema", reason=reason, fix="Try again, or leave the name out.")
    standing = submission.standing(specification.name, update=wish.update)
    return standing if isinstance(standing, Exists | Rejected) else None


def keeps_signature(prepared: Prepared, specification: Specification) -> Prepared:
    """The candidate, or the failure of one that takes other arguments than specified: tests could not call it."""
    if prepared.contract is None or _parameters(prepared.contract) == _parameters(specification.contract()):
        return prepared
    fix = f"Write `{specification.signature}` word for word."
    return replace(prepared, failure=failed("schema", "the signature is not the one that was asked for", fix))


def _parameters(contract: ToolContract) -> dict[str, object]:
    return {name: node.get("type") for name, node in contract.input_schema["properties"].items()}


def specified(brief: Brief) -> Specification:
    """The specification that a brief carries once there is one."""
    if brief.specification is None:
        raise AssertionError("writers are asked after the planner")
    return brief.specification


def ended_by(rejected: Rejected, failure: ModelError) -> Rejected:
    """The last rejection, with the word that no more could be tried."""
    return rejected.model_copy(update={"reason": f"{rejected.reason}; no more was tried: {failure.message}"})


def _put(values: tuple[T, ...], number: int, value: T) -> tuple[T, ...]:
    return (*values[:number], value, *values[number + 1 :])
