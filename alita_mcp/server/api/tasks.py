"""Endpoints of the HTTP API for tasks: run one and stream its events, show it, stop it."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response

from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
from alita_mcp.errors import AlitaError, ToolNotFound, ToolUnavailable, UsageError
from alita_mcp.models.choices import no_model_for_tasks
from alita_mcp.owners import ClientIdentity, Maker
from alita_mcp.sandbox.network.host_patterns import read_pattern
from alita_mcp.server.agents.requests import task_budget
from alita_mcp.server.api.problems import Refusal, json_response
from alita_mcp.server.api.requests import read_new_task
from alita_mcp.server.api.values import NewTask, TaskView
from alita_mcp.server.client.owner import read_owner
from alita_mcp.server.results.unreviewed import visible_manifest

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.toolsmith.jobs.jobs import Job

CLIENT = "REST"
STORED_WITHIN_S = 5.0
"""How long after its start a run is looked for in the store."""
HEARTBEAT_S = 15.0

log = logging.getLogger(__name__)


class TaskEndpoints:
    """The operations on tasks, over the App that `/mcp` works on."""

    def __init__(self, shared: SharedApp) -> None:
        self._shared = shared

    async def run_task(self, request: Request) -> Response:
        """Starts a task and streams its events until it ends. The run outlives the request."""
        new_task, owner = await read_new_task(request), read_owner(request.scope)
        app = await self._shared.get()
        if not app.tasks.has_model:
            problem = no_model_for_tasks(app.settings)
            raise Refusal(409, "no_model", problem.message, problem.hint)
        for host in new_task.hosts:
            read_pattern(host)
        job: Job[Solution] = await self._shared.tasks.start(self._work_on_task, app, new_task, owner)
        await _wait_until_stored(app, job.id, owner)
        return EventSourceResponse(
            _messages(app.tasks.runs_of(owner).follow(job.id)),
            headers={"location": f"/api/tasks/{job.id}"},
            ping=HEARTBEAT_S,
            ping_message_factory=lambda: ServerSentEvent(comment="still running", sep="\n"),
            sep="\n",
        )

    async def _work_on_task(
        self, app: App, new_task: NewTask, owner: str, *, task_status: anyio.abc.TaskStatus[Job[Solution]]
    ) -> None:
        """Starts an owner's new task. Its files are in a private folder, which goes when the run or the server ends."""
        with tempfile.TemporaryDirectory(prefix="alita-task-", ignore_cleanup_errors=True) as folder:
            files = [anyio.Path(folder, file.name) for file in new_task.files]
            for path, file in zip(files, new_task.files, strict=True):
                await path.write_bytes(file.data())
            task = TaskRequest(
                task=new_task.task,
                files=tuple(sorted(Path(path) for path in files)),
                hosts=new_task.hosts,
                budget=task_budget(
                    app.settings,
                    steps=new_task.max_steps,
                    tokens=new_task.max_tokens,
                    usd=new_task.max_usd,
                    seconds=new_task.max_seconds,
                ),
                plans=new_task.plans,
                memory=new_task.memory,
            )
            identity = ClientIdentity(client=CLIENT, owner=owner)
            shown = partial(visible_manifest, app, reader=Maker(CLIENT, owner))
            job = app.tasks.begin_task(task, identity=identity, shown=shown)
            task_status.started(job)
            await job.done.wait()

    async def show_task(self, request: Request) -> Response:
        """One task and how far it is."""
        run, owner = request.path_params["id"], read_owner(request.scope)
        app = await self._shared.get()
        await _wait_until_stored(app, run, owner)
        runs = app.tasks.runs_of(owner)
        summary = await runs.summary(run)
        return json_response(
            TaskView(
                id=run,
                task=summary.task,
                at=summary.at,
                status=summary.status,
                solution=await runs.solution(run),
            )
        )

    async def stop_task(self, request: Request) -> Response:
        """Stops a task; responds when nothing of it runs any more."""
        run, owner = request.path_params["id"], read_owner(request.scope)
        app = await self._shared.get()
        job = _find_job(app, run, owner)
        if job is None or job.finished is not None:
            await _wait_until_stored(app, run, owner)
            raise ToolUnavailable("This task is not running here.", hint="It has ended; see its solution.")
        if not await app.tasks.stop(run):
            await app.jobs.cancel(job)
        await job.done.wait()
        return Response(status_code=HTTPStatus.NO_CONTENT)


async def _messages(events: AsyncIterator[TaskEvent]) -> AsyncIterator[dict[str, Any]]:
    """Events as messages of a stream."""
    try:
        async for event in events:
            yield {"id": str(event.number), "event": event.kind, "data": event.model_dump_json()}
    except AlitaError as failure:
        log.warning("cannot follow the task any longer: %s", failure)


async def _wait_until_stored(app: App, run: str, owner: str) -> None:
    """Returns once an owner's run is in the store.

    Raises:
        ToolNotFound: the owner has no such run.
    """
    with anyio.move_on_after(STORED_WITHIN_S):
        while True:
            try:
                await app.tasks.runs_of(owner).events(run)
            except ToolNotFound:
                # 1. No job: there is no such run. 2. A job that failed before its run began: that failure.
                # 3. A job that has only just started: its run will be there in a moment.
                job = _find_job(app, run, owner)
                if job is None:
                    raise
                if job.finished is not None:
                    raise job.failure or ToolNotFound(f"There is no task {run!r}.") from None
            else:
                return
            await anyio.sleep(0.02)


def _find_job(app: App, run: str, owner: str) -> Job[Solution] | None:
    try:
        return app.jobs.find_job(run, "solve_task", owner=owner)
    except UsageError:
        return None
