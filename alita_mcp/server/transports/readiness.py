"""Readiness of one server for a balancer: what `/readyz` says, and the drain before the server ends."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse

from alita_mcp.app import App
from alita_mcp.errors import AlitaError, SandboxBusy, SandboxError
from alita_mcp.sandbox.interface import Job
from alita_mcp.server.shared_app import SharedApp
from alita_mcp.server.transports.web_server import OpenRequests
from alita_mcp.settings import Settings

CHECK_EVERY_S = 10.0
"""How long a run of the sandbox counts."""
LOOK_EVERY_S = 0.1
CHECK = Job(code="def check() -> int:\n    return 1\n", function="check", arguments={})

log = logging.getLogger(__name__)


class Readiness:
    """What stands between this server and its next request, and how it leaves the balancer."""

    def __init__(self, settings: Settings, shared: SharedApp | None) -> None:
        """Without an App to share, as in tests of the transport, only the drain counts."""
        self._settings = settings
        self._shared = shared
        self._checked_at = -CHECK_EVERY_S
        self._is_checking = False
        self._sandbox_runs = False
        self.is_draining = False

    @property
    def app(self) -> App | None:
        """The App if it is open now."""
        return self._shared.current if self._shared else None

    async def answer(self, _request: Request) -> JSONResponse:
        """200, or 503 with the parts that keep this server from serving; nothing that a stranger must not know."""
        reasons = ["draining"] * self.is_draining
        if self._shared is not None:
            try:
                app = await self._shared.get()
                reasons += await self._find_problems(app, self._shared)
            except (AlitaError, RuntimeError, OSError):  # its opening failed, which was logged
                reasons.append("library")
        status = {"status": "not ready", "reasons": reasons} if reasons else {"status": "ready"}
        return JSONResponse(status, 503 if reasons else 200)

    async def _find_problems(self, app: App, shared: SharedApp) -> list[str]:
        if not self._is_checking and anyio.current_time() - self._checked_at >= CHECK_EVERY_S:
            self._is_checking = True
            shared.tasks.start_soon(self._check_sandbox, app)
        return [] if self._sandbox_runs else ["sandbox"]

    async def _check_sandbox(self, app: App) -> None:
        """Runs one line of code; while that waits, the last verdict stands: a full sandbox is none that fails."""
        try:
            self._sandbox_runs = (await app.sandbox.run(CHECK)).ok
        except SandboxBusy:
            self._sandbox_runs = True
        except SandboxError as failure:
            if self._sandbox_runs or self._checked_at < 0:
                log.warning("not ready: %s", failure)
            self._sandbox_runs = False
        finally:
            self._checked_at, self._is_checking = anyio.current_time(), False

    async def drain(self, requests: OpenRequests, end_listening: Callable[[], None]) -> None:
        """Leaves the balancer without a lost call; `end_listening` ends streams that would never end by themselves."""
        grace_s, limit_s = self._settings.drain_grace_s, self._settings.drain_limit_s
        # 1. Not ready: the balancer notices, and what it still sends, or has sent to the listener's queue, is served.
        self.is_draining = requests.ends_connections = True
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
