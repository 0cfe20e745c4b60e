"""Resubmission of a published tool with more examples, which can raise its trust without a new version.

Nothing that is handed in ever takes trust away from a published version.
"""

from __future__ import annotations

from alita_mcp.errors import AlitaError, NameTaken
from alita_mcp.library.library import Library
from alita_mcp.library.trust.trust import OWN_EXAMPLES, is_lower, what_would_raise
from alita_mcp.library.versions.files import canonical_example, mark_of
from alita_mcp.owners import Maker
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.toolsmith.carried_examples import is_decided_by, without_confirmed, without_superseded
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, rejection
from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.values import AcceptedVersion, Check, Draft, Grants, StoredVersion
from alita_mcp.verification.examples.suite import own_examples
from alita_mcp.verification.verify import verify

MADE_OF_THESE = (
    "it was made of these runs; send tests of your own to confirm it, or update=true for a new version"
)
UPDATE = "send update=true for a new version, or choose another name"


async def find_same_tool(draft: Draft, library: Library, *, update: bool) -> StoredVersion | None:
    """The current version of the draft's name if it has the same code, packages and grants.

    With `update` only a provisional one counts, and only if nothing but the examples differs: else a new version is
    meant.
    """
    try:
        library.entry(draft.name)
        published = await library.read(draft.name)
    except AlitaError:
        return None
    # other code, packages or grants make another tool, which needs a version of its own
    if _identity(draft) != _identity(published.draft):
        return None
    old = published.draft
    same_texts = (draft.description, draft.use_when, draft.limits) == (
        old.description,
        old.use_when,
        old.limits,
    )
    if update and (published.manifest.trust == "verified" or not same_texts):
        return None
    return published


def with_code_of(published: StoredVersion, request: SynthesisRequest) -> SynthesisRequest | Exists:
    """The request as one with a published version's code; the caller's word goes before what a run showed."""
    draft, recorded = published.draft, published.report.recorded
    marks = recorded.examples if recorded else ()
    seen = [each for each in published.examples if mark_of(each) in marks]
    tests = (*request.tests, *(each for each in seen if not is_decided_by(request.tests, each)))
    if not tests:
        return Exists(tool=draft.name, version=published.manifest.version, why=MADE_OF_THESE)
    fields = ("name", "description", "code", "packages", "varies")
    again = {field: getattr(draft, field) for field in fields} | draft.grants.model_dump()
    again |= {"from_run": (), "tests": tests, "recorded": without_confirmed(request.tests, recorded)}
    return request.model_copy(update=again)


async def raise_trust(
    draft: Draft,
    published: StoredVersion,
    library: Library,
    sandbox: Sandbox,
    on_stage: ReportStage,
    *,
    made_by: Maker,
) -> Outcome:
    """Proves a version again with the submitted examples too, and keeps the new evidence if it is no weaker.

    Whoever sent it counts as its maker from then on.

    Where models wrote the version's examples or runs showed them, a caller who sends the same ones makes them its own.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the version.
    """
    before = published.manifest.trust
    submitted = own_examples(draft, draft.examples)
    published_texts = set(map(canonical_example, published.examples))
    new_examples = tuple(each for each in draft.examples if canonical_example(each) not in published_texts)
    recorded = without_confirmed(submitted, published.report.recorded)
    newly_confirmed = recorded != published.report.recorded
    reviews_models = submitted and published.report.agreement and before == "provisional"
    if not (new_examples or newly_confirmed or reviews_models):
        return _exists(published, f"with these examples it is there already; {UPDATE}")

    kept = without_superseded(submitted, published.examples, published.report.recorded)
    whole = published.draft.model_copy(update={"examples": (*kept, *new_examples), "recorded": recorded})
    verdict = await verify(whole, sandbox, on_stage, library.read)
    # no gate finds out again how the tool came to be
    origin = {field: getattr(published.report, field) for field in ("agreement", "usage", "written_from")}
    report = verdict.report.model_copy(update=origin)
    if report.agreement is not None and before == "provisional" and report.trust == "verified":
        # tests that models wrote prove nothing until a caller sends them: the caller's own must do so alone
        sent = set(map(mark_of, submitted))
        blind = tuple(mark for mark in report.agreement.blind if mark not in sent)
        own = tuple(each for each in whole.examples if mark_of(each) not in blind)
        report = report.model_copy(update={"agreement": report.agreement.model_copy(update={"blind": blind})})
        alone = await verify(whole.model_copy(update={"examples": own}), sandbox, on_stage, library.read)
        if alone.report.trust != "verified":
            weak = [check for check in alone.report.checks if not check.passed]
            said = "; ".join(check.message for check in weak)
            message = f"{len(own)} examples of a caller's own hold, but prove too little alone: {said}"
            thin = Check(stage="agreement", passed=False, hard=False, message=message, fix=OWN_EXAMPLES)
            report = report.model_copy(update={"trust": "provisional", "checks": (*report.checks, thin)})
    count = len(new_examples)
    evidence = (
        f"{count} more example{'s' if count > 1 else ''}"
        if count
        else "examples that were there, and that you send, too"
    )
    # The new evidence (1) fails a gate, (2) cannot raise the trust, (3) adds nothing, or (4) is kept.
    if report.failure is not None:
        rejected = rejection(report.failure)
        reason = f"{draft.name} v{published.manifest.version} stays {before}; with your examples: {rejected.reason}"
        fix = f"{rejected.fix} If the tool is wrong, send corrected code with update=true.".strip()
        return rejected.model_copy(update={"reason": reason, "fix": fix})
    if before == "verified" or is_lower(report.trust, before):
        return _exists(published, f"it passes {evidence} of yours too and stays {before}; {UPDATE}")
    if not (new_examples or newly_confirmed) and report.trust == before:
        return _exists(published, f"with these examples it is there already; {UPDATE}")
    if verdict.contract is None or verdict.lock is None:
        raise AssertionError("an accepted verdict carries contract and lock")
    accepted = AcceptedVersion(
        draft=whole, contract=verdict.contract, lock=verdict.lock, report=report, made_by=made_by
    )
    await on_stage("publish")
    try:
        await library.raise_trust(accepted, published)
    except NameTaken:
        now = await library.read(draft.name, published.manifest.version)
        return _exists(now, "another caller gave it more examples meanwhile; send yours again")
    change = f"stays {before}" if before == report.trust else f"was raised from {before} to {report.trust}"
    outcome = _exists(published, f"its trust {change} by {evidence}, without a new version")
    return outcome.model_copy(
        update={
            "trust": report.trust,
            "tests": f"{report.examples_passed}/{report.examples_total}",
            "to_raise_trust": what_would_raise(report),
        }
    )


def _exists(published: StoredVersion, why: str) -> Exists:
    manifest, report = published.manifest, published.report
    return Exists(
        tool=manifest.name,
        version=manifest.version,
        why=f"the same tool; {why}",
        trust=manifest.trust,
        trust_before=manifest.trust,
        tests=f"{report.examples_passed}/{report.examples_total}",
        to_raise_trust=what_would_raise(report),
        report=f"alita://tools/{manifest.name}/v{manifest.version}/report",
    )


def _identity(draft: Draft) -> tuple[str, frozenset[str], Grants, frozenset[str]]:
    """What makes two drafts the same tool; blanks at the ends of lines and of the code are no change."""
    code = "\n".join(line.rstrip() for line in draft.code.strip().splitlines())
    grants = draft.grants
    ordered = {field: tuple(sorted(getattr(grants, field))) for field in ("network", "tools", "secrets")}
    return code, frozenset(draft.packages), grants.model_copy(update=ordered), frozenset(draft.varies)
