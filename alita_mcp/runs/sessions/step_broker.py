"""Broker of a session: hands each step to the program inside and takes back its outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from anyio.abc import ByteStream
from pydantic import ConfigDict, ValidationError

from alita_mcp.runs.execution import LIMITS
from alita_mcp.sandbox.interface import Broker, EgressPolicy
from alita_mcp.sandbox.network.egress_policies import NoHosts
from alita_mcp.sandbox.runner.tool.grants import lacks
from alita_mcp.values import Value

NEXT_STEP = "session.next"
BROKEN = "a step broke the program that runs it"
MAX_OUTCOME = LIMITS.result_bytes + (1 << 20)
"""Characters: the result, and what was printed."""
MAX_QUESTIONS = 10_000
"""So often may one step ask at other services, whose brokers have tighter bounds of their own."""
PENALTY_SECONDS = 0.1
"""How long a question over that waits for its refusal, so that a program that goes on asking costs little."""


class StepReport(Value):
    """Report of the program inside: the outcome of the last step, or a piece of it."""

    model_config = ConfigDict(strict=True)

    piece: str
    more: bool


class StepBroker:
    """Broker of one session; other requests go to the broker of the step that runs."""

    def __init__(self, idle_seconds: float, end: Callable[[str], None], *, has_hosts: bool = False) -> None:
        """`end` ends the session and gets the reason; `has_hosts`: steps may have an egress policy."""
        self.egress_policy: EgressPolicy | None = StepEgressPolicy(self) if has_hosts else None
        self.inner: Broker | None = None
        """Of the step that runs."""
        self._idle_seconds = idle_seconds
        self._end = end
        self._order: dict[str, Any] = {}
        self._ordered = anyio.Event()
        self._outcome: str | None = None
        self._reported = anyio.Event()
        self._pieces: list[str] = []
        self._waits = False
        """Whether the program inside waits for its next step."""
        self._asked = 0

    async def wait_until_ready(self) -> None:
        """Waits until the program inside asks for its first step, or has ended."""
        await self._reported.wait()

    async def outcome_of(self, order: dict[str, Any], inner: Broker | None) -> str | None:
        """What the program inside reports of a step; None when it ended before."""
        self._outcome, self._reported, self._asked = None, anyio.Event(), 0
        self._order, self.inner = order, inner
        self._ordered.set()
        try:
            await self._reported.wait()
        finally:
            self.inner = None
        return self._outcome

    def close(self) -> None:
        """The program inside has ended: nothing waits for it any more."""
        self._reported.set()

    async def answer(self, service: str, words: dict[str, Any]) -> Any:
        """The value of a request; the next step, once there is one."""
        # Case 1: a request of the step itself goes to the broker behind.
        if service != NEXT_STEP:
            self._asked += 1
            if self._asked > MAX_QUESTIONS:
                await anyio.sleep(PENALTY_SECONDS)
                raise RuntimeError(f"asked more than {MAX_QUESTIONS} times in one step (broker_calls)")
            if self.inner is None:
                raise PermissionError(lacks(service))
            return await self.inner.answer(service, words)
        # Case 2: a piece of the last step's outcome, and after the last piece the wait for the next step.
        try:
            report = StepReport.model_validate(words)
        except ValidationError:
            return self._end(BROKEN)
        self._pieces.append(report.piece)
        if self._waits or sum(map(len, self._pieces)) > MAX_OUTCOME:
            return self._end(BROKEN)
        if report.more:
            return None
        self._outcome, self._pieces, self._waits = "".join(self._pieces), [], True
        self._ordered = anyio.Event()
        self._reported.set()
        with anyio.move_on_after(self._idle_seconds):
            await self._ordered.wait()
            self._waits = False
            return self._order
        self._end(f"no step came for {self._idle_seconds:g} s")
        return None


class StepEgressPolicy:
    """Egress policy of the step that runs."""

    def __init__(self, steps: StepBroker) -> None:
        self._steps = steps

    async def open(self, host: str, port: int) -> ByteStream:
        """A connection; see `EgressPolicy`."""
        policy = self._steps.inner.egress_policy if self._steps.inner else None
        return await (policy or NoHosts()).open(host, port)
