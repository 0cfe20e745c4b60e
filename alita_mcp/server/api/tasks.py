"""`POST /api/tasks`: runs a task and streams its events, for programs that speak no MCP."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router
from starlette.types import Receive, Scope, Send

from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
from alita_mcp.models.choices import no_model_for_tasks
from alita_mcp.owners import ClientIdentity, Maker
from alita_mcp.sandbox.network.host_patterns import read_pattern
from alita_mcp.server.agents.requests import task_budget
from alita_mcp.server.api.problems import Refusal, problem_response
from alita_mcp.server.api.requests import NewTask, read_new_task
from alita_mcp.server.client.owner import read_principal
from alita_mcp.server.client.scopes import check_scope
from alita_mcp.server.results.unreviewed import visible_manifest

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.toolsmith.jobs.jobs import Job

CLIENT = "REST"
HEARTBEAT_S = 15.0


def api_routes(shared: SharedApp) -> list[Mount]:
    """Routes over the App of `/mcp`; who may reach them is the HTTP server's to decide."""

    async def run_task(request: Request) -> Response:
        """Starts a task and streams its events until it ends. A caller that leaves stops it."""
        principal = read_principal(request.scope)
        check_scope(principal.scopes, "call")
        new_task, owner = await read_new_task(request), principal.owner
        app = (await shared.get()).seen_by(owner)
        if not app.tasks.has_model:
            problem = no_model_for_tasks(app.settings)
            raise Refusal(409, "no_model", problem.message, problem.hint)
        for host in new_task.hosts:
            read_pattern(host)
        send, events = anyio.create_memory_object_stream[TaskEvent](math.inf)
        with ExitStack() as streams:
            streams.enter_context(send)
            streams.enter_context(events)
            job = app.tasks.begin_task(
                read_task(new_task, app, makes_tools="make" in principal.scopes),
                identity=ClientIdentity(client=CLIENT, owner=owner),
                shown=partial(visible_manifest, app, reader=Maker(CLIENT, owner)),
                on_event=send.send,
            )
            shared.tasks.start_soon(close_when_done, send, job)
            try:
                first = await events.receive()
            except anyio.EndOfStream:
                raise job.failure or Refusal(503, "unavailable", "The task has not begun.") from None
            streams.pop_all()
        return _TaskStream(app, job, first, events)

    router = Router([Route("/tasks", run_task, methods=["POST"])], redirect_slashes=False)
    handlers = dict.fromkeys((HTTPException, Exception), problem_response)
    return [Mount("/api", ExceptionMiddleware(router, handlers=handlers))]


def read_task(new_task: NewTask, app: App, *, makes_tools: bool = True) -> TaskRequest:
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
        makes_tools=makes_tools,
    )


async def close_when_done(send: MemoryObjectSendStream[TaskEvent], job: Job[Solution]) -> None:
    """Ends the events with the job."""
    with send:
        await job.done.wait()


class _TaskStream(EventSourceResponse):
    """A task's events as messages of a stream; the task is stopped where nobody reads it to its end."""

    def __init__(
        self, app: App, job: Job[Solution], first: TaskEvent, events: MemoryObjectReceiveStream[TaskEvent]
    ) -> None:
        super().__init__(
            self._messages(first),
            ping=HEARTBEAT_S,
            ping_message_factory=lambda: ServerSentEvent(comment="still running", sep="\n"),
            sep="\n",
        )
        self._app, self._job, self._events = app, job, events

    async def _messages(self, first: TaskEvent) -> AsyncIterator[dict[str, Any]]:
        event: TaskEvent | None = first
        while event is not None:
            yield {"id": str(event.number), "event": event.kind, "data": event.model_dump_json()}
            event = await anext(self._events, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._events:
            try:
                await super().__call__(scope, receive, send)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._app.jobs.cancel(self._job)
