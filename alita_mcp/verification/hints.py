"""Hints for failing examples: a result that varies, or a host that was not requested."""

from __future__ import annotations

import anyio.to_thread

from alita_mcp.values import Check
from alita_mcp.verification.determinism.variation import declaration, may_vary, moved_by
from alita_mcp.verification.examples.examples import ExamplesFound, Trial
from alita_mcp.verification.examples.trials import RehearsedDraft
from alita_mcp.verification.static.needs import network_hint


async def with_hints(subject: RehearsedDraft, found: ExamplesFound) -> list[Check]:
    """The checks of the examples gate; the first failure says what to add to the request, if known.

    Raises:
        SandboxError: the sandbox failed.
    """
    failing = next(
        (place for place, check in enumerate(found.checks) if check.hard and not check.passed), None
    )
    if failing is None or failing >= len(found.trials):
        return found.checks
    trial, check = found.trials[failing], found.checks[failing]
    fix = await _variation(subject, trial)
    if not fix and (hint := await anyio.to_thread.run_sync(network_hint, subject.draft)):
        fix = f"{check.fix} {hint}"
    if not fix:
        return found.checks
    mended = check.model_copy(update={"fix": fix})
    return [mended if each is check else each for each in found.checks]


async def _variation(subject: RehearsedDraft, trial: Trial) -> str:
    """What to do about a result that was not the expected one because it is another one each time."""
    example, result = trial.example, trial.result
    told = "expected" in example.outcome_fields and result is not None and result.ok
    if not told or not may_vary(subject.contract.imports):
        return ""
    moved = await moved_by(subject, example)
    undeclared = declaration(subject.draft, moved)
    if undeclared or not moved - {"hash seed"}:
        return undeclared
    return "This result varies: say with `check` what holds of each, instead of `expected`."
