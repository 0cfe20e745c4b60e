"""Endpoints of the HTTP API for tasks: create, list, show, follow, stop."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import AsyncIterator, Sequence
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
from alita_mcp.errors import AlitaError, ToolNotFound, ToolUnavailable, TooMany, UsageError
from alita_mcp.models.choices import no_model_for_tasks
from alita_mcp.owners import ClientIdentity, Maker
from alita_mcp.sandbox.network.host_patterns import read_pattern
from alita_mcp.server.agents.requests import task_budget
from alita_mcp.server.api.problems import Refusal, json_response
from alita_mcp.server.api.requests import EventNumber, Limit, Wait, read_new_task, read_number, read_query
from alita_mcp.server.api.values import NewTask, TaskList, TaskRow, TaskView, links_of
from alita_mcp.server.client.owner import read_owner
from alita_mcp.server.results.unreviewed import visible_manifest

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.toolsmith.jobs.jobs import Job

LISTED = 20
CLIENT = "REST"
STORED_WITHIN_S = 5.0
"""How long after its start a run is looked for in the store."""
HEARTBEAT_S = 15.0
RETRY_MS = 1_000
MAX_STREAMS = 64
"""How many callers may follow runs at once."""

log = logging.getLogger(__name__)


class TaskEndpoints:
    """The operations on tasks, over the App that `/mcp` works on."""

    def __init__(self, shared: SharedApp) -> None:
        self._shared = shared
        self._streams = anyio.CapacityLimiter(MAX_STREAMS)

    async def create_task(self, request: Request) -> Response:
        """Starts a task: 202, or 200 where it ends within `wait` seconds. The run outlives the request."""
        wait_s = read_query(request, "wait", Wait, 0.0)
        new_task = await read_new_task(request)
        app = await self._shared.get()
        if not app.tasks.has_model:
            problem = no_model_for_tasks(app.settings)
            raise Refusal(409, "no_model", problem.message, problem.hint)
        for host in new_task.hosts:
            read_pattern(host)
        job: Job[Solution] = await self._shared.tasks.start(
            self._run_task, app, new_task, read_owner(request.scope)
        )
        status = HTTPStatus.ACCEPTED
        if wait_s:
            with anyio.move_on_after(wait_s):
                await job.done.wait()
                status = HTTPStatus.OK
        view = await _task_view(app, job.id, read_owner(request.scope))
        return json_response(view, status, {"location": view.links.self})

    async def _run_task(
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

    async def list_tasks(self, request: Request) -> Response:
        """The latest tasks of the owner, newest first."""
        limit = read_query(request, "limit", Limit, LISTED)
        app = await self._shared.get()
        runs = app.tasks.runs_of(read_owner(request.scope))
        tasks = tuple(
            TaskRow(
                id=row.run, task=row.task, at=row.at, status=row.status, solved=row.solved, links=links_of(row.run)
            )
            for row in await runs.list(limit)
        )  # fmt: skip
        return json_response(TaskList(tasks=tasks))

    async def show_task(self, request: Request) -> Response:
        """One task and how far it is."""
        run = request.path_params["id"]
        return json_response(await _task_view(await self._shared.get(), run, read_owner(request.scope)))

    async def stop_task(self, request: Request) -> Response:
        """Stops a task; responds when nothing of it runs any more."""
        run, owner = request.path_params["id"], read_owner(request.scope)
        app = await self._shared.get()
        job = _find_job(app, run, owner)
        if job is None or job.finished is not None:
            await _read_events(app, run, owner)
            raise ToolUnavailable("This task is not running here.", hint="It has ended; see its solution.")
        if not await app.tasks.stop(run):
            await app.jobs.cancel(job)
        await job.done.wait()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def follow_task(self, request: Request) -> Response:
        """The events of a task after `after` or `Last-Event-ID`; 204 where none are left to come."""
        run, owner = request.path_params["id"], read_owner(request.scope)
        last_event_id = request.headers.get("last-event-id")
        after = max(
            read_query(request, "after", EventNumber, 0),
            read_number(EventNumber, last_event_id, "Last-Event-ID", 0),
        )
        app = await self._shared.get()
        events = await _read_events(app, run, owner)
        if any(event.kind == "finished" and event.number <= after for event in events):
            return Response(status_code=HTTPStatus.NO_CONTENT)
        if self._streams.available_tokens < 1:
            problem = f"{MAX_STREAMS} callers follow tasks already."
            raise TooMany(problem, hint=f"Poll /api/tasks/{run} instead.")
        return EventSourceResponse(
            self._messages(app.tasks.runs_of(owner).follow(run, after)),
            ping=HEARTBEAT_S,
            ping_message_factory=lambda: ServerSentEvent(comment="still running", sep="\n"),
            sep="\n",
        )

    async def _messages(self, events: AsyncIterator[TaskEvent]) -> AsyncIterator[dict[str, Any]]:
        """The events as messages, whose ids a reader names when it comes back."""
        async with self._streams:
            yield {"retry": RETRY_MS}
            try:
                async for event in events:
                    yield {"id": str(event.number), "event": event.kind, "data": event.model_dump_json()}
            except AlitaError as failure:
                log.warning("cannot follow the task any longer: %s", failure)


async def _read_events(app: App, run: str, owner: str) -> Sequence[TaskEvent]:
    """The stored events of an owner's run.

    Raises:
        ToolNotFound: the owner has no such run.
    """
    with anyio.move_on_after(STORED_WITHIN_S):
        while True:
            try:
                return await app.tasks.runs_of(owner).events(run)
            except ToolNotFound:
                # 1. No job: there is no such run. 2. A job that failed before its run began: that failure.
                # 3. A job that has only just started: its run will be there in a moment.
                job = _find_job(app, run, owner)
                if job is None:
                    raise
                if job.finished is not None:
                    raise job.failure or ToolNotFound(f"There is no task {run!r}.") from None
            await anyio.sleep(0.02)
    return ()


def _find_job(app: App, run: str, owner: str) -> Job[Solution] | None:
    try:
        return app.jobs.find_job(run, "solve_task", owner=owner)
    except UsageError:
        return None


async def _task_view(app: App, run: str, owner: str) -> TaskView:
    events, runs = await _read_events(app, run, owner), app.tasks.runs_of(owner)
    solution = await runs.solution(run)
    summary, last = await runs.summary(run), events[-1] if events else None
    return TaskView(
        id=run,
        task=summary.task,
        at=summary.at,
        status=summary.status,
        events=last.number if last else 0,
        last=last.text if last else "",
        links=links_of(run),
        solution=solution,
    )
