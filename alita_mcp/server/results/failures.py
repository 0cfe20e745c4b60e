"""Error results for clients: our own errors in full, anything else as a number that the server's log explains."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from alita_mcp.errors import AlitaError
from alita_mcp.exception_groups import innermost
from alita_mcp.server.results.building import printable, refusal, tool_result

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult

    from alita_mcp.server.context import Context, ToolResult

log = logging.getLogger(__name__)


async def result_or_error(work: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    """The result of a tool's work, or its failure as a tool error that a model can act on.

    Only `MCPError` and cancellation come out as exceptions.
    """
    try:
        return await work()
    except Exception as raised:  # noqa: BLE001 - the outermost edge of every tool
        failure = innermost(raised)
        if isinstance(failure, MCPError):
            raise failure from None
        if isinstance(failure, AlitaError):
            return refusal(failure)
        number = _logged(failure)
        return tool_result(
            {"status": "failed", "reason": f"internal error {number}", "fix": "Try again."},
            f"Internal error (id {number}). It is in the server's log; the call may be tried again.",
            is_error=True,
        )


async def protocol_errors(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware: every failure outside a tool leaves as a protocol error without internals."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as raised:  # noqa: BLE001 - the outermost edge of every other method
        failure = innermost(raised)
        if isinstance(failure, MCPError):
            raise failure from None
        if isinstance(failure, AlitaError):
            raise MCPError(types.INVALID_PARAMS, printable(str(failure), 1_000)) from None
        raise MCPError(types.INTERNAL_ERROR, f"Internal error (id {_logged(failure)})") from None


def _logged(failure: BaseException) -> str:
    number = secrets.token_hex(4)
    log.error("internal error %s", number, exc_info=failure)
    return number
