"""`/api/tasks`: runs a task and streams its events, for programs that speak no MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router
from starlette.types import Message

from alita_mcp.agent.task_budget import task_budget
from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
from alita_mcp.errors import InsufficientScope, ToolNotFound, UsageError
from alita_mcp.models.choices import no_model_for_tasks
from alita_mcp.owners import ClientIdentity, Maker, Principal
from alita_mcp.sandbox.network.host_patterns import read_pattern
from alita_mcp.server.api.problems import Refusal, problem_response
from alita_mcp.server.api.requests import NewTask, read_new_task

if TYPE_CHECKING:
    from alita_mcp.agent.runs.store import RunReader
    from alita_mcp.app import App
    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.toolsmith.jobs.jobs import Job

CLIENT = "REST"
HEARTBEAT_S = 15.0
LOOK_EVERY_S = 0.5
"""How often the events of a run are looked for."""


def api_routes(shared: SharedApp) -> list[Mount]:
    """Routes over the App of `/mcp`; who may reach them is the HTTP server's to decide."""

    async def run_task(request: Request) -> Response:
        """Starts a task and streams its events until it ends. A caller that leaves stops it."""
        principal: Principal = request.user.principal
        if "call" not in principal.scopes:
            raise InsufficientScope("call")
        new_task, owner = await read_new_task(request), principal.owner
        app = (await shared.get()).seen_by(owner)
        app.library.quotas.count_call(owner)
        if not app.tasks.has_model:
            problem = no_model_for_tasks(app.settings)
            raise Refusal(409, "no_model", problem.message, problem.hint)
        for host in new_task.hosts:
            read_pattern(host)
        job = await app.tasks.begin_task(
            read_task(new_task, app).model_copy(update={"makes_tools": "make" in principal.scopes}),
            identity=ClientIdentity(client=CLIENT, owner=owner),
            reader=Maker(CLIENT, owner),
        )
        events = task_events(app.tasks.runs_of(owner), job.id, job)
        try:
            first = await anext(events, None)
        except BaseException:
            await app.jobs.cancel(job)
            raise
        if first is None:
            raise job.failure or Refusal(503, "unavailable", "The task has not begun.")
        return _stream(events, first, lambda _message: app.jobs.cancel(job))

    async def follow_task(request: Request) -> Response:
        """Streams the events of a task after the one that `Last-Event-ID` names, whichever server works on it."""
        run, principal = request.path_params["run"], request.user.principal
        if "call" not in principal.scopes:
            raise InsufficientScope("call")
        owner = principal.owner
        last = request.headers.get("last-event-id", "")
        app = await shared.get()
        runs = app.tasks.runs_of(owner)
        job: Job[Solution] | None = None
        with suppress(UsageError):
            job = await app.jobs.find_job(run, "solve_task", owner=owner)
        if job is None:
            try:
                await runs.summary(run)
            except ToolNotFound as missing:
                raise Refusal(404, "not_found", missing.message) from None
        return _stream(task_events(runs, run, job, int(last[:9]) if last.isdecimal() else 0))

    routes = [
        Route("/tasks", run_task, methods=["POST"]),
        Route("/tasks/{run}/events", follow_task, methods=["GET"]),
    ]
    router = Router(routes, redirect_slashes=False)
    handlers = dict.fromkeys((HTTPException, Exception), problem_response)
    return [Mount("/api", ExceptionMiddleware(router, handlers=handlers))]


def read_task(new_task: NewTask, app: App) -> TaskRequest:
    """A task as it is worked on, within what the settings allow."""
    budget = task_budget(
        app.settings,
        steps=new_task.max_steps,
        tokens=new_task.max_tokens,
        usd=new_task.max_usd,
        seconds=new_task.max_seconds,
    )
    return TaskRequest(
        task=new_task.task,
        hosts=new_task.hosts,
        budget=budget,
        plans=new_task.plans,
        memory=new_task.memory,
    )


async def task_events(
    runs: RunReader, run: str, job: Job[Solution] | None, after: int = 0
) -> AsyncIterator[TaskEvent]:
    """The events of a run as they are stored, those after a number, until it has ended."""
    is_over = False
    while not is_over:
        is_over, events = job is None or job.finished is not None, list[TaskEvent]()
        with suppress(ToolNotFound):  # it has not begun
            events = list(await runs.events(run))
        if events and events[-1].number < after:  # another server does it anew
            after = 0
        for event in events:
            if event.number > after:
                after = event.number
                yield event
                is_over = is_over or event.kind == "finished"
        if job is not None and not is_over:
            with anyio.move_on_after(LOOK_EVERY_S):
                await job.done.wait()


def _stream(
    events: AsyncIterator[TaskEvent],
    first: TaskEvent | None = None,
    on_leave: Callable[[Message], Awaitable[None]] | None = None,
) -> EventSourceResponse:
    """Events as messages of a stream; `on_leave` is called when the caller is gone before its end."""

    async def messages() -> AsyncIterator[dict[str, Any]]:
        event = first or await anext(events, None)
        while event is not None:
            yield {"id": str(event.number), "event": event.kind, "data": event.model_dump_json()}
            event = await anext(events, None)

    return EventSourceResponse(
        messages(),
        ping=HEARTBEAT_S,
        ping_message_factory=lambda: ServerSentEvent(comment="still running", sep="\n"),
        sep="\n",
        client_close_handler_callable=on_leave,
    )
