"""Proof of a revision: a writer's new code, run against what it must hold and mended at most twice."""

from __future__ import annotations

from typing import Any

from alita_mcp.errors import ModelError
from alita_mcp.library.versions.files import mark_of
from alita_mcp.synthesis.failures import classify
from alita_mcp.synthesis.pipeline import ended_by
from alita_mcp.synthesis.requests.outcomes import Exists, Outcome, Rejected, rejection
from alita_mcp.synthesis.requests.signatures import takes
from alita_mcp.synthesis.revision.overruling import given_up, written_by_models
from alita_mcp.synthesis.revision.published import Predecessor, held_by, revised_draft, signature_in
from alita_mcp.synthesis.specification.values import fits
from alita_mcp.synthesis.updating import is_named
from alita_mcp.synthesis.writing.blind_tests import BlindTests
from alita_mcp.synthesis.writing.candidate_sampler import CandidateCode, CandidateSampler
from alita_mcp.synthesis.writing.work import Work
from alita_mcp.values import Draft, Example, ToolContract, VerificationReport, WrittenFrom
from alita_mcp.verification.agreement.matrix import Prepared, prepare, run_row
from alita_mcp.verification.code.source import normal_form
from alita_mcp.verification.examples.suite import MAX_EXAMPLES
from alita_mcp.verification.findings import failed
from alita_mcp.verification.json_schema import delivered, validate_result
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict

MAX_REQUEST = 8_000
_NO_TOOL = failed("static", "the code declares no tool", "Write one function.")


class Proof:
    """Tries the code of one writer, mended at most as often as the plan says, until it holds."""

    def __init__(self, work: Work, base: Predecessor, tests: tuple[Example, ...]) -> None:
        self._work = work
        self._base = base
        self._tests = tests
        self._sampler = CandidateSampler(work.models)
        self._rehearsal = Rehearsal(work.context.sandbox, work.context.library.read)
        self._showed_test = False

    async def until_it_holds(self, candidate: CandidateCode, rules: tuple[str, ...]) -> Outcome:
        """The outcome of the first code that passes, or of the last.

        Raises:
            SandboxError: the sandbox failed.
        """
        outcome = await self._tried(candidate, rules, insists=False)
        for left in range(self._work.plan.repairs, 0, -1):
            if not isinstance(outcome, Rejected) or classify(outcome) == "evidence":
                break
            await self._work.on_stage("repair")
            try:
                told = _for_author(outcome)
                mended = await self._sampler.mended(candidate, told, shows_test=self._showed_test)
            except ModelError as failure:
                return ended_by(outcome, failure)
            same = mended.written == candidate.written
            candidate = mended
            outcome = await self._tried(mended, rules, insists=same or left == 1)
            if same:
                break
        return outcome

    async def _tried(self, candidate: CandidateCode, rules: tuple[str, ...], *, insists: bool) -> Outcome:
        """One code through all that it must hold; `insists` when its writer will not change it any more."""
        base, draft = self._base, revised_draft(self._base.version, candidate.written, self._work.request)
        prepared = await prepare(draft, self._rehearsal, self._work.on_stage)
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
        return refused or await self._submitted(prepared, blind, candidate, rules)

    def _other_signature(self, contract: ToolContract, *, insists: bool) -> Rejected | None:
        """That callers of the version before could not call this one; `breaks` of the request, or a case, allow that.

        A writer that insists is heard where an example no longer fits: the answer then names what would break.
        """
        before, request = self._base.contract, self._work.request
        alike = takes(contract.input_schema, before.input_schema) and takes(
            before.output_schema, contract.output_schema
        )
        misfit = any(_misfits(old, contract) for old in self._base.version.examples)
        if alike or request.breaks or (insists and misfit):
            return None
        return Rejected(
            stage="schema",
            reason=f"the new code is called otherwise than {self._base.called}, or returns another type.",
            fix=f"Keep `{signature_in(self._base.version.code, request.name)}`; a new parameter has a default.",
        )

    def _refused(self, draft: Draft, blind: BlindTests, *, insists: bool) -> Exists | Rejected | None:
        """Why there is nothing to publish: a failure, or code that is as it was."""
        same = _is_the_same(draft, self._base.version.draft)
        if same and self._base.wrong:
            found = rejection(self._base.wrong[0])
            return found.model_copy(update={"reason": f"the code is as it was; {found.reason}"})
        failure = blind.failure(insists=insists)
        self._showed_test = self._showed_test or failure is not None
        if failure is not None and not (same and insists):
            return failure
        return self._stands() if same else None

    def _stands(self) -> Exists:
        manifest, own = self._base.version.manifest, self._work.request.tests
        held = "your examples hold with it, and " if own else ""
        more = "" if own else "; send an example that fails, to show what is wrong"
        why = f"{held}the model found nothing to mend{more}"
        return Exists(tool=manifest.name, version=manifest.version, why=why)

    async def _submitted(
        self, prepared: Prepared, blind: BlindTests, candidate: CandidateCode, rules: tuple[str, ...]
    ) -> Outcome:
        work, breaks = self._work, await self._breaks(prepared)

        async def amend(proved: Draft, verdict: Verdict) -> tuple[Draft, Verdict]:
            report = self._amended(verdict.report, blind, candidate, rules)
            return proved, verdict.model_copy(update={"report": report})

        return await work.context.submission.submit(
            prepared.draft.model_copy(update={"examples": self._examples(blind, breaks)}),
            work.on_stage,
            update=True,
            breaks=breaks,
            amend=amend,
            made_by=work.request.made_by,
        )

    async def _breaks(self, prepared: Prepared) -> tuple[dict[str, Any], ...]:
        """What the request gives up, and where it overrules a rule, what only models had written by the old one."""
        request, version = self._work.request, self._base.version
        if not self._base.rules.changed:
            return request.breaks
        by_models = written_by_models(version)
        own = [old for old in version.examples if old not in by_models]
        free = [old for old in held_by(version, request) if old in by_models]
        free = [old for old in free if not is_named(old, *(each.arguments for each in own))]
        _, row = await run_row(prepared, free, self._rehearsal)
        broken = [old for old, held in zip(free, row.passes, strict=True) if not held] if row else []
        given = await given_up(self._base.rules, broken, self._work.models) if broken else ()
        return (*request.breaks, *(old.arguments for old in given))

    def _examples(self, blind: BlindTests, breaks: tuple[dict[str, Any], ...]) -> tuple[Example, ...]:
        """The request's own examples and the blind tests that hold, as many as there is room for.

        Those of the version before are added when the update is published, unless its current one is damaged.
        """
        version, own = self._base.version, self._work.request.tests
        old = [each for each in version.examples if not is_named(each, *breaks)]
        room = max(0, MAX_EXAMPLES - len(old) - len(own))
        current = self._work.context.library.entry(version.manifest.name).manifest.version
        carried = () if version.manifest.version == current else tuple(old)
        return (*carried, *own, *blind.kept[:room])

    def _amended(
        self, report: VerificationReport, blind: BlindTests, candidate: CandidateCode, rules: tuple[str, ...]
    ) -> VerificationReport:
        """The report with how the version came to be; it is verified only where the change itself is proved."""
        base = self._base
        changed_as_asked = bool(base.wrong) and blind.shows_the_change and not candidate.saw_tests
        proved = changed_as_asked and base.version.manifest.trust == "verified"
        before = base.version.report.agreement
        marks = frozenset(before.blind if before else ())
        still = tuple(mark for mark in map(mark_of, base.version.examples) if mark in marks)
        trust = report.trust if proved or report.trust == "rejected" else "provisional"
        return report.model_copy(
            update={
                "trust": trust,
                "checks": (*report.checks, blind.finding(base.called, proved=proved)),
                "agreement": blind.agreement(candidate, still),
                "usage": self._work.models.usage,
                "written_from": self._written_from(candidate, rules),
                "looked_up": base.version.report.looked_up,
            }
        )

    def _written_from(self, candidate: CandidateCode, changed: tuple[str, ...]) -> WrittenFrom:
        """What later revisions are told, and what they may overrule."""
        version, rules = self._base.version, self._base.rules.merged(changed)
        before = version.report.written_from
        request = before.request if before else version.manifest.description
        return WrittenFrom(
            request=f"{request}\n{self._work.request.full_description}".strip()[:MAX_REQUEST],
            signature=signature_in(candidate.written.code, version.manifest.name),
            rules=rules.all,
            assumed=rules.assumed,
        )


def _misfits(old: Example, contract: ToolContract) -> bool:
    """Whether an example cannot hold with a contract, whatever the code does."""
    if not fits(old.arguments, contract) or "expected" not in old.outcome_fields:
        return not fits(old.arguments, contract)
    result = delivered(old.expected, wraps_result=contract.wraps_result)
    return bool(validate_result(contract.output_schema, result))


def _for_author(rejected: Rejected) -> Rejected:
    """A rejection as the code's writer may read it: what the caller could do about it is not theirs to do."""
    if rejected.stage != "examples":
        return rejected
    fix = "Where the finding that you were given says otherwise than this case, answer the code unchanged."
    return rejected.model_copy(update={"fix": fix, "breaks": ()})


def _is_the_same(draft: Draft, before: Draft) -> bool:
    """Whether a draft differs in nothing but layout, comments and examples."""
    code = normal_form(draft.code) == normal_form(before.code)
    return code and draft.model_copy(update={"code": before.code, "examples": before.examples}) == before
