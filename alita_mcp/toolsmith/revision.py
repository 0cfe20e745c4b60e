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
from alita_mcp.toolsmith.failures import blames_tests
from alita_mcp.toolsmith.pipeline import with_end_reason
from alita_mcp.toolsmith.requests.modes import REPAIR_TEMPERATURE, REPAIRS, seed
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Rejected, rejection
from alita_mcp.toolsmith.requests.request import SynthesisRequest, grants_of, variation
from alita_mcp.toolsmith.requests.template import describe_lacks
from alita_mcp.toolsmith.specification import MAX_RULE, MAX_RULES, Specification, WrittenCode, fits, name_of
from alita_mcp.toolsmith.writing import prompts
from alita_mcp.toolsmith.writing.draws import CandidateCode, draw_both, draw_suites, repair
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
from alita_mcp.verification.agreement import CANNOT_RUN, Prepared, pool_tests, prepare_draft, run_row
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
        fields = {"name": manifest.name, "description": manifest.description, "signature": self.signature}
        try:
            return Specification(**fields, rules=self.rules())
        except ValidationError:
            return None

    def examples_held(self, request: SynthesisRequest) -> list[Example]:
        """The examples that a request does not give up."""
        return [old for old in self.version.examples if not has_arguments(old, *request.breaks)]


def _misfits(old: Example, contract: ToolContract) -> bool:
    """Whether an example cannot hold with a contract, whatever the code does."""
    if not fits(old.arguments, contract):
        return True
    if "expected" not in old.outcome_fields:
        return False
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
        self._work, self._request = work, work.request
        self._rehearsal = Rehearsal(work.context.sandbox, work.context.library.read)
        self._showed_test = False

    async def make(self) -> Outcome:
        """The outcome; the published version stands as it is unless the new one passes all gates.

        Raises:
            ModelError: the models did not write what is needed.
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
        (suite,), (candidate, rules) = await draw_both(
            partial(draw_suites, self._work.models, brief, range(1), base.contract),
            partial(self._write_code, base, brief),
        )
        # a blind test counts where neither the request nor an example that must hold decides
        settled = [each.arguments for each in (*request.tests, *base.examples_held(request))]
        tests, _ = pool_tests([suite.tests_that_fit(base.contract)])
        blind = tuple(test for test in tests if not has_arguments(test, *settled))
        return await self._prove(base, blind, candidate, rules)

    async def _prove(
        self, base: Predecessor, tests: tuple[Example, ...], candidate: CandidateCode, rules: tuple[str, ...]
    ) -> Outcome:
        """The outcome of the first code that passes, or of the last; it is fixed at most twice."""
        outcome = await self._try(base, tests, candidate, rules, insists=False)
        for left in range(REPAIRS, 0, -1):
            if not isinstance(outcome, Rejected) or blames_tests(outcome):
                break
            finding = outcome
            if finding.stage == "examples":  # the fix is for the caller, not for the writer
                fix = "Where the finding that you were given says otherwise than this case, answer the code unchanged."
                finding = finding.model_copy(update={"fix": fix, "breaks": ()})
            await self._work.on_stage("repair")
            try:
                repaired = await repair(self._work.models, candidate, finding, shows_test=self._showed_test)
            except ModelError as failure:
                return with_end_reason(outcome, failure)
            same = repaired.written == candidate.written
            candidate = repaired
            outcome = await self._try(base, tests, candidate, rules, insists=same or left == 1)
            if same:
                break
        return outcome

    async def _try(
        self,
        base: Predecessor,
        blind: tuple[Example, ...],
        candidate: CandidateCode,
        rules: tuple[str, ...],
        *,
        insists: bool,
    ) -> Outcome:
        """Takes one code through all checks; `insists` when its writer will not change it any more."""
        work, request, before = self._work, self._request, base.version.draft
        grants = grants_of(request)
        # the request's own examples, and all that the request does not change
        draft = before.model_copy(
            update={
                "code": candidate.written.code,
                "examples": request.tests,
                "use_when": tuple(dict.fromkeys((*before.use_when, *request.use_when)))[:MAX_REQUESTS],
                "packages": request.packages or candidate.written.packages or before.packages,
                "grants": before.grants if grants.is_pure else grants,
                "varies": tuple(sorted(set(request.varies))) or before.varies,
            }
        )
        prepared = await prepare_draft(draft, self._rehearsal, work.on_stage)
        contract = prepared.contract
        if prepared.failure is not None or contract is None:
            return rejection(prepared.failure or CANNOT_RUN)
        # The old version's callers must be able to call the new code, unless the request has `breaks`; where a writer
        # insists and an example no longer fits, the gates decide: their answer names what would break.
        alike = takes(contract.input_schema, base.contract.input_schema) and takes(
            base.contract.output_schema, contract.output_schema
        )
        misfit = any(_misfits(old, contract) for old in base.version.examples)
        if not (alike or request.breaks or (insists and misfit)):
            return Rejected(
                stage="schema",
                reason=f"the new code cannot be called like {base.label}, or returns another type.",
                fix=f"Keep `{base.signature}`; give a new parameter a default.",
            )
        tests = tuple(test for test in blind if not _misfits(test, contract))
        prepared, new = await run_row(prepared, tests, self._rehearsal)
        if new is None:
            return rejection(prepared.failure or CANNOT_RUN)
        _, old_row = await run_row(base.prepared, tests, self._rehearsal)
        old = old_row.passes if old_row is not None else (False,) * len(tests)
        held = tuple(test for test, holds in zip(tests, new.passes, strict=True) if holds)
        failed = [number for number, holds in enumerate(new.passes) if not holds]
        if insists and len(held) >= HELD_SHARE * len(tests):
            failed = [number for number in failed if old[number]]  # the rest are wrong tests
        failure = next((check for number in failed if (check := new.checks[number]) is not None), None)

        # There is nothing to publish (1) where the code is unchanged and the complaint stands, (2) where a blind test
        # fails, or (3) where the code is unchanged and nothing speaks against it.
        same = normal_form(draft.code) == normal_form(before.code)  # layout and comments aside
        same = same and draft.model_copy(update={"code": before.code, "examples": before.examples}) == before
        if same and base.complaints:
            found = rejection(base.complaints[0])
            return found.model_copy(update={"reason": f"the code is unchanged; {found.reason}"})
        self._showed_test = self._showed_test or failure is not None
        if failure is not None and not (same and insists):
            found = rejection(failure)
            passed = f"{len(held)} of {len(tests)} tests that were written blind to the code hold"
            fix = f"{found.fix} If the new code is right, send this case with its result in tests.".strip()
            return found.model_copy(update={"reason": f"{passed}; {found.reason}", "fix": fix})
        if same:
            why = "the model found nothing to fix; send an example that fails, to show what is wrong"
            if request.tests:
                why = "your examples hold with it, and the model found nothing to fix"
            manifest = base.version.manifest
            return Exists(tool=manifest.name, version=manifest.version, why=why)

        # the blind tests show the change where all of them hold, and one at least did not before
        shows_change = not failed and len(held) == len(tests) and old_row is not None and not all(old)
        proved = bool(base.complaints) and shows_change and not candidate.saw_tests
        proved = proved and base.version.manifest.trust == "verified"
        message = f"revised from {base.label}: {len(held)} of {len(tests)} blind tests hold"
        message += f", {sum(old)} of them with the old code" if old_row is not None else ""
        fix = "" if proved else OWN_EXAMPLES
        summary = Check(stage="agreement", passed=proved, hard=False, message=message, fix=fix)

        async def amend(revised: Draft, verdict: Verdict) -> tuple[Draft, Verdict]:
            report, origin = verdict.report, base.version.report.written_from
            agreed = base.version.report.agreement
            blind_before = frozenset(agreed.blind if agreed else ())
            marks = [mark for mark in map(mark_of, base.version.examples) if mark in blind_before]
            rules_now = base.rules(rules)
            dropped = tuple(number for number, holds in enumerate(new.passes) if not holds)
            written_from = WrittenFrom(
                request=f"{base.request}\n{request.full_description}".strip()[:MAX_REQUEST],
                signature=signature_in(candidate.written.code, base.version.manifest.name),
                rules=rules_now,
                assumed=tuple(line for line in (origin.assumed if origin else ()) if line in rules_now),
            )
            added = {
                "trust": report.trust if proved or report.trust == "rejected" else "provisional",
                "checks": (*report.checks, summary),
                "agreement": Agreement(
                    candidates=1,
                    suites=1,
                    share=1.0,
                    passed=round(len(held) / len(tests), 3) if tests else 0.0,
                    kept=tuple(number for number, holds in enumerate(new.passes) if holds),
                    dropped=dropped,
                    contradicting=tuple(
                        DroppedTest(test=tests[number].as_json(), got=new.got(number))
                        for number in dropped[:SHOWN_DROPPED]
                    ),
                    repairs=candidate.repairs,
                    blind=tuple(dict.fromkeys((*marks, *map(mark_of, held)))),
                ),
                "usage": work.models.usage,
                "written_from": written_from,
                "looked_up": base.version.report.looked_up,
            }
            return revised, verdict.model_copy(update={"report": report.model_copy(update=added)})

        room = max(0, MAX_EXAMPLES - len(base.examples_held(request)) - len(request.tests))
        return await work.context.publisher.submit(
            prepared.draft.model_copy(update={"examples": (*request.tests, *held[:room])}),
            work.on_stage,
            update=True,
            breaks=request.breaks,
            amend=amend,
            request=request,
        )

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
            self._work.models.role("coder"),
            messages,
            RevisedCode,
            temperature=REPAIR_TEMPERATURE,
            seed=seed(0),
        )
        written = WrittenCode(code=answer.value.code, packages=answer.value.packages)
        candidate = CandidateCode(index=0, written=written, messages=tuple(messages), text=answer.text)
        return candidate, answer.value.rules
