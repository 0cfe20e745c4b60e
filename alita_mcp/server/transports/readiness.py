"""Readiness of one server for a balancer: what `/readyz` says, and the drain before the server ends."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse

from alita_mcp.app import App
from alita_mcp.errors import AlitaError, SandboxBusy, SandboxError
from alita_mcp.sandbox.interface import Job
from alita_mcp.server.shared_app import SharedApp
from alita_mcp.server.transports.web_server import OpenRequests
from alita_mcp.settings import Settings

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Database

ANSWER_WITHIN_S = 1.0
"""How long an answer waits for the first success of a check."""
LOOK_EVERY_S = 0.1
POLL_S = 5.0
"""A library looks for news of others so often: a shorter absence of the database is seen by nobody."""
CODE = Job(code="def check() -> int:\n    return 1\n", function="check", arguments={})

log = logging.getLogger(__name__)


class Check:
    """One part of a server, looked at when somebody asks; until the first success it does not work."""

    def __init__(self, look: Callable[[App], Awaitable[None]], every_s: float, bears_s: float = 0.0) -> None:
        """It stops working when looks fail for more than `bears_s`."""
        self._look, self._every_s, self._bears_s = look, every_s, bears_s
        self._due, self._failing_since = -math.inf, -math.inf
        self.seconds = 0.0
        """How long the last look took that succeeded."""
        self.ended = anyio.Event()

    @property
    def works(self) -> bool:
        """Whether the part works, as far as is known; while a look is under way, the last verdict stands."""
        return anyio.current_time() - self._failing_since <= self._bears_s

    def begin(self, shared: SharedApp, app: App) -> None:
        """Looks in the background, unless it is looking or did so just now."""
        if anyio.current_time() >= self._due:
            self._due, self.ended = math.inf, anyio.Event()
            shared.tasks.start_soon(self._run, app)

    async def _run(self, app: App) -> None:
        began = anyio.current_time()
        try:
            await self._look(app)
            self.seconds, self._failing_since = anyio.current_time() - began, math.inf
        except Exception as failure:  # noqa: BLE001 - a check must not end the server
            if math.isinf(self._failing_since):
                log.warning("not ready: %s", failure or "no answer")
                self._failing_since = began
        self._due = anyio.current_time() + self._every_s
        self.ended.set()


async def run_code(app: App) -> None:
    """Runs one line of code in the sandbox; a full sandbox works. Raises SandboxError when it does not run."""
    with suppress(SandboxBusy):
        result = await app.sandbox.run(CODE)
        if not result.ok:
            raise SandboxError(f"The sandbox does not run: {result.status} {result.message}")


async def reach_database(app: App) -> None:
    """Sends the database of a shared library a statement; raises LibraryError or TimeoutError."""

    def ask(database: Database) -> None:
        with database.transaction() as connection:
            connection.execute("SELECT 1")

    if app.library.storage.database is not None:
        with anyio.fail_after(POLL_S):
            await anyio.to_thread.run_sync(ask, app.library.storage.database, abandon_on_cancel=True)


class Readiness:
    """What stands between this server and its next request, and how it leaves the balancer."""

    def __init__(self, settings: Settings, shared: SharedApp | None) -> None:
        """Without an App to share, as in tests of the transport, only the drain counts."""
        self._settings = settings
        self._shared = shared
        self.checks = {
            "sandbox": Check(run_code, every_s=10.0),
            "database": Check(reach_database, every_s=1.0, bears_s=POLL_S),
        }
        self.is_draining = False

    @property
    def app(self) -> App | None:
        """The App if it is open now."""
        return self._shared.current if self._shared else None

    def begin_checks(self, excluded: Collection[str] = ()) -> list[str]:
        """Looks at each part of the App, if it is open and that is due; returns those that do not work so far."""
        asked = {name: check for name, check in self.checks.items() if name not in excluded}
        if self._shared is not None and self._shared.current is not None:
            for check in asked.values():
                check.begin(self._shared, self._shared.current)
        return [name for name, check in asked.items() if not check.works]

    async def answer(self, request: Request) -> JSONResponse:
        """200, or 503 with the parts that keep this server from serving; parts to `exclude` are not looked at.

        It says nothing that a stranger must not know.
        """
        excluded = request.query_params.getlist("exclude")
        reasons = ["draining"] if self.is_draining else await self._find_problems(excluded)
        status = {"status": "not ready", "reasons": reasons} if reasons else {"status": "ready"}
        return JSONResponse(status, 503 if reasons else 200)

    async def _find_problems(self, excluded: Collection[str]) -> list[str]:
        if self._shared is None:
            return []
        try:
            await self._shared.get()
        except (AlitaError, RuntimeError, OSError):  # its opening failed, which was logged
            return ["library"]
        with anyio.move_on_after(ANSWER_WITHIN_S):
            for name in self.begin_checks(excluded):
                await self.checks[name].ended.wait()
        return self.begin_checks(excluded)

    async def drain(self, requests: OpenRequests, end_listening: Callable[[], None]) -> None:
        """Leaves the balancer without a lost call; `end_listening` ends streams that would never end by themselves."""
        grace_s, limit_s = self._settings.drain_grace_s, self._settings.drain_limit_s
        # 1. Not ready: the balancer notices. What it still sends, or left in the listener's queue, is served.
        self.is_draining = requests.ends_connections = True
        if self._shared and self._shared.current:
            self._shared.current.jobs.take_no_more()
        sys.stderr.write(f"alita: draining for up to {grace_s + limit_s:g} s; another signal ends it\n")
        await anyio.sleep(max(grace_s, LOOK_EVERY_S))
        # 2. Newcomers are refused; what is under way may finish.
        requests.refuse_newcomers()
        end_listening()
        with anyio.move_on_after(limit_s) as limit:
            await requests.wait_for_answers()
            while self._jobs_are_busy():  # noqa: ASYNC110 - once in a server's life
                await anyio.sleep(LOOK_EVERY_S)
        if limit.cancelled_caught:
            log.warning(
                "%d requests%s did not finish within %g s and are ended.",
                requests.unanswered, " and jobs" if self._jobs_are_busy() else "", limit_s,
            )  # fmt: skip

    def _jobs_are_busy(self) -> bool:
        return self.app is not None and self.app.jobs.is_busy
