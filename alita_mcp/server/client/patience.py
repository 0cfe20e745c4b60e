"""Estimate of how long clients wait: whether a call that ended without its result timed out or was stopped.

A time-out ends the waiting, so the work goes on and the same request finds it; who stops a call stops the work.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params

from alita_mcp.server.client.client_identity import client_of, connection_of, subject_of

if TYPE_CHECKING:
    from alita_mcp.server.context import Context

NO_TIMEOUT_WITHIN_S = 4.0
"""No client's time-out is shorter: the shortest in the field is 5 s. Counts where a client does not say why it left."""
REASON_WITHIN_S = 0.1
"""How long after a cancellation the notification that caused it is read; they arrive together."""
SHARE = 0.6
"""Of the time after which a client was seen to give up, the part within which it is answered from then on."""
SHORTEST_S = 0.5
LEAST_S = 0.1
MAX_CLIENTS = 256
_PATIENT = {"synthesize_tool", "run_code", "solve_task"}
_OF_TIME = re.compile(r"time[ds]?[ _-]?out|deadline", re.IGNORECASE)
"""As in `timed out after 5.0s` (Python SDK), `Request timed out` (TypeScript), `context deadline exceeded` (Go)."""

Clock = Callable[[], float]


@dataclass(eq=False)
class _OpenCall:
    """A call of such a tool that has no result yet."""

    client: str
    channel: object
    """What carries its connection; the notification that cancels it comes over the same."""
    request_id: str
    begun: float
    job: str = ""
    cancelled: anyio.Event = field(default_factory=anyio.Event)
    reason: str = ""


class Patience:
    """The open calls of one server, and how long its clients were seen to wait."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._open: dict[object, _OpenCall] = {}
        self._seen: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    async def middleware(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Times each call of a tool whose calls are jobs from its arrival, and hears why it is cancelled."""
        if ctx.method == "notifications/cancelled":
            self._hear(ctx)
        if ctx.method != "tools/call" or (ctx.params or {}).get("name") not in _PATIENT:
            return await call_next(ctx)
        channel = connection_of(ctx).outbound
        self._open[ctx.session] = _OpenCall(_client(ctx), channel, str(ctx.request_id), self._clock())
        try:
            return await call_next(ctx)
        finally:
            del self._open[ctx.session]

    def waits_for(self, ctx: Context, job: str) -> None:
        """Notes which job a call waits for. A client that asks for it twice gave up the first call without a word."""
        call = self._open.get(ctx.session)
        if call is None:
            return
        for earlier in self._open.values():
            waited = self._clock() - earlier.begun
            if (earlier.client, earlier.job) == (call.client, job) and waited >= NO_TIMEOUT_WITHIN_S:
                earlier.job = ""
                self._gave_up(call.client, waited)
        call.job = job

    def within(self, ctx: Context, usual_s: float) -> float:
        """Seconds from now within which a call is to have its result: sooner than its client was seen to give up."""
        call = self._open.get(ctx.session)
        seen = self._seen.get(_client(ctx))
        if call is None or seen is None:
            return usual_s
        return min(usual_s, max(LEAST_S, SHARE * seen - (self._clock() - call.begun)))

    async def goes_on(self, ctx: Context) -> bool:
        """Whether the work outlives a call that was cancelled; to be asked in a shielded scope.

        It does after a time-out: the client says so, or it leaves without a word (a closed stream, an ended session)
        when it has waited for longer than anybody needs to change their mind.
        """
        call = self._open.get(ctx.session)
        if call is None:
            return False
        waited = self._clock() - call.begun
        with anyio.move_on_after(REASON_WITHIN_S):
            await call.cancelled.wait()
        timed_out = (
            _OF_TIME.search(call.reason) is not None
            if call.cancelled.is_set()
            else waited >= NO_TIMEOUT_WITHIN_S
        )
        if timed_out:
            self._gave_up(call.client, waited)
        return timed_out

    def _hear(self, ctx: Context) -> None:
        request_id = cancelled_request_id_from_params(ctx.params)
        channel = connection_of(ctx).outbound
        for call in self._open.values():
            if call.channel is channel and call.request_id == str(request_id):
                reason = (ctx.params or {}).get("reason")
                call.reason = reason[:1_000] if isinstance(reason, str) else ""
                call.cancelled.set()

    def _gave_up(self, client: str, after_s: float) -> None:
        """Remembers the shortest wait; a client that gives up again did so at a result that was still too late."""
        known = self._seen.pop(client, None)
        shorter = after_s if known is None else min(after_s, SHARE * known)
        self._seen[client] = max(SHORTEST_S, shorter)
        if len(self._seen) > MAX_CLIENTS:
            self._seen.popitem(last=False)


def _client(ctx: Context) -> str:
    """Connections may last for one request only, so a client is known by its authenticated name and its own words."""
    return f"{subject_of(ctx)} {client_of(ctx)}"
