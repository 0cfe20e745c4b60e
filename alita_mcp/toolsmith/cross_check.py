"""Tests by models for a caller's code that comes without any.

The writers are told what the caller promises: description, signature and docstring, never the code. The tests that
hold stand for the caller's, as thin evidence; where most fail, the code is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from alita_mcp.errors import AlitaError, ModelError
from alita_mcp.library.trust.trust import OWN_EXAMPLES
from alita_mcp.library.versions.files import mark_of
from alita_mcp.models.roles import Models
from alita_mcp.progress import ReportStage
from alita_mcp.texts import clip
from alita_mcp.toolsmith.context import SynthesisContext
from alita_mcp.toolsmith.requests.modes import Mode
from alita_mcp.toolsmith.requests.outcomes import Created, Outcome, Rejected, rejection
from alita_mcp.toolsmith.requests.request import NO_TESTS, SynthesisRequest
from alita_mcp.toolsmith.requests.template import describe_lacks
from alita_mcp.toolsmith.writing.draws import draw_suites
from alita_mcp.toolsmith.writing.prompts import Brief
from alita_mcp.toolsmith.writing.selection import agreement_of_one
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Check, Draft, Example
from alita_mcp.verification.agreement import Prepared, pool_tests, prepare_draft, run_row
from alita_mcp.verification.code.function import promise_in
from alita_mcp.verification.examples.suite import MAX_EXAMPLES, expectation_of
from alita_mcp.verification.findings import brief, json_key
from alita_mcp.verification.properties.properties import SLOW
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict

SUITES: dict[Mode, int] = {"quick": 1, "standard": 2, "thorough": 3}
"""How many writers are asked, all at once."""
ASKED_S = 180.0
"""How long they may take together."""
RUN_S = 60.0
"""How long their tests may run."""
ONE_CALL_S = 10.0
"""A call that takes longer says nothing: writers cannot know what is slow."""
EVENT = "cross_check"
FIX = "Fix the code, describe what is meant more exactly, or send 3 tests of your own: yours decide."
MAX_TEST = 4_000
"""Longest test that is used, in characters of its JSON."""
MAX_QUESTIONS = 5
SHOWN = 60
"""Characters of a value in a question."""


@dataclass(frozen=True)
class BlindResults:
    """The blind tests that ran, and what came of each."""

    tests: tuple[Example, ...]
    checks: tuple[Check, ...]
    suites: int

    @property
    def contradictions(self) -> list[tuple[Example, Check]]:
        """Tests that the code contradicts."""
        pairs = zip(self.tests, self.checks, strict=True)
        return [(test, check) for test, check in pairs if not check.passed]

    @property
    def kept(self) -> tuple[Example, ...]:
        """Tests that hold, about calls of which no other test says otherwise."""
        disputed = {json_key(test.arguments) for test, _ in self.contradictions}
        return tuple(test for test in self.tests if json_key(test.arguments) not in disputed)

    def questions(self) -> tuple[str, ...]:
        """A line for each test that expects otherwise than the code does."""
        return tuple(
            f"for {_show(test.arguments)}: a test expects {_show(expectation_of(test))}; yours gives {_show(check.got)}"
            for test, check in self.contradictions[:MAX_QUESTIONS]
        )


def _show(value: object) -> str:
    """A value on one line, without what a reader does not see."""
    text = HIDDEN.sub("\ufffd", value if isinstance(value, str) else brief(value, SHOWN)).replace("`", "'")
    return f"`{clip(' '.join(text.split()), SHOWN)}`"


async def submit_untested(
    draft: Draft,
    context: SynthesisContext,
    request: SynthesisRequest,
    models: Models,
    mode: Mode,
    on_stage: ReportStage,
) -> Outcome:
    """The outcome for a draft without tests: those of models stand for them, or it says why they do not.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    library, publisher = context.library, context.publisher
    rehearsal = Rehearsal(context.sandbox, library.read)
    follows = publisher.version_to_follow(draft.name, update=request.update)
    if not isinstance(follows, int):
        return follows
    known = None
    if follows:
        try:
            known = (await library.read(draft.name)).draft
        except AlitaError:
            known = None  # quarantined: a new version is the way out
    if known is not None and known == draft.model_copy(update={"examples": known.examples}):
        # it is there, word for word
        return await publisher.submit(known, on_stage, update=True, request=request)
    prepared = await prepare_draft(draft, rehearsal, on_stage)
    if prepared.failure is not None:
        return rejection(prepared.failure)
    try:
        found = await _run_blind_tests(prepared, request, models, SUITES[mode], rehearsal, on_stage)
    except ModelError as failure:
        await library.record(EVENT, request.name, {"status": "failed", "reason": failure.message})
        return NO_TESTS
    counts = {"suites": found.suites, "tests": len(found.tests), "failing": len(found.contradictions)}
    await library.record(EVENT, request.name, {"status": "asked", **counts})
    if not found.tests:
        return NO_TESTS
    kept = found.kept[: MAX_EXAMPLES - len(known.examples if known else ())]
    if 2 * len(found.contradictions) > len(found.tests) or not kept:
        failing = (
            f"{len(found.contradictions)} of {len(found.tests)} that models wrote from the description fail"
        )
        reason = f"no tests were sent, and {failing}: {'; '.join(found.questions())}"
        return Rejected(stage="agreement", reason=reason, fix=FIX)
    used = f"{len(kept)} of {len(found.tests)} that models wrote blind to the code are used instead"
    thin = Check(
        stage="agreement",
        passed=False,
        hard=False,
        message=f"no tests were sent; {used}",
        fix=OWN_EXAMPLES,
    )

    async def amend(proved: Draft, verdict: Verdict) -> tuple[Draft, Verdict]:
        added = {
            "trust": "provisional",
            "checks": (*verdict.report.checks, thin),
            "agreement": agreement_of_one(
                found.tests, found.checks, suites=found.suites, blind=tuple(map(mark_of, found.tests))
            ),
            "usage": models.usage,
        }
        return proved, verdict.model_copy(update={"report": verdict.report.model_copy(update=added)})

    outcome = await publisher.submit(
        draft.model_copy(update={"examples": kept}),
        on_stage,
        update=request.update,
        breaks=request.breaks,
        amend=amend,
        request=request,
    )
    if isinstance(outcome, Rejected):  # it may speak of tests that the caller has never seen
        whose = f"with {len(kept)} tests that models wrote, because none were sent: {outcome.reason}"
        return outcome.model_copy(update={"reason": whose})
    if not isinstance(outcome, Created):
        return outcome
    tests = f"{outcome.tests}, {len(kept)} written by models"
    return outcome.model_copy(update={"questions": found.questions(), "tests": tests})


async def _run_blind_tests(
    prepared: Prepared,
    request: SynthesisRequest,
    models: Models,
    suites: int,
    rehearsal: Rehearsal,
    on_stage: ReportStage,
) -> BlindResults:
    """The suites of several writers, run on the draft.

    Raises:
        ModelError: no writer answered in time.
    """
    draft, contract = prepared.draft, prepared.contract
    if contract is None:
        raise AssertionError("a draft without a contract has a failure")
    await on_stage("tests")
    promise = await anyio.to_thread.run_sync(promise_in, draft.code, draft.name)
    told = Brief(
        request=f"{request.full_description or draft.description}\n\n{promise}",
        sandbox=await describe_lacks(rehearsal.sandbox),
        grants=draft.grants,
    )
    drawn = None
    with anyio.move_on_after(ASKED_S):
        drawn = await draw_suites(models, told, range(suites), contract)
    if drawn is None:
        raise ModelError(f"The models did not write tests within {ASKED_S:g} s.")
    await on_stage("matrix")
    usable = [
        [test for test in suite.tests_that_fit(contract) if len(json_key(test.as_json())) <= MAX_TEST]
        for suite in drawn
    ]
    tests, _ = pool_tests(usable)
    shorter = draft.limits.model_copy(update={"wall_seconds": min(ONE_CALL_S, draft.limits.wall_seconds)})
    row = None
    with anyio.move_on_after(RUN_S):
        hasty = replace(prepared, draft=draft.model_copy(update={"limits": shorter}))
        _, row = await run_row(hasty, tests, rehearsal)
    ran = zip(tests, row.checks, row.outputs, strict=True) if row is not None else ()
    pairs = [
        (test, check)
        for test, check, word in ran
        if check is not None and word not in SLOW and "the check raised" not in check.message
    ]
    return BlindResults(tuple(test for test, _ in pairs), tuple(check for _, check in pairs), len(drawn))
