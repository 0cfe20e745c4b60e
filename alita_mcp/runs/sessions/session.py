"""Session of steps that run in one long call, in a worker of its own.

The program inside asks for its next step as a tool asks its broker, and reports the last one with the same
request. So a session works in every sandbox, within the same limits as a call.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

import anyio
from anyio.abc import TaskGroup
from pydantic import Field

from alita_mcp.errors import AlitaError, InvalidArguments, SandboxBusy, SandboxError, UsageError
from alita_mcp.event_loop import LARGE_BYTES, off_loop
from alita_mcp.runs.code_run import CodeRequest, CodeRun
from alita_mcp.runs.execution import LIMITS, code_run
from alita_mcp.runs.program import SESSION, program
from alita_mcp.runs.sessions.step_broker import BROKEN, NEXT_STEP, StepBroker
from alita_mcp.runs.tool_broker import RedactingBroker
from alita_mcp.sandbox.interface import Environment, Job, RunResult, Sandbox
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.values import Grants, Limits

MAX_QUEUED = 8
"""So many steps of one session may wait for one that runs."""
MAX_ORDER_BYTES = 1_000_000
"""What fits in one answer to the program inside."""
_FRESH = "its variables are gone. Calling again with this name starts a fresh one."

_log = logging.getLogger(__name__)


class SessionLimits(Limits):
    """Limits of a whole session, which is longer than any call of a tool."""

    wall_seconds: float = Field(default=3600.0, gt=0, le=3600)
    cpu_seconds: float = 600.0
    broker_calls: int = 1_000_000


class Place(NamedTuple):
    """Sandbox and environment of a session."""

    sandbox: Sandbox
    environment: Environment | None = None


class Patience(NamedTuple):
    """Timeouts of a session."""

    idle_seconds: float = 600.0
    """For the next step."""
    step_seconds: float = LIMITS.wall_seconds
    """For the end of one."""


class Session:
    """Session that runs its steps in the order of their arrival, until the worker ends or is ended."""

    def __init__(
        self, request: CodeRequest, tasks: TaskGroup, patience: Patience, on_end: Callable[[str], None]
    ) -> None:
        """`on_end` gets the reason, once; an empty one where nothing was lost or a step's own answer says it."""
        self._name = request.session
        self._packages, self._grants = request.packages, request.grants
        self._tasks, self._patience, self._on_end = tasks, patience, on_end
        self._scope = anyio.CancelScope()
        self._lock = anyio.Lock()
        self._queued = 0
        self._steps = 0
        self._runs = False
        self._over = ""
        """Why it ended."""
        self._status = ""
        self._failure: SandboxError | None = None
        self._step_broker: StepBroker | None = None
        self._broker: RedactingBroker | None = None
        """Of the last step; all of them have the same rights."""
        self._kind = ""

    @property
    def busy(self) -> bool:
        """Whether a step runs or waits."""
        return self._queued > 0

    def check(self, request: CodeRequest) -> None:
        """Refuses a step with other packages or rights than the first one.

        Raises:
            InvalidArguments: other packages or rights, or more than a step may hold.
        """
        other = [package for package in request.packages if package not in self._packages]
        if other:
            raise InvalidArguments(
                f"The session {self._name!r} began without {', '.join(other)}: its first step sets the packages.",
                hint="Name all packages in the first step of a new session.",
            )
        if request.grants != self._grants:
            raise InvalidArguments(
                f"The session {self._name!r} began with other rights: all its steps have the same `needs`.",
                hint="Start a new session, with another name.",
            )
        order = {"code": request.code, "arguments": request.arguments}
        if (size := len(json.dumps(order))) > MAX_ORDER_BYTES:
            raise InvalidArguments(
                f"The step has {size:,} bytes, the limit is {MAX_ORDER_BYTES:,}.",
                hint="Send the arguments in several steps.",
            )

    async def run_step(
        self, request: CodeRequest, find_place: Callable[[], Awaitable[Place]], broker: RedactingBroker | None
    ) -> CodeRun:
        """Runs one step once those before it have ended. Cancelling it ends the session.

        The first step finds the place of the session. `broker` answers all requests but the session's own.

        Raises:
            SandboxBusy: too many steps wait.
            UsageError: the session ended meanwhile.
            SandboxError: the sandbox failed, not the code.
        """
        if self._queued > MAX_QUEUED:
            raise SandboxBusy(f"{MAX_QUEUED} steps of the session {self._name!r} are waiting already.")
        self._queued += 1
        try:
            async with self._lock:
                if self._over:
                    raise session_ended(self._name, self._over)
                order = {"code": request.code, "arguments": request.arguments}
                return await self._run_alone(order, find_place, broker)
        finally:
            self._queued -= 1

    def end(self, why: str, status: str = "crashed", *, is_reported: bool = False) -> None:
        """Kills the worker unless that was done before; `is_reported`: the answer to a step says so."""
        if not self._over:
            self._over, self._status = why, status
            self._scope.cancel()
            if self._step_broker is not None:
                self._step_broker.close()
            self._on_end("" if is_reported or self._runs or not self._steps else why)

    async def _run_alone(
        self,
        order: dict[str, Any],
        find_place: Callable[[], Awaitable[Place]],
        broker: RedactingBroker | None,
    ) -> CodeRun:
        try:
            step_broker = self._step_broker or await self._start_worker(await find_place())
            self._steps += 1
            self._runs, self._broker = True, broker
            began, outcome = time.monotonic(), None
            with anyio.move_on_after(self._patience.step_seconds) as limit:
                outcome = None if self._over else await step_broker.outcome_of(order, broker)
            if limit.cancelled_caught:
                self.end(f"took more than {self._patience.step_seconds:g} s (wall_seconds)", "timeout")
            seconds = time.monotonic() - began
            # 1. The worker ended with the step. 2. The step ended, and the next one may come.
            if outcome is None or self._over:
                run = self._last_step()
            else:
                self._runs = False
                run = await self._read_outcome(outcome)
            return run.model_copy(update={"seconds": seconds, "step": self._steps})
        except BaseException as problem:
            self._runs = False
            self.end(str(problem) if isinstance(problem, AlitaError) else "a step of it was cancelled")
            raise
        finally:
            self._runs = False

    async def _start_worker(self, place: Place) -> StepBroker:
        """Begins the long call; returns when its program is ready, or has ended."""
        self._kind = place.sandbox.kind
        has_hosts = bool(self._grants.network)
        self._step_broker = StepBroker(self._patience.idle_seconds, self.end, has_hosts=has_hosts)
        # A sandbox passes on no requests of a call without grants.
        grants = Grants(tools=(NEXT_STEP,)) if self._grants.is_pure else self._grants
        job = Job(
            code=f"{program()}# {secrets.token_hex(8)}\n",  # no two share a worker, or a bound on one tool's calls
            function=SESSION,
            arguments={},
            environment=place.environment,
            limits=SessionLimits(),
            grants=grants,
            fresh=True,
        )
        self._tasks.start_soon(self._keep_worker, place.sandbox, job, self._step_broker)
        await self._step_broker.wait_until_ready()
        return self._step_broker

    async def _keep_worker(self, sandbox: Sandbox, job: Job, broker: StepBroker) -> None:
        """Makes the long call, which lasts as long as the session."""
        try:
            with self._scope:
                result = await sandbox.run(job, broker)
                result = self._broker.redact_result(result) if self._broker else result
                why = ": ".join(filter(None, (result.error_type, result.message))) or "its program ended"
                self.end(why, "crashed" if result.ok else result.status)
        except SandboxError as problem:
            self._failure = problem
            self.end(problem.message)
        except Exception as problem:  # noqa: BLE001 - the edge of a task that no step may end the server with
            _log.exception("A session ended unexpectedly.")
            self._failure = SandboxError(f"The host failed with {type(problem).__name__}.")
            self.end(self._failure.message)
        finally:
            self.end("the server ended")

    async def _read_outcome(self, outcome: str) -> CodeRun:
        """The run that the program inside reports of a step; it is not trusted."""
        data, broker = outcome.encode(), self._broker
        is_large = len(data) > LARGE_BYTES
        try:
            report = await off_loop(partial(decode_strict, data), large=is_large)
        except NotJson as problem:
            return code_run(RunResult(status="bad_result", message=str(problem)), self._kind)
        match report:
            case {"value": dict(value), "stdout": str(out), "stderr": str(err)}:
                kept = LIMITS.output_bytes + 100  # its end may say how much more was printed
                result = RunResult(status="ok", value=value, stdout=out[:kept], stderr=err[:kept])
                return await off_loop(
                    lambda: code_run(broker.redact_result(result) if broker else result, self._kind),
                    large=is_large,
                )
        self.end(BROKEN, is_reported=True)
        return self._last_step()

    def _last_step(self) -> CodeRun:
        """The run of a step with which the session ended.

        Raises:
            SandboxError: the sandbox failed.
        """
        words = f"The session {self._name!r} ended with this step, and {_FRESH}"
        if self._failure is not None:
            raise SandboxError(f"{self._failure.message} {words}", hint=self._failure.hint)
        return CodeRun(status=self._status, error=f"{self._over}. {words}", sandbox=self._kind)


def session_ended(name: str, why: str) -> UsageError:
    """Error of a step whose session has ended."""
    return UsageError(f"The session {name!r} has ended: {why}.", hint=f"This step did not run, and {_FRESH}")
