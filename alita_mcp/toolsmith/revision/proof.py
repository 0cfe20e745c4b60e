"""Proof of a revision: a writer's new code, run against what it must hold and fixed at most twice."""

from __future__ import annotations

from alita_mcp.errors import ModelError
from alita_mcp.library.versions.files import mark_of
from alita_mcp.toolsmith.failures import classify
from alita_mcp.toolsmith.pipeline import ended_by
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Rejected, rejection
from alita_mcp.toolsmith.requests.signatures import takes
from alita_mcp.toolsmith.revision.published import Predecessor, revised_draft
from alita_mcp.toolsmith.specification.values import fits
from alita_mcp.toolsmith.writing.blind_tests import BlindTests
from alita_mcp.toolsmith.writing.candidate_sampler import CandidateCode, CandidateSampler
from alita_mcp.toolsmith.writing.work import Work
from alita_mcp.values import Draft, Example, ToolContract, WrittenFrom
from alita_mcp.verification.agreement.matrix import Prepared, prepare, run_row
from alita_mcp.verification.code.interface import signature_in
from alita_mcp.verification.code.source import normal_form
from alita_mcp.verification.examples.suite import MAX_EXAMPLES
from alita_mcp.verification.findings import failed
from alita_mcp.verification.json_schema import delivered, validate_result
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict

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
