"""Flow of `solve_task` and `alita solve`: one recorded agent run and its solution."""

from __future__ import annotations

import logging
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread

from alita_mcp.agent.actions.workspace import Workspace
from alita_mcp.agent.interface import AskPerson, Memory, OnEvent
from alita_mcp.agent.run import Run, RunParts
from alita_mcp.agent.runs.estimate import estimate
from alita_mcp.agent.runs.store import MAX_RUNS, RUNS, StoredRuns
from alita_mcp.agent.solving import solve
from alita_mcp.agent.values import Estimate, Solution, TaskEvent, TaskRequest
from alita_mcp.app.learning import UNIDENTIFIED, ClientIdentity
from alita_mcp.app.runs.tools import Shown
from alita_mcp.app.tasks.abilities import Flows, RunAbilities
from alita_mcp.app.tasks.guidance import guidance
from alita_mcp.errors import UsageError
from alita_mcp.extras import find_problem, missing
from alita_mcp.models.budget import Budget, Meter
from alita_mcp.models.choices import no_model_for_tasks
from alita_mcp.models.embedder_choice import configured_embedder
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.roles import Models, RoleModels
from alita_mcp.models.structured.json_calls import ToolCallingModel
from alita_mcp.progress import ReportStage
from alita_mcp.research.reading.readers import open_readers
from alita_mcp.sandbox.choose import silent
from alita_mcp.settings import Settings
from alita_mcp.synthesis.jobs.jobs import Job, Jobs
from alita_mcp.synthesis.jobs.person_questions import PendingQuestions
from alita_mcp.values import Manifest


def all_shown(manifest: Manifest) -> Manifest:
    """Shows all that a tool says of itself, for callers who may see it."""
    return manifest


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaskParts:
    """Parts that tasks need."""

    settings: Settings
    flows: Flows
    jobs: Jobs
    runs: StoredRuns
    models: RoleModels | None = None
    """None: no model is configured."""
    memory: Memory | None = None


@dataclass(frozen=True)
class _Asked:
    """One run that was asked for, by whom, and who hears of it."""

    run: str
    request: TaskRequest
    on_event: OnEvent
    ask: AskPerson | None = None
    identity: ClientIdentity = UNIDENTIFIED
    shown: Shown = all_shown


class TaskRunner:
    """Runs tasks, each as an agent run of its own."""

    def __init__(self, parts: TaskParts) -> None:
        self._parts = parts
        self._scopes: dict[str, anyio.CancelScope] = {}

    @property
    def runs(self) -> StoredRuns:
        """The store of runs."""
        return self._parts.runs

    @property
    def has_model(self) -> bool:
        """Whether there is a model to work with."""
        return self._parts.models is not None

    def begin(
        self,
        request: TaskRequest,
        *,
        client: str = "",
        person: PendingQuestions | None = None,
        ask: AskPerson | None = None,
        shown: Shown = all_shown,
    ) -> Job[Solution]:
        """Starts a run in the background; the job has the run's id. Cancelling the job stops the run.

        `person` holds the questions that `ask` puts.

        Raises:
            UsageError: no model is configured, or too many tasks are under way.
        """
        self._models()
        run = new_run()

        async def work(enter: ReportStage) -> Solution:
            async def on_event(event: TaskEvent) -> None:
                await enter(event.text)

            identity = ClientIdentity(client=client)
            return await self._solved(_Asked(run, request, on_event, ask, identity, shown))

        return self._parts.jobs.start_task(work, run, person)

    async def solve(
        self,
        request: TaskRequest,
        on_event: OnEvent,
        *,
        ask: AskPerson | None = None,
        client: str = "",
        run: str = "",
    ) -> Solution:
        """Works on a task in the foreground; cancelling this call stops the run.

        Raises:
            UsageError: no model is configured, or a file is not there.
            ModelError: no model answered.
        """
        return await self._solved(
            _Asked(run or new_run(), request, on_event, ask, ClientIdentity(client=client))
        )

    async def guidance(self, request: TaskRequest, shown: Shown = all_shown) -> Solution:
        """How the connected agent can do the task itself, with which tools; for where no model is configured."""
        flows = self._parts.flows
        nowhere = Workspace(self._parts.settings.home / "no files")
        abilities = RunAbilities(flows, nowhere, UNIDENTIFIED, silent, shown)
        return await guidance(request, abilities, flows.web.backends)

    async def estimate(self, request: TaskRequest) -> Estimate | None:
        """What the task is likely to take, by recorded runs; None where there are too few."""
        return estimate(request.task, await self._parts.runs.list(MAX_RUNS))

    async def stop(self, run: str) -> bool:
        """Ends a run of this process; False where it is not under way here."""
        scope = self._scopes.get(run)
        if scope is None:
            return False
        scope.cancel()
        return True

    def _models(self) -> RoleModels:
        if self._parts.models is None:
            raise no_model_for_tasks(self._parts.settings)
        return self._parts.models

    async def _solved(self, asked: _Asked) -> Solution:
        self._models()
        async with _workspace(asked.request) as workspace:
            await self._parts.runs.begin(asked.run, asked.request)
            with anyio.CancelScope() as scope:
                self._scopes[asked.run] = scope
                try:
                    return await solve(self._run(asked, workspace))
                finally:
                    del self._scopes[asked.run]
        solution = await self._parts.runs.solution(asked.run)
        if solution is None:
            raise UsageError(f"The run {asked.run} was stopped.")
        return solution

    def _run(self, asked: _Asked, workspace: Workspace) -> Run:
        parts, budget, plans = self._parts, asked.request.budget, asked.request.plans
        limits = Budget(tokens=budget.tokens, usd=budget.usd, seconds=budget.seconds)
        meter = Meter(limits, work="task", usd_setting="ALITA_TASK_USD")
        role_models = self._models().within(meter, parts.runs.recorder(asked.run))
        models, implementer = self._opened(role_models, meter)
        flows = replace(parts.flows, toolsmith=parts.flows.toolsmith.using(role_models))
        return Run(
            asked.run,
            asked.request,
            RunParts(
                abilities=RunAbilities(flows, workspace, asked.identity, silent, asked.shown),
                models=models,
                implementer=implementer,
                meter=meter,
                models_on=lambda part: self._opened(role_models, part),
                runs=parts.runs,
                on_event=asked.on_event,
                memory=parts.memory,
                ask=asked.ask,
                searches=bool(parts.flows.web.backends),
                builds=parts.settings.policy != "locked",
                plans=parts.settings.limits.task_plans if plans is None else plans,
            ),
        )

    def _opened(self, role_models: RoleModels, meter: Meter) -> tuple[Models, LanguageModel]:
        models = role_models.open_on(meter)
        return models, ToolCallingModel(models.role("implementer"))


@asynccontextmanager
async def open_task_runner(
    settings: Settings, flows: Flows, jobs: Jobs, models: RoleModels
) -> AsyncIterator[TaskRunner]:
    """Opens the flow of tasks over the parts of an app; nothing is read or made before the first task."""
    role_models = models if models.is_configured else None
    runs = StoredRuns(settings.home / RUNS)
    async with AsyncExitStack() as stack:
        flows = replace(flows, readers=await stack.enter_async_context(open_readers()))
        memory = None
        problem = find_problem("search") if settings.memory and role_models is not None else None
        if problem is not None:
            log.warning("Tasks are not remembered. %s", missing("search", "The memory of tasks", problem))
        elif settings.memory and role_models is not None:
            from alita_mcp.agent.memory.store import open_memory

            opening = open_memory(settings, configured_embedder(settings), flows.brokers.secret_values)
            memory = await stack.enter_async_context(opening)
        yield TaskRunner(TaskParts(settings, flows, jobs, runs, role_models, memory))


def new_run() -> str:
    """Returns a random run id that cannot be guessed: it gives access to the run."""
    return secrets.token_hex(16)


@asynccontextmanager
async def _workspace(request: TaskRequest) -> AsyncIterator[Workspace]:
    folder = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp))
    try:
        workspace = Workspace(folder)
        await anyio.to_thread.run_sync(workspace.fill, request.files)
        yield workspace
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))
