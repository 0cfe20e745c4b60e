"""Resubmission of an unchanged tool with more examples, which may raise its trust.

The gates run over all examples, the version's own and the new ones. What passes becomes the evidence of the same
version; nothing that is handed in ever takes trust away from one that is published.
"""

from __future__ import annotations

from alita_mcp.errors import AlitaError, NameTaken
from alita_mcp.library.library import Library
from alita_mcp.library.trust.trust import is_lower, what_would_raise
from alita_mcp.library.versions.files import written_example
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.toolsmith.carried_examples import without_confirmed, without_superseded
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, rejection
from alita_mcp.values import AcceptedVersion, Draft, Grants, StoredVersion
from alita_mcp.verification.examples.suite import own_examples
from alita_mcp.verification.verify import verify

UPDATE = "send update=true for a new version, or choose another name"


async def same_tool(draft: Draft, library: Library, *, update: bool) -> StoredVersion | None:
    """Returns the current version of the draft's name if it has the same code, packages and grants.

    With `update` only a provisional one counts, and only if nothing but the examples differs: else a new version is
    meant.
    """
    try:
        library.entry(draft.name)
        known = await library.read(draft.name)
    except AlitaError:
        return None
    if _decisive(draft) != _decisive(known.draft):
        return None
    if update and (known.manifest.trust == "verified" or _told(draft) != _told(known.draft)):
        return None
    return known


async def raise_trust(
    draft: Draft, known: StoredVersion, library: Library, sandbox: Sandbox, on_stage: ReportStage
) -> Outcome:
    """Proves a version again with the draft's examples too, and keeps the new evidence if it is no weaker.

    Where models wrote the version's examples or runs showed them, a caller who sends the same ones makes them its own.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the version.
    """
    own = own_examples(draft, draft.examples)
    there = set(map(written_example, known.examples))
    more = tuple(example for example in draft.examples if written_example(example) not in there)
    recorded = without_confirmed(own, known.report.recorded)
    confirms = recorded != known.report.recorded
    there_already = f"with these examples it is there already; {UPDATE}"
    vouches = own and known.report.agreement and known.manifest.trust == "provisional"
    if not (more or confirms or vouches):
        return _unchanged(known, there_already)
    kept = without_superseded(own, known.examples, known.report.recorded)
    whole = known.draft.model_copy(update={"examples": (*kept, *more), "recorded": recorded})
    verdict = await verify(whole, sandbox, on_stage, library.read)
    # what the report before tells of how the tool came to be no gate finds out again
    origin = {field: getattr(known.report, field) for field in ("agreement", "usage", "written_from")}
    report, before = verdict.report.model_copy(update=origin), known.manifest.trust
    if report.failure is not None:
        found, version = rejection(report.failure), known.manifest.version
        reason = f"{draft.name} v{version} stays {before}; with your examples: {found.reason}"
        fix = f"{found.fix} If the tool is wrong, send corrected code with update=true.".strip()
        return found.model_copy(update={"reason": reason, "fix": fix})
    if before == "verified" or is_lower(report.trust, before):
        return _unchanged(known, f"it passes {_counted(len(more))} of yours too and stays {before}; {UPDATE}")
    if not (more or confirms) and report.trust == before:
        return _unchanged(known, there_already)
    if verdict.contract is None or verdict.lock is None:
        raise AssertionError("an accepted verdict carries contract and lock")
    accepted = AcceptedVersion(draft=whole, contract=verdict.contract, lock=verdict.lock, report=report)
    await on_stage("publish")
    try:
        await library.raise_trust(accepted, known)
    except NameTaken:
        now = await library.read(draft.name, known.manifest.version)
        return _unchanged(now, "somebody else gave it more examples meanwhile; send yours again")
    after = report.trust
    change = f"stays {after}" if before == after else f"was raised from {before} to {after}"
    return _standing(known).model_copy(
        update={
            "why": f"the same tool; its trust {change} by {_counted(len(more))}, without a new version",
            "trust_before": before,
            "trust": after,
            "tests": f"{report.examples_passed}/{report.examples_total}",
            "to_raise_trust": what_would_raise(report),
        }
    )


def _unchanged(known: StoredVersion, why: str) -> Exists:
    return _standing(known).model_copy(update={"why": f"the same tool; {why}"})


def _standing(known: StoredVersion) -> Exists:
    manifest, report = known.manifest, known.report
    return Exists(
        tool=manifest.name,
        version=manifest.version,
        why="",
        trust=manifest.trust,
        trust_before=manifest.trust,
        tests=f"{report.examples_passed}/{report.examples_total}",
        to_raise_trust=what_would_raise(report),
        report=f"alita://tools/{manifest.name}/v{manifest.version}/report",
    )


def _decisive(draft: Draft) -> tuple[str, frozenset[str], Grants, frozenset[str]]:
    """Returns what makes two drafts the same tool; blanks at the ends of lines and of the code are no change."""
    code = "\n".join(line.rstrip() for line in draft.code.strip().splitlines())
    grants = draft.grants
    ordered = {field: tuple(sorted(getattr(grants, field))) for field in ("network", "tools", "secrets")}
    return code, frozenset(draft.packages), grants.model_copy(update=ordered), frozenset(draft.varies)


def _told(draft: Draft) -> tuple[str, tuple[str, ...], object]:
    return draft.description, draft.use_when, draft.limits


def _counted(examples: int) -> str:
    if not examples:
        return "examples that were there, and that you send, too"
    return "1 more example" if examples == 1 else f"{examples} more examples"
