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

from alita_mcp.errors import Cancelled, InsufficientScope, UsageError
from alita_mcp.owners import choose_surplus
from alita_mcp.server.client.identity import is_modern, maker_of
from alita_mcp.server.client.scopes import may_answer

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


class TaskParams(types.RequestParams):
    """Parameters that name a task."""

    task_id: str


class UpdateParams(TaskParams):
    """Parameters that bring a task the input that it asked for."""

    input_responses: dict[str, Any]


def timestamp() -> str:
    """The time, as tasks are stamped with it: ISO 8601, UTC."""
    return dt.datetime.now(dt.UTC).isoformat().replace("+00:00", "Z")


@dataclass
class Task:
    """One long call of an owner."""

    owner: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    status: Status = "working"
    created: str = field(default_factory=timestamp)
    updated: str = field(default_factory=timestamp)
    message: str = ""
    outcome: dict[str, Any] = field(default_factory=dict)
    """`result` of a completed task, `error` of a failed one."""
    pending: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    answered: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    tool: str = ""
    """Whose questions it asks."""

    async def report(self, message: str) -> None:
        """Says where the work stands."""
        self.message, self.updated = message, timestamp()

    async def ask_client(self, requests: dict[str, Any]) -> dict[str, Any]:
        """Asks the client for input and waits for all of it; wire-shaped requests in, wire-shaped responses out."""
        self.pending |= requests
        self.set_status("input_required")
        try:
            while not requests.keys() <= self.answers.keys():
                await self.answered.wait()
        finally:
            for key in requests:
                self.pending.pop(key, None)
            self.set_status("input_required" if self.pending else "working")
        return {key: self.answers.pop(key) for key in requests}

    def set_status(self, status: Status) -> None:
        """Changes the status, once and for all when it is a final one."""
        if self.status in UNFINISHED:
            self.status, self.updated = status, timestamp()

    def wire(self) -> dict[str, Any]:
        """The task as clients read it."""
        fields: dict[str, Any] = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": self.created,
            "lastUpdatedAt": self.updated,
            "ttlMs": TTL_MS,
            "pollIntervalMs": POLL_MS,
        }
        return fields | ({"statusMessage": self.message} if self.message else {})


Work = Callable[[Task], "Awaitable[types.CallToolResult]"]
Resume = Callable[["Context", str], Awaitable[None]]
"""Makes the task of a job that another server of a shared library began known here, if there is one."""


class Tasks:
    """The tasks that one server knows; they end with it, unless it shares its library and so its jobs with others."""

    def __init__(
        self, group: Callable[[], TaskGroup], error_result: Callable[[Exception], types.CallToolResult]
    ) -> None:
        self._group = group
        self._error_result = error_result
        self._tasks: dict[str, Task] = {}

    def install(self, server: Server[Any], resume: Resume) -> None:
        """Advertises the extension and serves its methods."""
        self._resume = resume
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

    def start_task(self, work: Work, owner: str, job: str = "") -> dict[str, Any]:
        """Starts an owner's work in the background; the result of the call. The task of a job has the job's id.

        Raises:
            UsageError: too many tasks are running.
        """
        if known := self._tasks.get(job):
            return {"resultType": "task", **known.wire()}
        finished = [
            (task.id, task.owner, 1) for task in self._tasks.values() if task.status not in UNFINISHED
        ]
        unfinished = len(self._tasks) - len(finished)
        if unfinished >= MAX_UNFINISHED:
            raise UsageError(f"{MAX_UNFINISHED} tasks are running already.", hint="Wait for one to end.")
        for surplus in choose_surplus(finished, owner, MAX_TASKS - 1 - unfinished):
            del self._tasks[surplus]
        task = Task(owner, job) if job else Task(owner)
        self._tasks[task.id] = task
        self._group().start_soon(self._run_task, task, work)
        return {"resultType": "task", **task.wire()}

    async def _run_task(self, task: Task, work: Work) -> None:
        """Runs the work, and forgets the task when its time to live is over, whether it has ended or not."""
        with anyio.move_on_after(TTL_MS / 1_000):
            with task.scope:
                try:
                    try:
                        result = await work(task)
                    except Cancelled:
                        task.set_status("cancelled")
                        raise
                    except Exception as raised:  # noqa: BLE001 - the outermost edge of a tool that became a task
                        result = self._error_result(raised)
                    task.outcome = {
                        "result": result.model_dump(by_alias=True, mode="json", exclude_none=True)
                    }
                    task.set_status("completed")
                except Cancelled as stopped:
                    task.message = stopped.message
                except MCPError as failure:
                    task.outcome = {"error": failure.error.model_dump(mode="json", exclude_none=True)}
                    task.message = failure.error.message
                    task.set_status("failed")
            await anyio.sleep_forever()
        self._tasks.pop(task.id, None)

    async def _find_task(self, ctx: Context, task_id: str) -> Task:
        self.require_support(ctx)
        headers = getattr(ctx.request, "headers", None)  # only HTTP has them
        if headers is not None and headers.get("mcp-name") != task_id:
            raise MCPError(types.HEADER_MISMATCH, "Header mismatch: Mcp-Name must equal params.taskId")
        if task_id not in self._tasks:
            await self._resume(ctx, task_id)
        task = self._tasks.get(task_id)
        if task is None or task.owner != maker_of(ctx).owner:
            raise MCPError(types.INVALID_PARAMS, "Task not found")
        return task

    async def _get_task(self, ctx: Context, params: TaskParams) -> dict[str, Any]:
        task = await self._find_task(ctx, params.task_id)
        waits = task.status == "input_required"
        details = {"inputRequests": dict(task.pending)} if waits else task.outcome
        return {"resultType": "complete", **task.wire(), **details}

    async def _update_task(self, ctx: Context, params: UpdateParams) -> dict[str, Any]:
        """Accepts input that was asked for; anything else is dropped."""
        task = await self._find_task(ctx, params.task_id)
        if not may_answer(ctx, task.tool):
            raise InsufficientScope("approve")
        for key in params.input_responses.keys() & task.pending.keys():
            del task.pending[key]
            task.answers[key] = params.input_responses[key]
        task.answered.set()
        task.answered = anyio.Event()
        return {"resultType": "complete"}

    async def _cancel_task(self, ctx: Context, params: TaskParams) -> dict[str, Any]:
        task = await self._find_task(ctx, params.task_id)
        task.set_status("cancelled")
        task.scope.cancel()
        return {"resultType": "complete"}
