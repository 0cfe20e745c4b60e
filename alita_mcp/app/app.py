"""Application of one process: opened parts, and the flows that clients and people use."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import TypeAdapter

from alita_mcp.app.activity import ActivityFeed
from alita_mcp.app.approvals import Approvals
from alita_mcp.app.broker_factory import BrokerFactory
from alita_mcp.app.calls import Calls, ToolRunResult
from alita_mcp.app.followed import make_tool, search_tools
from alita_mcp.app.inline_programs import InlinePrograms
from alita_mcp.app.preparation import Preparation
from alita_mcp.errors import AlitaError, ExtraMissing, SandboxError
from alita_mcp.library.command import alita_command
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.library.promotion import NEWCOMERS, Promotion
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.answer import SearchAnswer
from alita_mcp.library.trust.evidence import evidence_of
from alita_mcp.library.versions.starter import FOUND_BY_SEARCH
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.roles import RoleModels
from alita_mcp.owners import UNIDENTIFIED, ClientIdentity
from alita_mcp.progress import ReportStage, ignore_stage
from alita_mcp.research.reading.readers import open_readers
from alita_mcp.research.web_agent import WebAgent, open_web_agent
from alita_mcp.runs.history.hints import RunHints
from alita_mcp.runs.history.store import RunStore, SharedRunStore
from alita_mcp.runs.sessions.registry import open_sessions
from alita_mcp.sandbox.choose import LazySandbox
from alita_mcp.sandbox.interface import RunResult, Sandbox
from alita_mcp.settings import Settings, find_unknown_settings
from alita_mcp.toolsmith.jobs.jobs import GoesOn, Job, Jobs, Order, SynthesisJob, T, Tool, Wait, open_jobs
from alita_mcp.toolsmith.jobs.person_questions import PendingQuestions
from alita_mcp.toolsmith.requests.outcomes import Created, Outcome, Rejected, Working
from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.values import WrittenFrom

if TYPE_CHECKING:
    from alita_mcp.agent.values import Solution
    from alita_mcp.app.code_runner import CodeRunner
    from alita_mcp.app.task_runner import TaskRunner
    from alita_mcp.toolsmith.publishing import Admit
    from alita_mcp.toolsmith.toolsmith import Toolsmith

log = logging.getLogger(__name__)


class App:
    """Opened parts of one process, and the flows over them."""

    def __init__(
        self,
        settings: Settings,
        library: Library,
        calls: Calls,
        jobs: Jobs,
        *,
        open_toolsmith: Callable[[], Toolsmith],
        open_code: Callable[[], CodeRunner],
        programs: InlinePrograms,
        open_tasks: Callable[[App], TaskRunner],
        web: WebAgent,
        preparation: Preparation,
        activity: ActivityFeed,
    ) -> None:
        self.settings = settings
        self.activity = activity
        """Feed of what happens here."""
        self.library = library
        self.calls = calls
        """The flow of a call of a tool."""
        self.sandbox = calls.sandbox
        self.jobs = jobs
        jobs.perform = self._perform_order
        self.alita = alita_command(settings.home)
        """How a person calls the command for this library from any shell."""
        self.web = web
        """Search and reading of the web."""
        self.preparation = preparation
        """What is done before a first call would wait for it."""
        self.approvals = Approvals(settings, library, jobs, lambda: self.toolsmith, self.alita)
        self._promotion = Promotion(settings.promoted)
        self._views: dict[Library, App] = {}
        self._whole = self
        self.programs = programs
        """What the library says of programs that clients run in their own shells."""
        self._open_toolsmith, self._open_code, self._open_tasks = open_toolsmith, open_code, open_tasks

    def seen_by(self, owner: str) -> App:
        """The same App with the library as an owner sees it; see `Library.seen_by`."""
        library = self.library.seen_by(owner)
        if library is self.library:
            return self
        if library not in self._views:
            view = self._views[library] = copy(self)
            view.library, view._promotion = library, Promotion(self.settings.promoted)  # noqa: SLF001
        return self._views[library]

    @cached_property
    def toolsmith(self) -> Toolsmith:
        """Makes tools. Its modules are loaded when it is first used: a client waits for a server's first list."""
        return self._open_toolsmith() if self._whole is self else self._whole.toolsmith

    @cached_property
    def code(self) -> CodeRunner:
        """The flow of `run_code`; loaded as the toolsmith is."""
        return self._open_code() if self._whole is self else self._whole.code

    @cached_property
    def tasks(self) -> TaskRunner:
        """The flow of `solve_task`; loaded as the toolsmith is."""
        return self._open_tasks(self) if self._whole is self else self._whole.tasks

    def visible_tools(self) -> tuple[CatalogueEntry, ...]:
        """The tools that clients see as tools of their own, in a stable order."""
        left_out = 0
        while True:
            promotable = self.library.promotable(
                self.settings.promoted + NEWCOMERS * left_out,
                reviewed_only=self.settings.review == "list",
            )
            able = [
                entry
                for entry in promotable
                if not self._is_unused_starter(entry) and not self.calls.verifier.why_not(entry.manifest)
            ]
            if len(promotable) - len(able) <= left_out:
                return self._promotion.choose(able)
            left_out = len(promotable) - len(able)

    def _is_unused_starter(self, entry: CatalogueEntry) -> bool:
        """Whether a tool is one of the heavy starter tools, and was never used."""
        if entry.name not in FOUND_BY_SEARCH or entry.calls or entry.pinned:
            return False
        origin = self.library.tools.origin(entry.name, entry.manifest.version)
        return origin.reviewed and not origin.made_by

    async def search_tools(
        self, query: str, limit: int = 5, *, identity: ClientIdentity = UNIDENTIFIED
    ) -> SearchAnswer:
        """Finds tools that serve a need, best first, with a calibrated word on whether any does."""
        return await search_tools(self.activity, self.library, query, limit, identity)

    async def synthesize(self, request: SynthesisRequest | Rejected, on_stage: ReportStage) -> Outcome:
        """Starts a synthesis; returns its outcome, or `working` when it takes longer than that limit.

        Cancelling this call cancels the job.
        """
        if isinstance(request, Rejected):
            return request
        return await self.wait_for_job(await self.begin_synthesis(request), on_stage)

    def report_rejection(self, rejected: Rejected, name: str, identity: ClientIdentity) -> None:
        """Publishes that a client's request was rejected before a synthesis could begin."""
        with self.activity.follow("synthesis", identity, tool=name) as work:
            work.end(
                rejected.status, text=rejected.reason, detail={"stage": rejected.stage, "fix": rejected.fix}
            )

    async def begin_synthesis(self, request: SynthesisRequest) -> SynthesisJob:
        """Starts a synthesis, or finds the same one under way.

        Raises:
            UsageError: too many are under way.
        """

        def is_still_true(outcome: Outcome) -> bool:
            if not isinstance(outcome, Created):
                return True
            try:
                return self.library.entry(outcome.tool).manifest.version == outcome.version
            except AlitaError:
                return False

        words = request.model_dump(mode="json", exclude_unset=True)
        order = Order(
            tool="synthesize_tool",
            owner=request.client.owner,
            key=request.model_dump_json(),
            request={"words": words, "made_by": request.made_by, "client": request.client},
        )
        if self.jobs.find_by_key(order.key, order.owner, is_still_true) is None:
            await self.library.quotas.check_model_tokens(order.owner)
        return await self.jobs.begin(order, holds=is_still_true)

    async def _perform_order(
        self, order: Order, person: PendingQuestions | None, on_stage: ReportStage
    ) -> Outcome | Solution:
        if order.tool == "solve_task":
            return await self.tasks.perform_order(order, person, on_stage)
        ours = {"made_by": order.request["made_by"], "client": order.request["client"]}
        request = SynthesisRequest.model_validate({**order.request["words"], **ours})
        return await make_tool(self.activity, self.toolsmith, request, on_stage)

    async def wait_for_job(
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
        return await self.jobs.wait_for_outcome(job, within_s, on_stage, until, goes_on)

    async def run_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        version: int | None = None,
        *,
        identity: ClientIdentity = UNIDENTIFIED,
        on_stage: ReportStage = ignore_stage,
    ) -> ToolRunResult:
        """Calls a tool in the sandbox; see `Calls.run_tool`."""
        return await self.calls.run_tool(name, arguments, version, identity=identity, on_stage=on_stage)

    async def inspect_tool(
        self, name: str, version: int | None = None, *, source: bool = False
    ) -> dict[str, Any]:
        """One version's evidence card: manifest, state, versions, report; if asked, code and tests.

        The digest is left out: a person who approves a version without a terminal names it; so is the time of the last
        call, which may be another client's. Of the specification that
        the writers got only the assumed rules are shown, the rest with the code.
        """
        await self.library.settle()
        entry = self.library.entry(name)
        stored = await self.library.read(name, version)
        kinds = self.library.tools.sandboxes_of(name, stored.manifest.version)
        report = stored.report
        if report.written_from is not None and not source:
            shown = WrittenFrom(request="", signature="", assumed=report.written_from.assumed)
            report = report.model_copy(update={"written_from": shown})
        card: dict[str, Any] = {
            "manifest": stored.manifest.model_dump(mode="json", exclude={"digest"}),
            "state": entry.state,
            "pinned": entry.pinned,
            "versions": list(entry.versions),
            "sandboxes": list(kinds),
            "approved": self.library.effective_grants.of(stored.manifest) is not None,
            "calls": entry.calls,
            "failures": entry.failures,
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

    With `serves` and the setting `prepare`, what a first call would wait for is done in the background.
    """
    roles = models or RoleModels(settings, source=None if model is None else lambda _role: model)
    if serves:
        for warning in find_unknown_settings(settings.home):
            log.warning("%s", warning)
        if isinstance(roles.problem, ExtraMissing):
            log.warning("%s", roles.problem)
    async with AsyncExitStack() as stack:
        # 1. What the flows stand on.
        library = await stack.enter_async_context(open_library(settings))
        sandbox = sandbox or LazySandbox(settings)
        stack.push_async_callback(_close_sandbox, sandbox)
        background_tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(background_tasks.cancel_scope.cancel)
        background_tasks.start_soon(sandbox.tend)
        runs = SharedRunStore(library.storage) if library.storage.database else RunStore()
        web = await stack.enter_async_context(open_web_agent(settings, has_model=roles.is_configured))
        opening: AbstractAsyncContextManager[Jobs] = open_jobs()
        if serves and library.storage.database is not None:
            from alita_mcp.toolsmith.jobs.shared_jobs import open_shared_jobs

            opening = open_shared_jobs(library.storage.database, settings.library_url, read_outcome)
        jobs = await stack.enter_async_context(opening)

        # 2. Tools are made and called. A tool may call others, so brokers and calls need one another.
        writers = roles if roles.is_configured else None

        def open_toolsmith() -> Toolsmith:
            from alita_mcp.toolsmith.context import Advice
            from alita_mcp.toolsmith.toolsmith import Toolsmith

            advice = Advice(web if writers else None, runs)
            return Toolsmith(library, sandbox, settings, admit, writers, advice)

        async def call_tool(
            name: str, arguments: dict[str, Any], chain: tuple[str, ...], identity: ClientIdentity
        ) -> RunResult:
            return (await calls.run_tool(name, arguments, chain=chain, identity=identity)).result

        tools_model = model or (roles.default_model() if writers else None)
        activity = ActivityFeed()
        brokers = BrokerFactory(settings, library, tools_model, call_tool)
        calls = Calls(library, sandbox, brokers.broker_for, brokers.lacks, activity)

        # 3. Code runs with these tools, and tasks with all of it.
        sessions = await stack.enter_async_context(open_sessions(settings))

        def open_code() -> CodeRunner:
            from alita_mcp.app.code_rights import CodeRights
            from alita_mcp.app.code_runner import CodeRunner

            rights = CodeRights(settings, library, brokers)
            return CodeRunner(library, calls, rights, sessions, RunHints(runs), activity)

        readers = await stack.enter_async_context(open_readers())

        def open_tasks(app: App) -> TaskRunner:
            from alita_mcp.app.task_abilities import Flows
            from alita_mcp.app.task_runner import TaskRunner

            flows = Flows(library, calls, app.code, brokers, app.toolsmith, web, readers, activity)
            return TaskRunner(settings, flows, jobs, writers)

        preparation = Preparation(library, sandbox, calls.verifier)
        if serves and settings.prepare:
            background_tasks.start_soon(preparation.run_in_background)
        app = App(
            settings,
            library,
            calls,
            jobs,
            open_toolsmith=open_toolsmith,
            open_code=open_code,
            programs=InlinePrograms(library, RunHints(runs), calls.verifier.why_not),
            open_tasks=open_tasks,
            web=web,
            preparation=preparation,
            activity=activity,
        )
        if serves:
            jobs.take_jobs()
        yield app


async def _close_sandbox(sandbox: Sandbox) -> None:
    with anyio.CancelScope(shield=True), suppress(SandboxError):
        await sandbox.aclose()


def read_outcome(tool: Tool, text: str) -> Any:
    """The outcome of a job of a tool, which another server wrote; raises ValueError for an unknown one."""
    from alita_mcp.agent.values import Solution
    from alita_mcp.app.code_rights import CodeWaits
    from alita_mcp.runs.code_run import CodeRunResult

    types: dict[Tool, Any] = {"synthesize_tool": Outcome, "run_code": CodeRunResult | CodeWaits}
    return TypeAdapter[Any](types.get(tool, Solution)).validate_json(text)
