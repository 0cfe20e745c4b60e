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
from alita_mcp.library.trust.trust import OWN_EXAMPLES
from alita_mcp.library.versions.files import mark_of
from alita_mcp.models.structured.typed_answers import ask_model
from alita_mcp.toolsmith.carried_examples import has_arguments
from alita_mcp.toolsmith.context import Work
from alita_mcp.toolsmith.duplicates.comparison import takes
from alita_mcp.toolsmith.failures import classify
from alita_mcp.toolsmith.pipeline import with_end_reason
from alita_mcp.toolsmith.requests.modes import REPAIR_TEMPERATURE, seed
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Rejected, rejection
from alita_mcp.toolsmith.requests.request import SynthesisRequest, grants_of, variation
from alita_mcp.toolsmith.requests.template import describe_lacks
from alita_mcp.toolsmith.specification import MAX_RULE, MAX_RULES, Specification, WrittenCode, fits, name_of
from alita_mcp.toolsmith.writing import prompts
from alita_mcp.toolsmith.writing.candidate_sampler import CandidateCode, CandidateSampler, draw_both
from alita_mcp.toolsmith.writing.prompts import Brief
from alita_mcp.toolsmith.writing.selection import agreement_of_one
from alita_mcp.values import Check, Draft, Example, StoredVersion, ToolContract, WrittenFrom
from alita_mcp.verification.agreement import CANNOT_RUN, Prepared, Row, pool_tests, prepare_draft, run_row
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.code.function import signature_in
from alita_mcp.verification.code.source import normal_form
from alita_mcp.verification.examples.suite import MAX_EXAMPLES, contradict
from alita_mcp.verification.json_schema import validate_result, wrap_result
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.static.wording import MAX_REQUESTS
from alita_mcp.verification.verify import Verdict

HELD_SHARE = 0.8
"""Of the blind tests; where fewer hold, not the tests are in doubt: both codes agree, but one was made of the other."""
MAX_REQUEST = 8_000


@dataclass(frozen=True)
class Predecessor:
    """Version to be revised, and what it does with the request's own examples."""

    version: StoredVersion
    contract: ToolContract
    prepared: Prepared
    own_checks: tuple[Check | None, ...]
    """Of the request's own examples; None where one was not run."""

    @property
    def label(self) -> str:
        """Its name and number."""
        return f"{self.version.manifest.name} v{self.version.manifest.version}"

    @property
    def signature(self) -> str:
        """The `def` line behind what it names."""
        return signature_in(self.version.code, self.version.manifest.name)

    @property
    def complaints(self) -> tuple[Check, ...]:
        """Failed checks of the request's own examples."""
        return tuple(check for check in self.own_checks if check is not None and not check.passed)

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
        return [old for old in self.version.examples if not has_arguments(old, *request.breaks)]


@dataclass(frozen=True)
class BlindTests:
    """Blind tests with the rows of the old and the new code; no row for code that cannot run."""

    tests: tuple[Example, ...]
    old: Row | None
    new: Row

    @property
    def tests_that_hold(self) -> tuple[Example, ...]:
        """The tests that the new code passes."""
        return tuple(test for test, held in zip(self.tests, self.new.passes, strict=True) if held)

    def failure(self, *, insists: bool) -> Rejected | None:
        """The first failure that its writer is to hear of.

        Once it `insists`, a test that the old code fails as well is taken for wrong, if nearly all of the tests hold.
        """
        failed = [number for number, held in enumerate(self.new.passes) if not held]
        if insists and len(self.tests_that_hold) >= HELD_SHARE * len(self.tests):
            failed = [number for number in failed if self.old is not None and self.old.passes[number]]
        checks = [check for number in failed if (check := self.new.checks[number]) is not None]
        if not checks:
            return None
        passed = (
            f"{len(self.tests_that_hold)} of {len(self.tests)} tests that were written blind to the code hold"
        )
        found = rejection(checks[0])
        fix = f"{found.fix} If the new code is right, send this case with its result in tests.".strip()
        return found.model_copy(update={"reason": f"{passed}; {found.reason}", "fix": fix})

    def summary(self, version: str, *, proved: bool) -> Check:
        """The check for the report: how many blind tests hold."""
        message = f"revised from {version}: {len(self.tests_that_hold)} of {len(self.tests)} blind tests hold"
        if self.old is not None:
            message += f", {sum(self.old.passes)} of them with the old code"
        fix = "" if proved else OWN_EXAMPLES
        return Check(stage="agreement", passed=proved, hard=False, message=message, fix=fix)


class Proof:
    """Tries the code of one writer, fixed at most as often as the plan says, until it holds."""

    def __init__(self, work: Work, base: Predecessor, tests: tuple[Example, ...]) -> None:
        self._work, self._base, self._tests = work, base, tests
        self._sampler = CandidateSampler(work.models)
        self._rehearsal = Rehearsal(work.context.sandbox, work.context.library.read)
        self._showed_test = False

    async def prove(self, candidate: CandidateCode, rules: tuple[str, ...]) -> Outcome:
        """The outcome of the first code that passes, or of the last.

        Raises:
            SandboxError: the sandbox failed.
        """
        outcome = await self._try(candidate, rules, insists=False)
        for left in range(self._work.plan.repairs, 0, -1):
            if not isinstance(outcome, Rejected) or classify(outcome) == "evidence":
                break
            finding = outcome
            if finding.stage == "examples":  # the fix is for the caller, not for the writer
                fix = "Where the finding that you were given says otherwise than this case, answer the code unchanged."
                finding = finding.model_copy(update={"fix": fix, "breaks": ()})
            await self._work.on_stage("repair")
            try:
                repaired = await self._sampler.repair(candidate, finding, shows_test=self._showed_test)
            except ModelError as failure:
                return with_end_reason(outcome, failure)
            same = repaired.written == candidate.written
            candidate = repaired
            outcome = await self._try(candidate, rules, insists=same or left == 1)
            if same:
                break
        return outcome

    async def _try(self, candidate: CandidateCode, rules: tuple[str, ...], *, insists: bool) -> Outcome:
        """Takes one code through all checks; `insists` when its writer will not change it any more."""
        base, work = self._base, self._work
        request, written, before = work.request, candidate.written, base.version.draft
        grants = grants_of(request)
        # the request's own examples, and all that the request does not change
        draft = before.model_copy(
            update={
                "code": written.code,
                "examples": request.tests,
                "use_when": tuple(dict.fromkeys((*before.use_when, *request.use_when)))[:MAX_REQUESTS],
                "packages": request.packages or written.packages or before.packages,
                "grants": before.grants if grants.is_pure else grants,
                "varies": tuple(sorted(set(request.varies))) or before.varies,
            }
        )
        prepared = await prepare_draft(draft, self._rehearsal, work.on_stage)
        if prepared.failure is not None or prepared.contract is None:
            return rejection(prepared.failure or CANNOT_RUN)
        other = self._signature_problem(prepared.contract, insists=insists)
        if other is not None:
            return other
        tests = tuple(test for test in self._tests if not _misfits(test, prepared.contract))
        prepared, new = await run_row(prepared, tests, self._rehearsal)
        if new is None:
            return rejection(prepared.failure or CANNOT_RUN)
        _, old = await run_row(base.prepared, tests, self._rehearsal)
        blind = BlindTests(tests, old, new)
        refused = self._problem_of(draft, blind, insists=insists)
        return refused or await self._submit(prepared, blind, candidate, rules)

    def _signature_problem(self, contract: ToolContract, *, insists: bool) -> Rejected | None:
        """The rejection of code that the old version's callers could not call, unless the request has `breaks`.

        Where a writer insists and an example no longer fits, the gates decide: their answer names what would break.
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
            reason=f"the new code cannot be called like {self._base.label}, or returns another type.",
            fix=f"Keep `{self._base.signature}`; give a new parameter a default.",
        )

    def _problem_of(self, draft: Draft, blind: BlindTests, *, insists: bool) -> Exists | Rejected | None:
        """Why there is nothing to publish: a failure, or unchanged code."""
        before, manifest = self._base.version.draft, self._base.version.manifest
        same = normal_form(draft.code) == normal_form(before.code)  # layout and comments aside
        same = same and draft.model_copy(update={"code": before.code, "examples": before.examples}) == before
        if same and self._base.complaints:
            found = rejection(self._base.complaints[0])
            return found.model_copy(update={"reason": f"the code is unchanged; {found.reason}"})
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
            return proved, self._complete_report(verdict, blind, candidate, rules)

        room = max(0, MAX_EXAMPLES - len(base.examples_held(request)) - len(request.tests))
        examples = (*request.tests, *blind.tests_that_hold[:room])
        return await work.context.publisher.submit(
            prepared.draft.model_copy(update={"examples": examples}),
            work.on_stage,
            update=True,
            breaks=request.breaks,
            amend=amend,
            request=request,
        )

    def _complete_report(
        self, verdict: Verdict, blind: BlindTests, candidate: CandidateCode, rules: tuple[str, ...]
    ) -> Verdict:
        """The verdict with how the version came to be; it is verified only where the change itself is proved."""
        base, report, request = self._base, verdict.report, self._work.request
        # The blind tests show the change where all of them hold, and one at least did not before.
        shows_change = all(blind.new.passes) and blind.old is not None and not all(blind.old.passes)
        changed_as_asked = bool(base.complaints) and shows_change and not candidate.saw_tests
        proved = changed_as_asked and base.version.manifest.trust == "verified"
        before = base.version.report.agreement
        blind_before = frozenset(before.blind if before else ())
        marks = [mark for mark in map(mark_of, base.version.examples) if mark in blind_before]
        marks += map(mark_of, blind.tests_that_hold)
        origin = base.version.report.written_from
        rules_now = base.rules(rules)
        written_from = WrittenFrom(
            request=f"{base.request}\n{request.full_description}".strip()[:MAX_REQUEST],
            signature=signature_in(candidate.written.code, base.version.manifest.name),
            rules=rules_now,
            assumed=tuple(line for line in (origin.assumed if origin else ()) if line in rules_now),
        )
        added = {
            "trust": report.trust if proved or report.trust == "rejected" else "provisional",
            "checks": (*report.checks, blind.summary(base.label, proved=proved)),
            "agreement": agreement_of_one(
                blind.tests, blind.new.checks, repairs=candidate.repairs, blind=tuple(dict.fromkeys(marks))
            ),
            "usage": self._work.models.usage,
            "written_from": written_from,
            "looked_up": base.version.report.looked_up,
        }
        return verdict.model_copy(update={"report": report.model_copy(update=added)})


def _misfits(old: Example, contract: ToolContract) -> bool:
    """Whether an example cannot hold with a contract, whatever the code does."""
    if not fits(old.arguments, contract) or "expected" not in old.outcome_fields:
        return not fits(old.arguments, contract)
    result = wrap_result(old.expected, wraps_result=contract.wraps_result)
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
        # the writer of tests is told what the tool is for and what is wrong, no code and no example
        request, manifest = self._request, base.version.manifest
        varying = variation(request.varies or manifest.varies)
        text = f"{request.description.strip()}\n{varying}\n(said of a tool that is published for this request:)\n"
        text += base.request
        specification = base.specification()
        if specification is None:
            text = "\n".join((text, manifest.description, base.signature, *base.rules()))
        brief = Brief(
            request=text,
            specification=specification,
            sandbox=await describe_lacks(self._work.context.sandbox),
            grants=manifest.grants,
        )
        await self._work.on_stage("code")
        sampler = CandidateSampler(self._models)
        (suite,), (candidate, rules) = await draw_both(
            partial(sampler.draw_suites, brief, range(1), base.contract),
            partial(self._write_code, base, brief),
        )
        # a blind test counts where neither the request nor an example that must hold decides
        settled = [each.arguments for each in (*request.tests, *base.examples_held(request))]
        tests, _ = pool_tests([suite.tests_that_fit(base.contract)])
        blind_tests = tuple(test for test in tests if not has_arguments(test, *settled))
        return await Proof(self._work, base, blind_tests).prove(candidate, rules)

    async def _read_base(self) -> Predecessor | Rejected:
        """What is known of the version, unless the request contradicts an example that it does not give up."""
        try:
            version = await self._work.context.library.read(self._request.name)
        except ToolUnavailable as damaged:
            fix = "Send the whole code with update=true, or ask a person to roll back."
            return Rejected(stage="policy", reason=damaged.message, fix=fix)
        manifest, tests = version.manifest, self._request.tests
        prepared = await prepare_draft(version.draft, self._rehearsal, self._work.on_stage)
        prepared, row = await run_row(prepared, tests, self._rehearsal)
        contract = read_contract(version.code, manifest.name, manifest.description)
        base = Predecessor(version, contract, prepared, row.checks if row else ())
        against = [
            old.arguments
            for old in base.examples_held(self._request)
            if any(has_arguments(old, test.arguments) and contradict(old, test) for test in tests)
        ]
        if not against:
            return base
        return Rejected(
            stage="examples",
            reason=f"tests: {base.label} has an example with the same arguments and another result.",
            case=against[0],
            fix="If the new result is meant, send the arguments listed here as `breaks`.",
            breaks=tuple(against),
        )

    async def _write_code(self, base: Predecessor, brief: Brief) -> tuple[CandidateCode, tuple[str, ...]]:
        """The first draft of the new code, and the rules that it changes."""
        tests = self._request.tests
        held: list[dict[str, JsonValue]] = [
            test.as_json() | ({"now": check.got} if check is not None and not check.passed else {})
            for test, check in zip(tests, base.own_checks or (None,) * len(tests), strict=True)
        ]
        held += [old.as_json() for old in base.examples_held(self._request)]
        messages = prompts.revise(brief, base.version.code, self._request.description.strip(), held)
        answer = await ask_model(
            self._models.role("coder"), messages, RevisedCode, temperature=REPAIR_TEMPERATURE, seed=seed(0)
        )
        written = WrittenCode(code=answer.value.code, packages=answer.value.packages)
        candidate = CandidateCode(index=0, written=written, messages=tuple(messages), text=answer.text)
        return candidate, answer.value.rules
