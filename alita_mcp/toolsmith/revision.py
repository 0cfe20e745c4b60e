"""Revision of a published tool by models, from a complaint.

The new code is written from the old code, its examples and the complaint; one suite is written blind to both codes. It
is published as every update is: the examples of the version before must hold, but for those that the request gives up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import Field, JsonValue, ValidationError, field_validator

from alita_mcp.errors import ModelError, ToolUnavailable
from alita_mcp.library.versions.files import mark_of
from alita_mcp.models.structured.typed_answers import ask_model
from alita_mcp.toolsmith.carried_examples import is_named
from alita_mcp.toolsmith.context import Work
from alita_mcp.toolsmith.duplicates.comparison import takes
from alita_mcp.toolsmith.failures import classify
from alita_mcp.toolsmith.pipeline import ended_by
from alita_mcp.toolsmith.requests.modes import REPAIR_TEMPERATURE, TESTER_TEMPERATURES, seed, temperature
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Rejected, rejection
from alita_mcp.toolsmith.requests.request import SynthesisRequest, grants_of, variation
from alita_mcp.toolsmith.requests.template import told_lacks
from alita_mcp.toolsmith.specification import (
    MAX_RULE,
    MAX_RULES,
    Specification,
    Suite,
    WrittenCode,
    fits,
    name_of,
)
from alita_mcp.toolsmith.writing import prompts
from alita_mcp.toolsmith.writing.candidate_sampler import CandidateCode, CandidateSampler, side_by_side
from alita_mcp.toolsmith.writing.prompts import Brief
from alita_mcp.toolsmith.writing.selection import SHOWN_DROPPED
from alita_mcp.values import (
    Agreement,
    Check,
    Draft,
    DroppedTest,
    Example,
    StoredVersion,
    ToolContract,
    WrittenFrom,
)
from alita_mcp.verification.agreement import Prepared, Row, pooled, prepare, run_row
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.code.function import signature_in
from alita_mcp.verification.code.source import normal_form
from alita_mcp.verification.examples.suite import MAX_EXAMPLES, contradict
from alita_mcp.verification.findings import failed
from alita_mcp.verification.json_schema import delivered, validate_result
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.static.wording import MAX_REQUESTS
from alita_mcp.verification.verify import Verdict


@dataclass(frozen=True)
class Predecessor:
    """Version to be revised, and what it does with the request's own examples."""

    version: StoredVersion
    contract: ToolContract
    prepared: Prepared
    own: tuple[Check | None, ...]

    @property
    def called(self) -> str:
        """Its name and number."""
        return f"{self.version.manifest.name} v{self.version.manifest.version}"

    @property
    def signature(self) -> str:
        """The `def` line behind what it names."""
        return signature_in(self.version.code, self.version.manifest.name)

    @property
    def wrong(self) -> tuple[Check, ...]:
        """Failed checks of the request's own examples."""
        return tuple(check for check in self.own if check is not None and not check.passed)

    @property
    def request(self) -> str:
        """What was asked for when it was written."""
        before = self.version.report.written_from
        return before.request if before else self.version.manifest.description

    def rules(self, changed: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The rules that it was written by; a changed one takes the place of that of its name."""
        before = self.version.report.written_from
        new = {name_of(line): line for line in changed if line}
        kept = [line for line in (before.rules if before else ()) if name_of(line) not in new]
        return (*kept, *new.values())[-MAX_RULES:]

    def specification(self) -> Specification | None:
        """The specification; None where its signature is too long, or means nothing without the other code."""
        manifest = self.version.manifest
        try:
            return Specification(
                name=manifest.name,
                description=manifest.description,
                signature=self.signature,
                rules=self.rules(),
            )
        except ValidationError:
            return None

    def examples_held(self, request: SynthesisRequest) -> list[Example]:
        """The examples that a request does not give up."""
        return [old for old in self.version.examples if not is_named(old, *request.breaks)]


def revised_draft(version: StoredVersion, written: WrittenCode, request: SynthesisRequest) -> Draft:
    """Makes the next version's draft: the request's own examples, and all that the request does not change."""
    before, asked = version.draft, grants_of(request)
    return before.model_copy(
        update={
            "code": written.code,
            "examples": request.tests,
            "use_when": tuple(dict.fromkeys((*before.use_when, *request.use_when)))[:MAX_REQUESTS],
            "packages": request.packages or written.packages or before.packages,
            "grants": before.grants if asked.is_pure else asked,
            "varies": tuple(sorted(set(request.varies))) or before.varies,
        }
    )


HELD_SHARE = 0.8
"""Of the blind tests; where fewer hold, not the tests are in doubt: both codes agree, but one was made of the other."""
RAISE = "Give examples of your own, three at least, one an edge or an error."


@dataclass(frozen=True)
class BlindTests:
    """Blind tests with the rows of the old and the new code; no row for code that cannot run."""

    tests: tuple[Example, ...]
    old: Row | None
    new: Row

    @property
    def kept(self) -> tuple[Example, ...]:
        """The tests that the new code passes."""
        return tuple(test for test, held in zip(self.tests, self.new.passes, strict=True) if held)

    @property
    def shows_the_change(self) -> bool:
        """Whether all tests hold, and one at least did not before."""
        return all(self.new.passes) and self.old is not None and not all(self.old.passes)

    def failure(self, *, insists: bool) -> Rejected | None:
        """The first failure that its writer is to hear of.

        Once it `insists`, a test that the old code fails as well is taken for wrong, if nearly all of the tests hold.
        """
        failed = [number for number, held in enumerate(self.new.passes) if not held]
        if insists and len(self.kept) >= HELD_SHARE * len(self.tests):
            failed = [number for number in failed if self.old is not None and self.old.passes[number]]
        checks = [check for number in failed if (check := self.new.checks[number]) is not None]
        if not checks:
            return None
        passed = f"{len(self.kept)} of {len(self.tests)} tests that were written blind to the code hold"
        found = rejection(checks[0])
        fix = f"{found.fix} If the new code is right, send this case with its result in tests.".strip()
        return found.model_copy(update={"reason": f"{passed}; {found.reason}", "fix": fix})

    def agreement(self, candidate: CandidateCode, blind_before: tuple[str, ...]) -> Agreement:
        """For the report: one suite and one writer, who saw the old code and its examples."""
        numbers = range(len(self.tests))
        kept = tuple(number for number in numbers if self.new.passes[number])
        dropped = tuple(number for number in numbers if not self.new.passes[number])
        return Agreement(
            candidates=1,
            suites=1,
            share=1.0,
            passed=round(len(kept) / len(self.tests), 3) if self.tests else 0.0,
            kept=kept,
            dropped=dropped,
            contradicting=tuple(self._contradicting(number) for number in dropped[:SHOWN_DROPPED]),
            repairs=candidate.repairs,
            blind=tuple(dict.fromkeys((*blind_before, *map(mark_of, self.kept)))),
        )

    def finding(self, version: str, *, proved: bool) -> Check:
        """Check for the report: how many blind tests hold."""
        message = f"revised from {version}: {len(self.kept)} of {len(self.tests)} blind tests hold"
        if self.old is not None:
            message += f", {sum(self.old.passes)} of them with the old code"
        fix = "" if proved else RAISE
        return Check(stage="agreement", passed=proved, hard=False, message=message, fix=fix)

    def _contradicting(self, number: int) -> DroppedTest:
        check = self.new.checks[number]
        got = check.got if check is not None else "it was not run"
        return DroppedTest(test=self.tests[number].as_json(), got=got)


MAX_REQUEST = 8_000
_NO_TOOL = failed("static", "the code declares no tool", "Write one function.")


class Proof:
    """Tries the code of one writer, fixed at most as often as the plan says, until it holds."""

    def __init__(self, work: Work, base: Predecessor, tests: tuple[Example, ...]) -> None:
        self._work, self._base, self._tests = work, base, tests
        self._sampler = CandidateSampler(work.models)
        self._rehearsal = Rehearsal(work.context.sandbox, work.context.library.read)
        self._showed_test = False

    async def until_it_holds(self, candidate: CandidateCode, rules: tuple[str, ...]) -> Outcome:
        """The outcome of the first code that passes, or of the last.

        Raises:
            SandboxError: the sandbox failed.
        """
        outcome = await self._try(candidate, rules, insists=False)
        for left in range(self._work.plan.repairs, 0, -1):
            if not isinstance(outcome, Rejected) or classify(outcome) == "evidence":
                break
            told = outcome
            if told.stage == "examples":  # what the caller could do about it is not the writer's to do
                fix = "Where the finding that you were given says otherwise than this case, answer the code unchanged."
                told = told.model_copy(update={"fix": fix, "breaks": ()})
            await self._work.on_stage("repair")
            try:
                fixed = await self._sampler.mended(candidate, told, shows_test=self._showed_test)
            except ModelError as failure:
                return ended_by(outcome, failure)
            same = fixed.written == candidate.written
            candidate = fixed
            outcome = await self._try(fixed, rules, insists=same or left == 1)
            if same:
                break
        return outcome

    async def _try(self, candidate: CandidateCode, rules: tuple[str, ...], *, insists: bool) -> Outcome:
        """One code through all that it must hold; `insists` when its writer will not change it any more."""
        base, work = self._base, self._work
        draft = revised_draft(base.version, candidate.written, work.request)
        prepared = await prepare(draft, self._rehearsal, work.on_stage)
        if prepared.failure is not None or prepared.contract is None:
            return rejection(prepared.failure or _NO_TOOL)
        other = self._other_signature(prepared.contract, insists=insists)
        if other is not None:
            return other
        tests = tuple(test for test in self._tests if not _misfits(test, prepared.contract))
        prepared, new = await run_row(prepared, tests, self._rehearsal)
        if new is None:
            return rejection(prepared.failure or _NO_TOOL)
        _, old = await run_row(base.prepared, tests, self._rehearsal)
        blind = BlindTests(tests, old, new)
        refused = self._refused(draft, blind, insists=insists)
        return refused or await self._submit(prepared, blind, candidate, rules)

    def _other_signature(self, contract: ToolContract, *, insists: bool) -> Rejected | None:
        """That callers of the version before could not call this one; `breaks` of the request, or a case, allow that.

        A writer that insists is heard where an example no longer fits: the answer then names what would break.
        """
        before = self._base.contract
        alike = takes(contract.input_schema, before.input_schema) and takes(
            before.output_schema, contract.output_schema
        )
        misfit = any(_misfits(old, contract) for old in self._base.version.examples)
        if alike or self._work.request.breaks or (insists and misfit):
            return None
        return Rejected(
            stage="schema",
            reason=f"the new code is called otherwise than {self._base.called}, or returns another type.",
            fix=f"Keep `{self._base.signature}`; a new parameter has a default.",
        )

    def _refused(self, draft: Draft, blind: BlindTests, *, insists: bool) -> Exists | Rejected | None:
        """Why there is nothing to publish: a failure, or code that is as it was."""
        before, manifest = self._base.version.draft, self._base.version.manifest
        same = normal_form(draft.code) == normal_form(before.code)  # layout and comments aside
        same = same and draft.model_copy(update={"code": before.code, "examples": before.examples}) == before
        if same and self._base.wrong:
            found = rejection(self._base.wrong[0])
            return found.model_copy(update={"reason": f"the code is as it was; {found.reason}"})
        failure = blind.failure(insists=insists)
        self._showed_test = self._showed_test or failure is not None
        if failure is not None and not (same and insists):
            return failure
        if not same:
            return None
        held, more = "your examples hold with it, and ", ""
        if not self._work.request.tests:
            held, more = "", "; send an example that fails, to show what is wrong"
        why = f"{held}the model found nothing to fix{more}"
        return Exists(tool=manifest.name, version=manifest.version, why=why)

    async def _submit(
        self, prepared: Prepared, blind: BlindTests, candidate: CandidateCode, rules: tuple[str, ...]
    ) -> Outcome:
        """Publishes it with the request's own examples and the blind tests that hold, as many as there is room for."""
        work, request, base = self._work, self._work.request, self._base

        async def amend(proved: Draft, verdict: Verdict) -> tuple[Draft, Verdict]:
            return proved, self._amended(verdict, blind, candidate, rules)

        room = max(0, MAX_EXAMPLES - len(base.examples_held(request)) - len(request.tests))
        examples = (*request.tests, *blind.kept[:room])
        return await work.context.submission.submit(
            prepared.draft.model_copy(update={"examples": examples}),
            work.on_stage,
            update=True,
            breaks=request.breaks,
            amend=amend,
            made_by=request.made_by,
        )

    def _amended(
        self, verdict: Verdict, blind: BlindTests, candidate: CandidateCode, rules: tuple[str, ...]
    ) -> Verdict:
        """The verdict with how the version came to be; it is verified only where the change itself is proved."""
        base, report, request = self._base, verdict.report, self._work.request
        changed_as_asked = bool(base.wrong) and blind.shows_the_change and not candidate.saw_tests
        proved = changed_as_asked and base.version.manifest.trust == "verified"
        before = base.version.report.agreement
        marks = frozenset(before.blind if before else ())
        still = tuple(mark for mark in map(mark_of, base.version.examples) if mark in marks)
        told = base.version.report.written_from
        now = base.rules(rules)
        written_from = WrittenFrom(
            request=f"{base.request}\n{request.full_description}".strip()[:MAX_REQUEST],
            signature=signature_in(candidate.written.code, base.version.manifest.name),
            rules=now,
            assumed=tuple(line for line in (told.assumed if told else ()) if line in now),
        )
        added = {
            "trust": report.trust if proved or report.trust == "rejected" else "provisional",
            "checks": (*report.checks, blind.finding(base.called, proved=proved)),
            "agreement": blind.agreement(candidate, still),
            "usage": self._work.models.usage,
            "written_from": written_from,
            "looked_up": base.version.report.looked_up,
        }
        return verdict.model_copy(update={"report": report.model_copy(update=added)})


def _misfits(old: Example, contract: ToolContract) -> bool:
    """Whether an example cannot hold with a contract, whatever the code does."""
    if not fits(old.arguments, contract) or "expected" not in old.outcome_fields:
        return not fits(old.arguments, contract)
    result = delivered(old.expected, wraps_result=contract.wraps_result)
    return bool(validate_result(contract.output_schema, result))


class RevisedCode(WrittenCode):
    """Module of the next version, with the rules that it changed."""

    rules: tuple[str, ...] = Field(default=(), max_length=MAX_RULES)

    @field_validator("rules", mode="before")
    @classmethod
    def _readable(cls, rules: Any) -> tuple[str, ...]:
        lines = rules if isinstance(rules, list | tuple) else ()
        return tuple(" ".join(line.split())[:MAX_RULE] for line in lines if isinstance(line, str))[:MAX_RULES]


class Revision:
    """One revision of a published tool."""

    def __init__(self, work: Work) -> None:
        self._work, self._request, self._models = work, work.request, work.models
        self._rehearsal = Rehearsal(work.context.sandbox, work.context.library.read)

    async def make(self) -> Outcome:
        """The outcome; the published version stands as it is unless the new one passes all gates.

        Raises:
            ModelError: the models did not write what is needed for a first attempt.
            SandboxError: the sandbox failed.
        """
        if not self._request.name:
            fix = "Send name with it, or leave update out."
            return Rejected(stage="schema", reason="update: the request names no tool.", fix=fix)
        await self._work.on_stage("update")
        base = await self._read_base()
        if isinstance(base, Rejected):
            return base
        brief = await self._brief(base)
        await self._work.on_stage("code")
        suite, (candidate, rules) = await side_by_side(
            partial(self._write_suite, base, brief), partial(self._write_code, base, brief)
        )
        proof = Proof(self._work, base, self._fitting(base, suite))
        return await proof.until_it_holds(candidate, rules)

    async def _read_base(self) -> Predecessor | Rejected:
        """What is known of the version, unless the request contradicts an example that it does not give up."""
        try:
            version = await self._work.context.library.read(self._request.name)
        except ToolUnavailable as damaged:
            fix = "Send the whole code with update=true, or roll back."
            return Rejected(stage="policy", reason=damaged.message, fix=fix)
        manifest, tests = version.manifest, self._request.tests
        prepared = await prepare(version.draft, self._rehearsal, self._work.on_stage)
        prepared, row = await run_row(prepared, tests, self._rehearsal)
        contract = read_contract(version.code, manifest.name, manifest.description)
        base = Predecessor(version, contract, prepared, row.checks if row else ())
        against = [
            old.arguments
            for old in base.examples_held(self._request)
            if any(is_named(old, test.arguments) and contradict(old, test) for test in tests)
        ]
        if not against:
            return base
        return Rejected(
            stage="examples",
            reason=f"tests: an example of {base.called} says otherwise for the same arguments.",
            case=against[0],
            fix="If the new result is meant, name the arguments of each in `breaks`, as listed here.",
            breaks=tuple(against),
        )

    async def _brief(self, base: Predecessor) -> Brief:
        """What the writer of tests is told: what the tool is for and what is wrong, no code, no example."""
        manifest = base.version.manifest
        varying = variation(self._request.varies or manifest.varies)
        said = f"{self._request.description.strip()}\n{varying}\n(said of a tool that is published for this request:)\n"
        said += base.request
        specification = base.specification()
        if specification is None:
            said = "\n".join((said, manifest.description, base.signature, *base.rules()))
        return Brief(
            request=said,
            specification=specification,
            sandbox=await told_lacks(self._work.context.sandbox),
            grants=manifest.grants,
        )

    async def _write_code(self, base: Predecessor, brief: Brief) -> tuple[CandidateCode, tuple[str, ...]]:
        """The first draft of the new code, and the rules that it changes."""
        tests = self._request.tests
        held: list[dict[str, JsonValue]] = [
            test.as_json() | ({"now": check.got} if check is not None and not check.passed else {})
            for test, check in zip(tests, base.own or (None,) * len(tests), strict=True)
        ]
        held += [old.as_json() for old in base.examples_held(self._request)]
        asked = prompts.revise(brief, base.version.code, self._request.description.strip(), held)
        answered = await ask_model(
            self._models.role("coder"), asked, RevisedCode, temperature=REPAIR_TEMPERATURE, seed=seed(1, 0)
        )
        written = WrittenCode(code=answered.value.code, packages=answered.value.packages)
        candidate = CandidateCode(index=0, written=written, asked=tuple(asked), text=answered.text)
        return candidate, answered.value.rules

    async def _write_suite(self, base: Predecessor, brief: Brief) -> Suite:
        """One suite, blind to code and to examples."""
        tester, heat = self._models.role("tester"), temperature(TESTER_TEMPERATURES, 0)
        asked, schema = prompts.write_tests(brief, 0), Suite.schema_for(base.contract)
        return (await ask_model(tester, asked, Suite, temperature=heat, seed=seed(1, 0), schema=schema)).value

    def _fitting(self, base: Predecessor, suite: Suite) -> tuple[Example, ...]:
        """The blind tests about which neither the request nor an example that must hold decides."""
        settled = [each.arguments for each in (*self._request.tests, *base.examples_held(self._request))]
        tests, _ = pooled([suite.fitting(base.contract)])
        return tuple(test for test in tests if not is_named(test, *settled))
