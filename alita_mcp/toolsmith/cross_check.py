"""Cross-check of a caller's code against tests that models write without seeing it.

The writers are told what the caller promises: description, signature and docstring, never the code, never the caller's
tests. Where the caller gave tests these stay the judge, and models are asked only when they prove too little; where
it gave none, what two writers agree on stands for them, as thin evidence. A model that fails costs nobody a tool.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio
import anyio.to_thread

from alita_mcp.errors import AlitaError, ModelError, SandboxError
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
from alita_mcp.toolsmith.writing.candidate_sampler import CandidateSampler
from alita_mcp.toolsmith.writing.prompts import Brief
from alita_mcp.toolsmith.writing.selection import agreement_of_one
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Agreement, Check, Draft, Example, ToolContract, Trust
from alita_mcp.verification.agreement import Prepared, Row, prepare_draft, run_row
from alita_mcp.verification.code.function import promise_in
from alita_mcp.verification.comparison import difference
from alita_mcp.verification.examples.suite import MAX_EXAMPLES, distinct_examples, suite_checks
from alita_mcp.verification.findings import brief, json_key
from alita_mcp.verification.properties.properties import SLOW
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict, verify

SUITES: dict[Mode, int] = {"quick": 1, "standard": 2, "thorough": 3}
"""How many writers are asked, all at once."""
ASKED_S = 180.0
"""How long they may take together."""
RUN_S = 60.0
"""How long their tests may run."""
ONE_CALL_S = 10.0
"""A call that takes longer says nothing: writers cannot know what is slow."""
EVENT = "cross_check"
RAISED_BY_TESTS = {"examples", "properties", "mutation"}
"""Gates whose soft findings more tests could take away."""
FIX = "Fix the code, describe what is meant more exactly, or send 3 tests of your own: yours decide."
MAX_TEST = 4_000
"""Longest test that is used, in characters of its JSON."""
MAX_QUESTIONS = 5
MAX_LINE = 200
AGREE = 2
"""So many writers, each by itself, make a test that one contradicts elsewhere an example."""
_VALUE, _ARGUMENTS = 26, 60
"""Characters of a value, and of the arguments."""


@dataclass(frozen=True)
class BlindResult:
    """Result of one blind test on the caller's code."""

    writer: int
    test: Example
    check: Check
    word: str
    """What came out, as the pass matrix has it."""

    @property
    def call_key(self) -> str:
        """The same for the same arguments."""
        return json_key(self.test.arguments)


@dataclass(frozen=True)
class BlindResults:
    """Results of all blind tests of one draft."""

    results: tuple[BlindResult, ...]
    suites: int

    @property
    def contradictions(self) -> tuple[BlindResult, ...]:
        """Tests that the code contradicts."""
        return tuple(each for each in self.results if not each.check.passed)

    @property
    def writers(self) -> int:
        """Number of writers that gave a usable test."""
        return len({each.writer for each in self.results})

    @property
    def is_refuted(self) -> bool:
        """Whether most tests fail, and not for one writer alone."""
        contradictions = self.contradictions
        writers = {each.writer for each in contradictions}
        return 2 * len(contradictions) > len(self.results) and len(writers) >= AGREE

    @property
    def trustworthy_tests(self) -> tuple[Example, ...]:
        """Tests that hold and that two writers agree on, or that are of a suite that holds as a whole."""
        disputed_calls = {each.call_key for each in self.contradictions}
        disputing_writers = {each.writer for each in self.contradictions}
        writers: defaultdict[str, set[int]] = defaultdict(set)
        holding = [each for each in self.results if each.check.passed]
        for each in holding:
            writers[each.call_key].add(each.writer)
        tests = [
            each.test
            for each in holding
            if len(writers[each.call_key]) >= AGREE
            or (each.writer not in disputing_writers and each.call_key not in disputed_calls)
        ]
        return tuple(test for _, test in distinct_examples(tests))

    def agreement(self) -> Agreement:
        """The same as a report keeps it: one candidate, which is the caller's."""
        tests, checks = [each.test for each in self.results], [each.check for each in self.results]
        blind = tuple(mark_of(test) for test in tests)
        return agreement_of_one(tests, checks, suites=self.suites, blind=blind)

    def questions(self) -> tuple[str, ...]:
        """A line for each call whose outcome a tester expects otherwise, the most doubted first."""
        calls: defaultdict[str, list[BlindResult]] = defaultdict(list)
        for each in self.contradictions:
            calls[each.call_key].append(each)
        doubted = sorted(calls.values(), key=lambda call: -len({each.writer for each in call}))
        return tuple(_question(call) for call in doubted[:MAX_QUESTIONS])


def usable(suite: Sequence[Example], draft: Draft, contract: ToolContract) -> tuple[Example, ...]:
    """A writer's tests that say one thing about a call that the tool could answer."""
    tests = [
        test
        for _, test in distinct_examples(suite)
        if len(json_key(test.as_json())) <= MAX_TEST
        and not suite_checks(draft.model_copy(update={"examples": (test,)}), contract)
    ]
    expectations: defaultdict[str, set[str]] = defaultdict(set)
    for test in tests:
        if test.check is None:
            expectations[json_key(test.arguments)].add(json_key([test.raises, test.expected]))
    return tuple(test for test in tests if len(expectations[json_key(test.arguments)]) <= 1)


def results_of_suite(writer: int, suite: Sequence[Example], row: Row) -> Iterator[BlindResult]:
    """Results of a suite on the code, without calls that took too long and checks that are broken."""
    for number, (test, check, word) in enumerate(zip(suite, row.checks, row.outputs, strict=True), 1):
        broken = f"example {number}: the check raised"
        if check is not None and word not in SLOW and not check.message.startswith(broken):
            yield BlindResult(writer, test, check, word)


def _question(contradictions: Sequence[BlindResult]) -> str:
    """A line such as: for `""`: tests of 3 writers expect ValueError; yours returns `[]`."""
    writers_by_expectation: defaultdict[str, set[int]] = defaultdict(set)
    outcomes: dict[str, str] = {}
    for each in contradictions:
        expectation, outcome = _expectation_and_outcome(each)
        writers_by_expectation[expectation].add(each.writer)
        outcomes.setdefault(expectation, outcome)
    expectation = max(writers_by_expectation, key=lambda each: len(writers_by_expectation[each]))
    arguments = contradictions[0].test.arguments
    where = "a call without arguments"
    if arguments:
        names = [f"{name}=" if len(arguments) > 1 else "" for name in arguments]
        pairs = zip(names, arguments.values(), strict=True)
        where = _quote(", ".join(f"{name}{brief(value, _ARGUMENTS)}" for name, value in pairs), _ARGUMENTS)
    count = len(writers_by_expectation[expectation])
    writers = "1 writer" if count == 1 else f"{count} writers"
    line = f"for {where}: tests of {writers} expect {expectation}; yours {outcomes[expectation]}"
    return clip(line, MAX_LINE)


def _expectation_and_outcome(result: BlindResult) -> tuple[str, str]:
    """What one tester expects, and what the code does instead, each in a few words."""
    test, (kind, _, rest) = result.test, result.word.partition(" ")
    if kind == "value" and "expected" in test.outcome_fields:  # both around the place where they differ
        found = difference(result.check.expected, result.check.got, _VALUE, 8)
        return _quote(found.expected, _VALUE + 2), f"returns {_quote(found.got, _VALUE + 2)}"
    outcome = f"ends as {result.word!r}"
    if kind in ("error", "raises"):
        outcome = f"raises {_visible(rest.split()[0], _VALUE)}"
    elif kind in ("value", "wrong"):
        outcome = f"returns {_quote(brief(result.check.got, _VALUE - 1), _VALUE)}"
    if test.raises is not None:
        return _visible(test.raises, _VALUE), outcome
    return _quote(brief(test.expected, _VALUE - 1) if test.check is None else test.check, _VALUE), outcome


def _quote(text: str, limit: int) -> str:
    return f"`{_visible(text, limit)}`"


def _visible(text: str, limit: int) -> str:
    """One line without what a reader does not see, and without the quotes around it."""
    seen = HIDDEN.sub("\ufffd", " ".join(text.replace("`", "'").split()))
    return clip("".join(each if each.isprintable() else "\ufffd" for each in seen), limit)


class CrossCheck:
    """Takes one caller's draft through the gates, with blind tests as added evidence."""

    def __init__(
        self,
        context: SynthesisContext,
        request: SynthesisRequest,
        models: Models,
        mode: Mode,
        on_stage: ReportStage,
    ) -> None:
        self._context, self._request, self._models = context, request, models
        self._mode, self._on_stage = mode, on_stage
        self._rehearsal = Rehearsal(context.sandbox, context.library.read)
        self._questions: tuple[str, ...] = ()
        self._written = 0

    async def submit(self, draft: Draft) -> Outcome:
        """The draft through all gates and into the library, with what blind tests ask of it.

        Raises:
            SandboxError: the sandbox failed, which says nothing about the draft.
        """
        request = self._request
        if draft.examples:
            outcome = await self._context.publisher.submit(
                draft,
                self._on_stage,
                update=request.update,
                breaks=request.breaks,
                request=request,
                amend=self._review if draft.grants.is_pure else None,
            )
        else:
            outcome = await self._submit_untested(draft)
        if not isinstance(outcome, Created):
            return outcome
        written = f", {self._written} written by models" if self._written else ""
        return outcome.model_copy(update={"questions": self._questions, "tests": f"{outcome.tests}{written}"})

    async def _review(self, draft: Draft, verdict: Verdict) -> tuple[Draft, Verdict]:
        """A draft that passed with tests of its own: as it was, or with blind tests that make it verified."""
        weak = {check.stage for check in verdict.report.checks if not check.passed}
        if not weak & RAISED_BY_TESTS:
            return draft, verdict
        try:
            found = await self._ask_testers(await prepare_draft(draft, self._rehearsal, self._on_stage))
        except SandboxError as failure:
            await self._journal({"status": "failed", "reason": failure.message})
            found = None
        if found is None:
            return draft, self._amend(verdict, None)
        known = [example.arguments for example in draft.examples]
        new = tuple(test for test in found.trustworthy_tests if test.arguments not in known)
        new = new[: MAX_EXAMPLES - len(draft.examples)]
        if weak <= RAISED_BY_TESTS and not found.contradictions and found.writers >= AGREE and new:
            whole = draft.model_copy(update={"examples": (*draft.examples, *new)})
            better = await verify(whole, self._context.sandbox, self._on_stage, self._context.library.read)
            if better.report.trust == "verified":
                self._written = len(new)
                message = f"{len(new)} tests that {found.writers} writers wrote blind to the code hold too"
                stands = Check(stage="agreement", passed=True, hard=False, message=message)
                return whole, self._amend(better, found.agreement(), stands)
        return draft, self._amend(verdict, found.agreement())

    async def _submit_untested(self, draft: Draft) -> Outcome:
        """A draft without tests: those of models stand for them, or the answer says why they do not."""
        request, publisher = self._request, self._context.publisher
        follows = publisher.version_to_follow(draft.name, update=request.update)
        if not isinstance(follows, int):
            return follows
        known = None
        if follows:
            try:
                known = (await self._context.library.read(draft.name)).draft
            except AlitaError:
                known = None  # quarantined: a new version is the way out
        if known is not None and known == draft.model_copy(update={"examples": known.examples}):
            # it is there, word for word
            return await publisher.submit(known, self._on_stage, update=True, request=self._request)
        prepared = await prepare_draft(draft, self._rehearsal, self._on_stage)
        if prepared.failure is not None:
            return rejection(prepared.failure)
        found = await self._ask_testers(prepared)
        if found is None:
            return NO_TESTS
        writers = "a model" if found.writers == 1 else f"{found.writers} writers"
        kept = found.trustworthy_tests[: MAX_EXAMPLES - len(known.examples if known else ())]
        if found.is_refuted or not kept:
            counts = f"{len(found.contradictions)} of {len(found.results)}"
            message = f"no tests were sent, and {counts} that {writers} wrote from the description fail"
            return Rejected(stage="agreement", reason=f"{message}: {'; '.join(self._questions)}", fix=FIX)
        self._written = len(kept)
        message = (
            f"no tests were sent; {len(kept)} of {len(found.results)} that {writers} wrote blind to the code "
            "are used instead"
        )
        thin = Check(stage="agreement", passed=False, hard=False, message=message, fix=OWN_EXAMPLES)

        async def amend(draft: Draft, verdict: Verdict) -> tuple[Draft, Verdict]:
            return draft, self._amend(verdict, found.agreement(), thin, trust="provisional")

        outcome = await publisher.submit(
            draft.model_copy(update={"examples": kept}),
            self._on_stage,
            update=request.update,
            breaks=request.breaks,
            amend=amend,
            request=request,
        )
        if isinstance(outcome, Rejected):  # it may speak of tests that the caller has never seen
            whose = f"with {len(kept)} tests that models wrote, because none were sent: {outcome.reason}"
            return outcome.model_copy(update={"reason": whose})
        return outcome

    async def _ask_testers(self, prepared: Prepared) -> BlindResults | None:
        """What blind tests say of the draft; None where none could be had or used, which the journal tells."""
        try:
            found = await self._run_blind_tests(prepared)
        except ModelError as failure:
            await self._journal({"status": "failed", "reason": failure.message})
            return None
        if not found.results:
            await self._journal({"status": "failed", "reason": "none of the models' tests could be used"})
            return None
        self._questions = found.questions()
        counts = {"suites": found.suites, "tests": len(found.results), "failing": len(found.contradictions)}
        await self._journal({"status": "asked", **counts})
        return found

    async def _run_blind_tests(self, prepared: Prepared) -> BlindResults:
        """Suites by several writers, each run by itself, so that one that hangs silences no other."""
        draft, contract = prepared.draft, prepared.contract
        if prepared.failure is not None or contract is None:
            return BlindResults((), 0)
        await self._on_stage("tests")
        promise = await anyio.to_thread.run_sync(promise_in, draft.code, draft.name)
        brief = Brief(
            request=f"{self._request.full_description or draft.description}\n\n{promise}",
            sandbox=await describe_lacks(self._rehearsal.sandbox),
            grants=draft.grants,
        )
        suites, numbers = None, range(SUITES[self._mode])
        with anyio.move_on_after(ASKED_S):
            suites = await CandidateSampler(self._models).draw_suites(brief, 1, numbers, contract)
        if suites is None:
            raise ModelError(f"The models did not write tests within {ASKED_S:g} s.")
        await self._on_stage("matrix")
        shorter = draft.limits.model_copy(update={"wall_seconds": min(ONE_CALL_S, draft.limits.wall_seconds)})
        hasty = replace(prepared, draft=draft.model_copy(update={"limits": shorter}))
        results = []
        with anyio.move_on_after(RUN_S):
            for writer, suite in enumerate(suites):
                read = partial(usable, suite.tests_that_fit(contract), draft, contract)
                tests = await anyio.to_thread.run_sync(read)
                _, row = await run_row(hasty, tests, self._rehearsal)
                results += list(results_of_suite(writer, tests, row)) if row is not None else []
        return BlindResults(tuple(results), len(suites))

    def _amend(
        self, verdict: Verdict, agreement: Agreement | None, *checks: Check, trust: Trust | None = None
    ) -> Verdict:
        """The verdict with these checks, and with what the models cost."""
        report, usage = verdict.report, self._models.usage
        added = {
            "trust": trust or report.trust,
            "checks": (*report.checks, *checks),
            "agreement": agreement or report.agreement,
            "usage": usage if usage.calls or usage.cached else report.usage,
        }
        return verdict.model_copy(update={"report": report.model_copy(update=added)})

    async def _journal(self, detail: dict[str, object]) -> None:
        await self._context.library.record(EVENT, self._request.name, detail)
