"""Registry of the sessions of all clients, bounded in number."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import anyio
from anyio.abc import TaskGroup

from alita_mcp.errors import InvalidArguments, SandboxBusy, UsageError
from alita_mcp.runs.code_run import CodeRequest, CodeRun
from alita_mcp.runs.sessions.session import Patience, Place, Session, session_ended
from alita_mcp.runs.tool_broker import RedactingBroker
from alita_mcp.settings import Settings

MAX_SESSIONS = 4
"""So many in all, each with a worker."""
MAX_OWN = 2
"""So many of one client."""
MAX_GONE = 256
"""Of so many that ended it is remembered why; the oldest is forgotten first."""
PATIENCE = Patience()
_Key = tuple[str, str]


class Sessions:
    """Registry of sessions by client and name; a new one may end one of its own client's, never another's."""

    def __init__(self, tasks: TaskGroup, most: int, patience: Patience = PATIENCE) -> None:
        """Made by `open_sessions`."""
        self._tasks = tasks
        self._most = most
        self._patience = patience
        self._open: OrderedDict[_Key, Session] = OrderedDict()  # least recently used first
        self._gone: OrderedDict[_Key, str] = OrderedDict()

    async def run_step(
        self,
        request: CodeRequest,
        client: str,
        find_place: Callable[[], Awaitable[Place]],
        broker: RedactingBroker | None = None,
    ) -> CodeRun:
        """Runs the next step of a session, the first one in the place that `find_place` gives.

        `broker` answers what this step asks for beyond computing.

        Raises:
            UsageError: the session has ended since its last step, or there is no room for any.
            InvalidArguments: nothing tells this client from others, or the step asks for other packages or rights.
            SandboxBusy: all sessions work, or too many steps of this one wait.
            SandboxError: the sandbox failed, not the code.
        """
        if not client:
            raise InvalidArguments(
                "Sessions need a client that can be identified; others could read this one's variables.",
                hint="Use stdio or HTTP with protocol sessions (2025-11-25), or run without `session`.",
            )
        key = (client, request.session)
        if why := self._gone.pop(key, ""):
            raise session_ended(request.session, why)
        session = self._open.get(key) or Session(
            request, self._tasks, self._patience, partial(self._forget, key)
        )
        session.check(request)
        if key not in self._open:
            self._make_room(client)
        self._open[key] = session
        self._open.move_to_end(key)
        return await session.run_step(request, find_place, broker)

    def _make_room(self, client: str) -> None:
        """Ends the session of this client that was idle longest where as many are open as may be, of it or in all.

        Raises:
            UsageError: there is room for none.
            SandboxBusy: this client has none that is idle.
        """
        if self._most < 1:
            raise UsageError(
                "There are too few workers for sessions.",
                hint="Set ALITA_MAX_WORKERS to 2 or more, or run without `session`.",
            )
        own = [session for (whose, _), session in self._open.items() if whose == client]
        if len(own) < MAX_OWN and len(self._open) < self._most:
            return
        idle = next((session for session in own if not session.busy), None)
        if idle is None:
            raise SandboxBusy(
                f"No session is free: {len(self._open)} are open, {len(own)} of them yours.",
                hint="Call again in a few seconds, or run without `session`.",
            )
        idle.end("it made room for another session")

    def _forget(self, key: _Key, why: str) -> None:
        self._open.pop(key, None)
        if why:
            self._gone[key] = why
            while len(self._gone) > MAX_GONE:
                self._gone.popitem(last=False)


def most_sessions(settings: Settings) -> int:
    """Maximum number of sessions, so that other calls find a worker and half of the memory."""
    return min(MAX_SESSIONS, settings.max_workers - 1)


@asynccontextmanager
async def open_sessions(settings: Settings, patience: Patience = PATIENCE) -> AsyncIterator[Sessions]:
    """Opens an empty registry; a context manager that ends all sessions."""
    async with anyio.create_task_group() as tasks:
        yield Sessions(tasks, most_sessions(settings), patience)
        tasks.cancel_scope.cancel()
