"""Readiness of one server for a balancer: what `/readyz` says, and the drain before the server ends."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse

from alita_mcp.app import App
from alita_mcp.errors import AlitaError, SandboxBusy
from alita_mcp.sandbox.interface import Job
from alita_mcp.server.shared_app import SharedApp
from alita_mcp.server.transports.web_server import OpenRequests
from alita_mcp.settings import Settings

ANSWER_WITHIN_S = 1.0
"""How long an answer waits for a sandbox that did not run before."""
CHECK_EVERY_S = 10.0
AWAY_AFTER_S = 10.0
"""A library hears of others every five seconds; twice that without a word is a database that is away."""
LOOK_EVERY_S = 0.1
CODE = Job(code="def check() -> int:\n    return 1\n", function="check", arguments={})

log = logging.getLogger(__name__)


class Readiness:
    """What stands between this server and its next request, and how it leaves the balancer."""

    def __init__(self, settings: Settings, shared: SharedApp | None) -> None:
        """Without an App to share, as in tests of the transport, only the drain counts."""
        self._settings = settings
        self._shared = shared
        self._sandbox_runs, self._failure = False, ""
        self._checked = anyio.Event()
        self._check_due = -math.inf
        self.is_draining = False

    @property
    def app(self) -> App | None:
        """The App if it is open now."""
        return self._shared.current if self._shared else None

    def find_problems(self, app: App) -> list[str]:
        """Parts of the App that do not work, as far as is known now; runs a line of code where that is due."""
        if self._shared is not None and anyio.current_time() >= self._check_due:
            self._check_due, self._checked = math.inf, anyio.Event()
            self._shared.tasks.start_soon(self._check_sandbox, app)
        database = app.library.storage.database
        is_away = database is not None and database.silent_s > AWAY_AFTER_S
        return ["sandbox"] * (not self._sandbox_runs) + ["database"] * is_away

    async def _check_sandbox(self, app: App) -> None:
        """While the line waits for a place, the last verdict stands: a full sandbox works."""
        try:
            self._sandbox_runs = (await app.sandbox.run(CODE)).ok
        except SandboxBusy:
            self._sandbox_runs = True
        except Exception as failure:  # noqa: BLE001 - a check must not end the server
            if str(failure) != self._failure:
                log.warning("not ready: %s", failure)
            self._sandbox_runs, self._failure = False, str(failure)
        self._check_due = anyio.current_time() + CHECK_EVERY_S
        self._checked.set()

    async def answer(self, request: Request) -> JSONResponse:
        """200, or 503 with the parts that keep this server from serving; those to `exclude` are left out."""
        reasons = ["draining"] * self.is_draining
        if self._shared is not None and not reasons:
            try:
                app = await self._shared.get()
                if "sandbox" in self.find_problems(app):
                    with anyio.move_on_after(ANSWER_WITHIN_S):
                        await self._checked.wait()
                reasons = self.find_problems(app)
            except (AlitaError, RuntimeError, OSError):  # its opening failed, which was logged
                reasons = ["library"]
        reasons = [each for each in reasons if each not in request.query_params.getlist("exclude")]
        status = {"status": "not ready", "reasons": reasons} if reasons else {"status": "ready"}
        return JSONResponse(status, 503 if reasons else 200)

    async def drain(self, requests: OpenRequests, end_listening: Callable[[], None]) -> None:
        """Leaves the balancer without a lost call; `end_listening` ends streams that would never end by themselves."""
        grace_s, limit_s = self._settings.drain_grace_s, self._settings.drain_limit_s
        # 1. Not ready: the balancer notices. What it still sends, or left in the listener's queue, is served.
        self.is_draining = requests.ends_connections = True
        if self.app is not None:
            self.app.jobs.take_no_more()
        sys.stderr.write(f"alita: draining for up to {grace_s + limit_s:g} s; another signal ends it\n")
        await anyio.sleep(max(grace_s, LOOK_EVERY_S))
        # 2. Newcomers are refused; what is under way may finish.
        requests.refuse_newcomers()
        end_listening()
        with anyio.move_on_after(limit_s) as limit:
            await requests.wait_for_answers()
            while self.app is not None and self.app.jobs.is_busy:  # noqa: ASYNC110 - once in a server's life
                await anyio.sleep(LOOK_EVERY_S)
        if limit.cancelled_caught:
            log.warning("Calls or jobs did not finish within %g s and are ended.", limit_s)
