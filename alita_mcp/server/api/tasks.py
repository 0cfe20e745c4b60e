"""Endpoints of the HTTP API for tasks: begin, list, look, follow, stop."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup
from starlette.requests import Request
from starlette.responses import Response

from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
from alita_mcp.errors import ToolNotFound, ToolUnavailable, TooMany, UsageError
from alita_mcp.models.choices import no_model_for_tasks
from alita_mcp.sandbox.network.host_patterns import read_pattern
from alita_mcp.server.agents.requests import budget_within, checked_id
from alita_mcp.server.api.bodies import EventNumber, Limit, Wait, parameter, read_new_task
from alita_mcp.server.api.events import MAX_STREAMS, EventStream
from alita_mcp.server.api.files import removed, staged
from alita_mcp.server.api.problems import Refusal, json_response
from alita_mcp.server.api.values import NewTask, TaskList, TaskRow, TaskView, links_of
from alita_mcp.server.results.unreviewed import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp

    from alita_mcp.app import App
    from alita_mcp.server.opening import SharedApp
    from alita_mcp.settings import Settings
    from alita_mcp.toolsmith.jobs.jobs import Job

LISTED = 20
CLIENT = "REST"
STORED_WITHIN_S = 5.0
"""How long after its beginning a run is looked for in the store."""


class TaskEndpoints:
    """The operations on tasks, over the App that `/mcp` works on."""

    def __init__(self, shared: SharedApp) -> None:
        self._shared = shared
        self._following = anyio.CapacityLimiter(MAX_STREAMS)

    async def create(self, request: Request) -> Response:
        """Begins a task: 202, or 200 where it ends within `wait` seconds. The run outlives the request."""
        wait_s = parameter(Wait, request.query_params.get("wait"), "wait", 0.0)
        asked = await read_new_task(request)
        app = await self._shared.get()
        if not app.tasks.has_model:
            problem = no_model_for_tasks(app.settings)
            raise Refusal(409, "no_model", problem.message, problem.hint)
        job = await self._begun(app, asked)
        with anyio.move_on_after(wait_s) as waiting:
            await job.done.wait()
        status = HTTPStatus.ACCEPTED if waiting.cancelled_caught else HTTPStatus.OK
        view = await _view(app, job.id)
        return json_response(view, status, {"location": view.links.self})

    async def _begun(self, app: App, asked: NewTask) -> Job[Solution]:
        folder = await staged(asked.files)
        try:
            request = _request_of(asked, folder, app.settings)
            job = app.tasks.begin_task(request, client=CLIENT, shown=partial(shown, app))
        except BaseException:
            await removed(folder)
            raise
        if folder is not None:
            _when_done(self._shared.tasks, job, folder)
        return job

    async def recent(self, request: Request) -> Response:
        """The latest tasks, newest first."""
        limit = parameter(Limit, request.query_params.get("limit"), "limit", LISTED)
        app = await self._shared.get()
        rows = await app.tasks.runs.list(limit)
        told = tuple(
            TaskRow(
                id=row.run,
                task=row.task,
                at=row.at,
                status=row.status,
                solved=row.solved,
                links=links_of(row.run),
            )
            for row in rows
        )
        return json_response(TaskList(tasks=told))

    async def show(self, request: Request) -> Response:
        """One task and where it stands."""
        run = checked_id(request.path_params["id"])
        return json_response(await _view(await self._shared.get(), run))

    async def stop(self, request: Request) -> Response:
        """Stops a task; returns when nothing of it runs."""
        run = checked_id(request.path_params["id"])
        app = await self._shared.get()
        job = _job(app, run)
        if job is None or job.finished is not None:
            await _events(app, run)
            raise ToolUnavailable("This task is not under way here.", hint="It has ended; see its solution.")
        if not await app.tasks.stop(run):
            await app.jobs.cancel(job)
        await job.done.wait()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def follow(self, request: Request) -> ASGIApp:
        """The events of a task, from those after `after` or `Last-Event-ID` on; 204 where none are left to come."""
        run = checked_id(request.path_params["id"])
        after = max(
            parameter(EventNumber, request.query_params.get("after"), "after", 0),
            parameter(EventNumber, request.headers.get("last-event-id"), "Last-Event-ID", 0),
        )
        app = await self._shared.get()
        events = await _events(app, run)
        if any(event.kind == "finished" and event.number <= after for event in events):
            return Response(status_code=HTTPStatus.NO_CONTENT)
        if self._following.available_tokens < 1:
            raise TooMany(f"{MAX_STREAMS} callers follow tasks already.", hint="Ask for the task itself.")
        return EventStream(app.tasks.runs.follow(run, after), self._following)


def _request_of(asked: NewTask, folder: Path | None, settings: Settings) -> TaskRequest:
    budget = budget_within(
        settings,
        steps=asked.max_steps,
        tokens=asked.max_tokens,
        usd=asked.max_usd,
        seconds=asked.max_seconds,
    )
    for host in asked.hosts:
        read_pattern(host)
    files = () if folder is None else tuple(sorted(folder.iterdir()))
    return TaskRequest(
        task=asked.task, files=files, hosts=asked.hosts, budget=budget, plans=asked.plans, memory=asked.memory
    )


def _when_done(tasks: TaskGroup, job: Job[Solution], folder: Path) -> None:
    """Removes the folder when the run has ended, or the server ends."""

    async def wait() -> None:
        try:
            await job.done.wait()
        finally:
            await removed(folder)

    tasks.start_soon(wait)


async def _events(app: App, run: str) -> Sequence[TaskEvent]:
    """The stored events of a run; of one that has only just begun, when they are there.

    Raises:
        ToolNotFound: there is no such run.
    """
    runs = app.tasks.runs
    with anyio.move_on_after(STORED_WITHIN_S):
        while True:
            try:
                return await runs.events(run)
            except ToolNotFound:
                job = _job(app, run)
                if job is None:
                    raise
                if job.finished is not None:
                    raise job.failure or ToolNotFound(f"There is no task {run!r}.") from None
            await anyio.sleep(0.02)
    return ()


def _job(app: App, run: str) -> Job[Solution] | None:
    try:
        return app.jobs.find(run, "solve_task")
    except UsageError:
        return None


async def _view(app: App, run: str) -> TaskView:
    events = await _events(app, run)
    runs = app.tasks.runs
    solution = await runs.solution(run)
    told, last = await runs.summary(run), events[-1] if events else None
    return TaskView(
        id=run,
        task=told.task,
        at=told.at,
        status=told.status,
        events=last.number if last else 0,
        last=last.text if last else "",
        links=links_of(run),
        solution=solution,
    )
