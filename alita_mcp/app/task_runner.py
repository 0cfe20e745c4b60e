"""Flow of `solve_task` and `alita solve`: one recorded agent run and its solution."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from alita_mcp.agent.actions.workspace import Workspace
from alita_mcp.agent.interface import AskPerson, OnEvent
from alita_mcp.agent.memory.store import StoredMemory
from alita_mcp.agent.run import Run, RunParts
from alita_mcp.agent.runs.store import RunReader, StoredRuns
from alita_mcp.agent.solving import solve
from alita_mcp.agent.values import Solution, Step, TaskEvent, TaskRequest
from alita_mcp.app.activity import Work
from alita_mcp.app.code_runner import ShowManifest
from alita_mcp.app.task_abilities import Flows, RunAbilities
from alita_mcp.errors import ModelError
from alita_mcp.library.unreviewed import visible_manifest
from alita_mcp.models.budget import Budget, Meter
from alita_mcp.models.choices import no_model_for_tasks
from alita_mcp.models.roles import RoleModels
from alita_mcp.owners import UNIDENTIFIED, ClientIdentity, Maker
from alita_mcp.progress import ReportStage, ignore_stage
from alita_mcp.settings import Settings
from alita_mcp.texts import clip
from alita_mcp.toolsmith.jobs.jobs import Job, Jobs, Order
from alita_mcp.toolsmith.jobs.journal import PATIENCE_S
from alita_mcp.toolsmith.jobs.person_questions import FilledForm, FormField, PendingQuestions
from alita_mcp.unseen import spell_hidden
from alita_mcp.values import Manifest

MAX_QUESTION = 2_000
_QUESTION = (
    "A model that is working on your task asks this. Do not give it a password or a key.\n\n{question}"
)
_FIELD = FormField("answer", "Answer", "Leave it empty if you cannot say; the work goes on without it.")
PAST_RUNS = 50
"""From which a run learns what its plans are worth."""


def show_all(manifest: Manifest) -> Manifest:
    """Shows all of a manifest, for callers who may see it."""
    return manifest


class TaskRunner:
    """Runs tasks, each as an agent run of its own."""

    def __init__(self, settings: Settings, flows: Flows, jobs: Jobs, models: RoleModels | None) -> None:
        """`models` is None where no model is configured; nothing is read or made before the first task."""
        self._runs = StoredRuns(flows.library.storage)
        self.settings, self.library = settings, flows.library
        self._flows = flows
        self._jobs = jobs
        self._models = models

    @property
    def has_model(self) -> bool:
        """Whether there is a model to work with."""
        return self._models is not None

    def runs_of(self, owner: str | None) -> RunReader:
        """The runs of one owner; all of them for a person, None."""
        return self._runs.of_owner(owner)

    async def begin_task(
        self,
        request: TaskRequest,
        *,
        identity: ClientIdentity = UNIDENTIFIED,
        person: PendingQuestions | None = None,
        reader: Maker | None = None,
        key: str = "",
    ) -> Job[Solution]:
        """Starts a run in the background; the job has the run's id. Cancelling the job stops the run.

        `person` holds its questions; `reader` is who reads what the run sees of tools, None: a person who may see all.

        Raises:
            UsageError: no model is configured, or too many tasks are under way.
        """
        if self._models is None:
            raise no_model_for_tasks(self.settings)
        order = Order(
            id=secrets.token_hex(16),  # nobody can guess it
            tool="solve_task",
            owner=identity.owner,
            key=key,
            is_bound=bool(request.files),
            request={
                "task": request.model_dump(mode="json"),
                "identity": identity,
                "reader": reader,
            },
        )
        if self._jobs.find_by_key(key, identity.owner) is None:
            await self.library.quotas.check_model_tokens(identity.owner)
        return await self._jobs.begin(order, person)

    async def perform_order(
        self, order: Order, person: PendingQuestions | None, on_stage: ReportStage
    ) -> Solution:
        """Works on the task of an order; raises as `solve`."""
        said = order.request
        shown: ShowManifest = show_all
        if said["reader"] is not None:
            shown = partial(visible_manifest, self, reader=Maker(*said["reader"]))

        async def report(event: TaskEvent) -> None:
            await on_stage(event.text)

        return await self.solve(
            TaskRequest.model_validate(said["task"]),
            report,
            ask=None if person is None else person_asker(person),
            identity=ClientIdentity(*said["identity"]),
            run=order.id,
            shown=shown,
        )

    async def solve(
        self,
        request: TaskRequest,
        on_event: OnEvent,
        *,
        ask: AskPerson | None = None,
        identity: ClientIdentity = UNIDENTIFIED,
        run: str = "",
        shown: ShowManifest = show_all,
    ) -> Solution:
        """Works on a task in the foreground; cancelling this call stops the run.

        Raises:
            UsageError: no model is configured or a file does not exist.
            ModelError: no model answered.
        """
        if self._models is None:
            raise no_model_for_tasks(self.settings)
        run, budget = run or secrets.token_hex(16), request.budget
        with self._flows.activity.follow("task", identity, text=request.task, id=run) as work:
            async with _open_workspace(request, partial(self._runs.write_file, run)) as workspace:
                await self._runs.begin_run(run, request, identity.owner)
                # Its models, and those that make tools for it, are on the account of the run.
                limits = Budget(tokens=budget.tokens, usd=budget.usd, seconds=budget.seconds)
                meter = Meter(limits, work="task")
                role_models = self._models.within(meter)

                flows = replace(self._flows, models=role_models)
                memory = StoredMemory(
                    flows.library.storage, flows.brokers.secret_values, owner=identity.owner
                )
                models = role_models.open_models(meter)
                parts = RunParts(
                    abilities=RunAbilities(flows, workspace, identity._replace(key=""), ignore_stage, shown),
                    models=models,
                    implementer=models.role("implementer"),
                    meter=meter,
                    runs=self._runs,
                    on_event=partial(report_task, work, on_event),
                    memory=memory if self.settings.memory else None,
                    ask=ask,
                    searches=bool(flows.web.backends),
                    builds=request.makes_tools and self.settings.policy != "locked",
                    past_runs=partial(self.runs_of(identity.owner).list, PAST_RUNS),
                    plans=self.settings.limits.task_plans if request.plans is None else request.plans,
                )
                try:
                    return await solve(Run(run, request, parts))
                finally:
                    with anyio.move_on_after(PATIENCE_S, shield=True):
                        await self.library.quotas.add_model_tokens(identity.owner, meter.usage.tokens)


def person_asker(person: PendingQuestions) -> AskPerson:
    """Function that asks a person one question of a task, in a form of one line."""

    async def ask_person(question: str) -> str | None:
        text = _QUESTION.format(question=clip(spell_hidden(question[: MAX_QUESTION + 1]), MAX_QUESTION))
        try:
            form = await person.ask_form(text, [_FIELD])
        except ModelError:  # nobody answered
            return None
        return (form.texts.get(_FIELD.key, "").strip() or None) if isinstance(form, FilledForm) else None

    return ask_person


async def report_task(work: Work, on_event: OnEvent, event: TaskEvent) -> None:
    """Passes on what happens in a run, and publishes its steps and how it ended; its answer stays in its log."""
    if event.kind == "step":
        step = Step.model_validate(event.data)
        work.end_stage(f"{step.number}. {step.tool}", "passed" if step.ok else "failed", step.reason)
    elif event.kind == "finished":
        done = Solution.model_validate(event.data)
        outcome = "solved" if done.solved else "stopped" if done.stopped else "unsolved"
        made = {"tools made": done.tools_made, "tools used": done.tools_used, "stopped": done.stopped_why}
        work.end(outcome, detail={"run": done.run, **made})
    elif event.kind in ("plan", "check", "stopped", "step_started"):
        await work(event.text if event.kind == "step_started" else f"{event.kind}: {event.text}")
    await on_event(event)


@asynccontextmanager
async def _open_workspace(
    request: TaskRequest, keep: Callable[[str, bytes], None]
) -> AsyncIterator[Workspace]:
    folder = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp))
    try:
        workspace = Workspace(folder, keep)
        await anyio.to_thread.run_sync(workspace.fill, request.files, request.task)
        yield workspace
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))
