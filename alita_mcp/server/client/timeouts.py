"""Time-outs of clients: whether a call that ended without its result timed out.

After a time-out the work goes on and the same request finds it; whoever stops a call stops the work.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params

from alita_mcp.server.client.identity import connection_of

if TYPE_CHECKING:
    from alita_mcp.server.context import Context
    from alita_mcp.toolsmith.jobs.jobs import Job

NO_TIMEOUT_WITHIN_S = 4.0
"""No client's time-out is shorter: the shortest in the field is 5 s.

Counts where a client does not say why it left, and as the wait of the next call for a job that a client timed out on.
"""
REASON_WITHIN_S = 0.1
"""How long after a cancellation the notification that caused it is read; they arrive together."""
_JOB_TOOLS = {"synthesize_tool", "run_code", "solve_task"}
_TIMEOUT = re.compile(r"time[ds]?[ _-]?out|deadline", re.IGNORECASE)
"""As in `timed out after 5.0s` (Python SDK), `Request timed out` (TypeScript), `context deadline exceeded` (Go)."""


@dataclass(eq=False)
class _OpenCall:
    """A call of a tool whose calls are jobs, without a result yet."""

    channel: object
    """What carries its connection; the notification that cancels it comes over the same."""
    request_id: str
    started: float
    cancelled: anyio.Event = field(default_factory=anyio.Event)
    reason: str = ""


class ClientTimeouts:
    """The open calls of one server whose work is a job."""

    def __init__(self) -> None:
        self._open: dict[object, _OpenCall] = {}

    async def middleware(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Times each call whose work is a job from its arrival, and notes why it is cancelled."""
        params = ctx.params or {}
        if ctx.method == "notifications/cancelled":
            request_id, reason = cancelled_request_id_from_params(params), params.get("reason")
            for call in self._open.values():
                if call.channel is connection_of(ctx).outbound and call.request_id == str(request_id):
                    call.reason = reason[:1_000] if isinstance(reason, str) else ""
                    call.cancelled.set()
        if ctx.method != "tools/call" or params.get("name") not in _JOB_TOOLS:
            return await call_next(ctx)
        channel = connection_of(ctx).outbound
        self._open[ctx.session] = _OpenCall(channel, str(ctx.request_id), time.monotonic())
        try:
            return await call_next(ctx)
        finally:
            del self._open[ctx.session]

    async def has_timed_out(self, ctx: Context, job: Job[Any]) -> bool:
        """Whether a cancelled call timed out, so that its job goes on; to be asked in a shielded scope."""
        call = self._open.get(ctx.session)
        if call is None:
            return False
        waited = time.monotonic() - call.started
        with anyio.move_on_after(REASON_WITHIN_S):
            await call.cancelled.wait()
        # 1. The client said why it cancels: a reason that speaks of time is a time-out, any other stops the work.
        # 2. It left without a word (a closed stream, an ended session): after a few seconds that was its time-out;
        #    nobody needs longer to change their mind.
        if call.cancelled.is_set():
            timed_out = _TIMEOUT.search(call.reason) is not None
        else:
            timed_out = waited >= NO_TIMEOUT_WITHIN_S
        job.has_timed_out = job.has_timed_out or timed_out
        return timed_out
