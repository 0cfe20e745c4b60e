"""Tasks extension (io.modelcontextprotocol/tasks, SEP-2663): long calls that a client polls, feeds and cancels."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError

from alita_mcp.errors import UsageError
from alita_mcp.server.client.identity import is_modern
from alita_mcp.server.results.failures import error_result

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from alita_mcp.server.context import Context

EXTENSION = "io.modelcontextprotocol/tasks"
TTL_MS = 3_600_000
POLL_MS = 500
MAX_TASKS = 1_000
MAX_UNFINISHED = 64

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
UNFINISHED = ("working", "input_required")
Clock = Callable[[], dt.datetime]


class TaskParams(types.RequestParams):
    """Parameters that name a task."""

    task_id: str


class UpdateParams(TaskParams):
    """Parameters that bring a task the input that it asked for."""

    input_responses: dict[str, Any]


def utc_now() -> dt.datetime:
    """The time, as tasks are stamped with it."""
    return dt.datetime.now(dt.UTC)


@dataclass
class Task:
    """One long call."""

    id: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    status: Status = "working"
    now: Clock = utc_now
    created: dt.datetime = field(init=False)
    updated: dt.datetime = field(init=False)
    message: str = ""
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    pending: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    answered: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def __post_init__(self) -> None:
        self.created = self.updated = self.now()

    async def report(self, message: str) -> None:
        """Says where the work stands."""
        self.message, self.updated = message, self.now()

    async def ask_client(self, requests: dict[str, Any]) -> dict[str, Any]:
        """Asks the client for input and waits for all of it; wire-shaped requests in, wire-shaped responses out."""
        self.pending |= requests
        self.set_status("input_required")
        while not requests.keys() <= self.answers.keys():
            self.answered = anyio.Event()
            await self.answered.wait()
        self.set_status("working")
        return {key: self.answers[key] for key in requests}

    def accept_input(self, responses: dict[str, Any]) -> None:
        """Accepts input that was asked for; anything else is dropped."""
        for key in responses.keys() & self.pending.keys():
            del self.pending[key]
            self.answers[key] = responses[key]
        self.answered.set()

    def set_status(self, status: Status) -> None:
        """Changes the status, once and for all when it is a final one."""
        if self.status in UNFINISHED:
            self.status, self.updated = status, self.now()

    def wire(self, *, detailed: bool) -> dict[str, Any]:
        """The task as clients read it."""
        fields: dict[str, Any] = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": self.created.isoformat().replace("+00:00", "Z"),
            "lastUpdatedAt": self.updated.isoformat().replace("+00:00", "Z"),
            "ttlMs": TTL_MS,
            "pollIntervalMs": POLL_MS,
        }
        if self.message:
            fields["statusMessage"] = self.message
        details: dict[str, dict[str, Any]] = {
            "completed": {"result": self.result},
            "failed": {"error": self.error},
            "input_required": {"inputRequests": dict(self.pending)},
        }
        return fields | (details.get(self.status, {}) if detailed else {})


Work = Callable[[Task], "Awaitable[types.CallToolResult]"]


class Tasks:
    """The tasks of one server; they end with it."""

    def __init__(self, group: Callable[[], TaskGroup], *, clock: Clock = utc_now) -> None:
        self._group = group
        self._clock = clock
        self._tasks: dict[str, Task] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._tasks

    def install(self, server: Server[Any]) -> None:
        """Advertises the extension and serves its methods."""
        server.extensions[EXTENSION] = {}
        server.add_request_handler("tasks/get", TaskParams, self._get_task)
        server.add_request_handler("tasks/update", UpdateParams, self._update_task)
        server.add_request_handler("tasks/cancel", TaskParams, self._cancel_task)

    def are_supported(self, ctx: Context) -> bool:
        """Whether the client that made a request takes a task for a result."""
        capabilities = ctx.session.client_capabilities
        extensions = capabilities.extensions if capabilities else None
        return is_modern(ctx) and bool(extensions and EXTENSION in extensions)

    def require_support(self, ctx: Context) -> None:
        """Refuses clients that did not declare the extension.

        Raises:
            MCPError: missing required client capability.
        """
        if not self.are_supported(ctx):
            raise MCPError(
                types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                "Missing required client capability",
                {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
            )

    def start_task(self, work: Work) -> dict[str, Any]:
        """Starts work in the background; the result of the call.

        Raises:
            UsageError: too many tasks are running.
        """
        self._drop_old_tasks()
        if sum(task.status in UNFINISHED for task in self._tasks.values()) >= MAX_UNFINISHED:
            raise UsageError(f"{MAX_UNFINISHED} tasks are running already.", hint="Wait for one to end.")
        task = Task(now=self._clock)
        self._tasks[task.id] = task
        self._group().start_soon(self._run_task, task, work)
        return {"resultType": "task", **task.wire(detailed=False)}

    async def _run_task(self, task: Task, work: Work) -> None:
        """Ends when the work ends, and at the latest when the task's time to live is over."""
        with task.scope, anyio.move_on_after(TTL_MS / 1_000):
            try:
                try:
                    result = await work(task)
                except Exception as raised:  # noqa: BLE001 - the outermost edge of a tool that became a task
                    result = error_result(raised)
                task.result = result.model_dump(by_alias=True, mode="json", exclude_none=True)
                task.set_status("completed")
            except MCPError as failure:
                task.error = failure.error.model_dump(mode="json", exclude_none=True)
                task.message = failure.error.message
                task.set_status("failed")
        task.set_status("cancelled")

    def _find_task(self, ctx: Context, task_id: str) -> Task:
        self.require_support(ctx)
        headers = getattr(ctx.request, "headers", None)  # only HTTP has them
        if headers is not None and headers.get("mcp-name") != task_id:
            raise MCPError(types.HEADER_MISMATCH, "Header mismatch: Mcp-Name must equal params.taskId")
        self._drop_old_tasks()
        task = self._tasks.get(task_id)
        if task is None:
            raise MCPError(types.INVALID_PARAMS, "Task not found")
        return task

    def _drop_old_tasks(self) -> None:
        """Drops tasks past their time to live, and the oldest finished ones when there are too many."""
        oldest_kept = self._clock() - dt.timedelta(milliseconds=TTL_MS)
        finished = [task for task in self._tasks.values() if task.status not in UNFINISHED]
        surplus = len(self._tasks) - MAX_TASKS + 1
        for place, task in enumerate(finished):
            if place < surplus or task.created < oldest_kept:
                del self._tasks[task.id]

    async def _get_task(self, ctx: Context, params: TaskParams) -> dict[str, Any]:
        return {"resultType": "complete", **self._find_task(ctx, params.task_id).wire(detailed=True)}

    async def _update_task(self, ctx: Context, params: UpdateParams) -> dict[str, Any]:
        self._find_task(ctx, params.task_id).accept_input(params.input_responses)
        return {"resultType": "complete"}

    async def _cancel_task(self, ctx: Context, params: TaskParams) -> dict[str, Any]:
        task = self._find_task(ctx, params.task_id)
        task.set_status("cancelled")
        task.scope.cancel()
        return {"resultType": "complete"}
