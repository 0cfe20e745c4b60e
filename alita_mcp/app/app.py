"""Application of one process: opened parts, and the flows that clients and people use."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from alita_mcp.app.approvals import Approvals
from alita_mcp.app.broker_factory import BrokerFactory
from alita_mcp.app.calls import Calls, ToolRunResult
from alita_mcp.app.learning import UNIDENTIFIED, ClientIdentity, Learning, open_learning
from alita_mcp.app.preparing import prepare_early, tended
from alita_mcp.app.runs.runner import CodeRunner, open_code_runner
from alita_mcp.app.tasks.abilities import Flows
from alita_mcp.app.tasks.runner import TaskRunner, open_task_runner
from alita_mcp.errors import AlitaError, ExtraMissing
from alita_mcp.library.background import background
from alita_mcp.library.command import alita_command
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.library.promotion import NEWCOMERS, Promotion
from alita_mcp.library.results import open_result_cache
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.answer import SearchAnswer
from alita_mcp.library.trust.evidence import evidence_of
from alita_mcp.library.versions.starter import FOUND_BY_SEARCH
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.roles import RoleModels
from alita_mcp.progress import ReportStage
from alita_mcp.research.interface import WebAgent
from alita_mcp.research.web_agent import open_web_agent
from alita_mcp.runs.noticing import Noticing
from alita_mcp.runs.store import open_run_store
from alita_mcp.sandbox.choose import UNCHOSEN, LazySandbox
from alita_mcp.sandbox.interface import RunResult, Sandbox
from alita_mcp.settings import Settings, retired_settings
from alita_mcp.toolsmith.context import Advice
from alita_mcp.toolsmith.jobs.jobs import GoesOn, Job, Jobs, SynthesisJob, T, Wait, open_jobs
from alita_mcp.toolsmith.publishing import Admit
from alita_mcp.toolsmith.requests.outcomes import Created, Outcome, Rejected, Working
from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.toolsmith.toolsmith import Toolsmith
from alita_mcp.values import Manifest, VerificationReport, WrittenFrom

log = logging.getLogger(__name__)


class App:
    """Opened parts of one process, and the flows over them."""

    def __init__(
        self,
        settings: Settings,
        library: Library,
        calls: Calls,
        jobs: Jobs,
        toolsmith: Toolsmith,
        code: CodeRunner,
        *,
        tasks: TaskRunner,
        web: WebAgent,
        learning: Learning,
    ) -> None:
        self.settings = settings
        self.library = library
        self.sandbox = calls.sandbox
        self.jobs = jobs
        self.toolsmith = toolsmith
        self.alita = alita_command(settings.home)
        """How a person calls the command for this library from any shell."""
        self.code = code
        """The flow of `run_code`."""
        self.tasks = tasks
        """The flow of `solve_task`."""
        self.web = web
        """Search and reading of the web."""
        self.approvals = Approvals(settings, library, jobs, toolsmith, self.alita)
        self._learning = learning
        self._promotion = Promotion(settings.promoted)
        self._calls = calls

    def listed(self) -> tuple[CatalogueEntry, ...]:
        """The tools that clients see as tools of their own, in an order that stays."""
        left_out = 0
        while True:
            promotable = self.library.promotable(
                self.settings.promoted + NEWCOMERS * left_out,
                reviewed_only=self.settings.review == "list",
            )
            able = [
                entry for entry in promotable if not self._waits(entry) and not self.why_not(entry.manifest)
            ]
            if len(promotable) - len(able) <= left_out:
                return self._promotion.choose(able)
            left_out = len(promotable) - len(able)

    def _waits(self, entry: CatalogueEntry) -> bool:
        """Whether a tool is a heavy starter tool without any use so far."""
        if entry.name not in FOUND_BY_SEARCH or entry.calls or entry.pinned:
            return False
        origin = self.library.tools.origin(entry.name, entry.manifest.version)
        return origin.reviewed and not origin.made_by

    def why_not(self, manifest: Manifest) -> str:
        """Why a version cannot run here, whatever was approved; empty where it can. See `Runnable`."""
        return self._calls.runnable.why_not(manifest)

    @asynccontextmanager
    async def told_of_preparation(self, on_stage: ReportStage) -> AsyncIterator[None]:
        """While the block runs, tells how far the preparation of the sandbox is that it may wait for."""
        if not isinstance(self.sandbox, LazySandbox) or self.sandbox.kind != UNCHOSEN:
            yield
            return
        async with background() as tasks:
            tasks.start_soon(self.sandbox.preparation.follow, on_stage)
            yield
            tasks.cancel_scope.cancel()

    async def search(
        self, query: str, limit: int = 5, *, identity: ClientIdentity = UNIDENTIFIED
    ) -> SearchAnswer:
        """Tools that serve a need, best first, with a calibrated word on whether any does.

        `identity` tells whose next call may teach the tool these words.
        """
        found = await self.library.search(query, limit)
        self.library.calls.record_search(query, found, identity.client)
        self._learning.searched(identity, query, found)
        return found

    async def synthesize(self, request: SynthesisRequest | Rejected, on_stage: ReportStage) -> Outcome:
        """Starts a synthesis; returns its outcome, or `working` when it takes longer than that limit.

        Cancelling this call cancels the job.
        """
        if isinstance(request, Rejected):
            return request
        return await self.answer(self.begin(request), on_stage)

    async def resume(self, job_id: str, on_stage: ReportStage) -> Outcome:
        """The outcome of a job started earlier, or `working` again.

        Raises:
            UsageError: there is no such job.
        """
        return await self.answer(self.jobs.find(job_id), on_stage)

    def begin(self, request: SynthesisRequest) -> SynthesisJob:
        """Starts a synthesis, or finds the same one under way.

        Raises:
            UsageError: too many are under way.
        """

        async def work(enter: ReportStage) -> Outcome:
            return await self.toolsmith.make(request, enter)

        return self.jobs.start(work, request.model_dump_json(), self._holds)

    def _holds(self, outcome: Outcome) -> bool:
        """Whether an outcome from a while ago is still true."""
        if not isinstance(outcome, Created):
            return True
        try:
            return self.library.entry(outcome.tool).manifest.version == outcome.version
        except AlitaError:
            return False

    async def answer(
        self,
        job: Job[T],
        on_stage: ReportStage,
        *,
        until: Wait | None = None,
        within_s: float | None = None,
        goes_on: GoesOn | None = None,
    ) -> T | Working:
        """A job's outcome; `working` when it is not there within `within_s`, or before `until` returns.

        Cancelling this call cancels the job, unless `goes_on`.
        """
        within_s = self.settings.limits.answer_within_s if within_s is None else within_s
        return await self.jobs.answer(job, within_s, on_stage, until, goes_on)

    async def run(
        self,
        name: str,
        arguments: dict[str, Any],
        version: int | None = None,
        *,
        identity: ClientIdentity = UNIDENTIFIED,
    ) -> ToolRunResult:
        """Calls a tool in the sandbox; see `Calls.run`, and `search` for the `identity`."""
        before = self._learning.call_begins(identity)
        ran = await self._calls.run(name, arguments, version, client=identity.client)
        if ran.result.ok:
            self._learning.called(name, before)
        return ran

    async def inspect(self, name: str, version: int | None = None, *, source: bool = False) -> dict[str, Any]:
        """One version's evidence card: manifest, state, versions, report; if asked, code and tests.

        The digest is left out: a person who approves a version without a terminal says it. Of what the writers were
        told the assumed lines are shown, the rest with the code.
        """
        await self.library.settle()
        entry = self.library.entry(name)
        stored = await self.library.read(name, version)
        kinds = self.library.tools.proved_in(name, stored.manifest.version)
        report = stored.report if source else _without_request(stored.report)
        card: dict[str, Any] = {
            "manifest": stored.manifest.model_dump(mode="json", exclude={"digest"}),
            "state": entry.state,
            "pinned": entry.pinned,
            "versions": list(entry.versions),
            "sandboxes": list(kinds),
            "approved": self.library.effective_grants.of(stored.manifest) is not None,
            "calls": entry.calls,
            "failures": entry.failures,
            "last_used": entry.last_used,
            "report": report.model_dump(mode="json"),
            "evidence": evidence_of(stored.report, kinds).model_dump(mode="json"),
        }
        if source:
            card["source"] = stored.code
            card["tests"] = [example.as_json() for example in stored.examples]
        return card


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    admit: Admit,
    sandbox: Sandbox | None = None,
    model: LanguageModel | None = None,
    models: RoleModels | None = None,
    serves: bool = False,
) -> AsyncIterator[App]:
    """Opens all parts in milliseconds (sandbox and index at first use); leaving it ends them all.

    One that serves begins early with what a machine must do once before tools can run.
    """
    roles = models or RoleModels(settings, source=None if model is None else lambda _role: model)
    async with AsyncExitStack() as stack:
        library = await stack.enter_async_context(open_library(settings))
        chosen = sandbox or LazySandbox(settings)
        tasks = await stack.enter_async_context(tended(chosen))
        results = await stack.enter_async_context(open_result_cache(settings))
        runs = await open_run_store(settings, serves=serves)
        web = await stack.enter_async_context(open_web_agent(settings, has_model=roles.is_configured))
        jobs = await stack.enter_async_context(open_jobs())
        writers = roles if roles.is_configured else None
        advice = Advice(web if writers else None, runs)
        toolsmith = Toolsmith(library, chosen, settings, admit, writers, advice)

        async def call_tool(name: str, arguments: dict[str, Any], chain: tuple[str, ...]) -> RunResult:
            return (await calls.run(name, arguments, chain=chain)).result

        for warning in retired_settings() if serves else ():
            log.warning("%s", warning)
        if serves and isinstance(roles.problem, ExtraMissing):
            log.warning("%s", roles.problem)
        own_model = model or (roles.plain() if writers else None)
        brokers = BrokerFactory(settings, library, own_model, call_tool)
        calls = Calls(library, chosen, results, brokers.broker_for, brokers.lacks)
        learning = await stack.enter_async_context(open_learning(library))
        noticing = Noticing(runs)
        code = await stack.enter_async_context(open_code_runner(settings, library, calls, brokers, noticing))
        flows = Flows(library, calls, code, brokers, toolsmith, web)
        solving = await stack.enter_async_context(open_task_runner(settings, flows, jobs, roles))
        if serves and isinstance(chosen, LazySandbox):
            tasks.start_soon(prepare_early, settings, chosen)
        yield App(settings, library, calls, jobs, toolsmith, code, tasks=solving, web=web, learning=learning)


def _without_request(report: VerificationReport) -> VerificationReport:
    if report.written_from is None:
        return report
    told = WrittenFrom(request="", signature="", assumed=report.written_from.assumed)
    return report.model_copy(update={"written_from": told})
