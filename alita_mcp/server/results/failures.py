"""Errors for clients: our own in full, anything else as a number that the server's log explains."""

from __future__ import annotations

import logging
import secrets

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from alita_mcp.errors import AlitaError, FileRefused, SandboxUnavailable
from alita_mcp.machine import edge_error
from alita_mcp.server.results.building import printable, refusal, tool_result

log = logging.getLogger(__name__)


def error_result(raised: Exception) -> types.CallToolResult:
    """The failure of a tool as a tool error that a model can act on.

    Raises:
        MCPError: the failure is one.
    """
    failure = edge_error(raised)
    if isinstance(failure, MCPError):
        raise failure from None
    if isinstance(failure, SandboxUnavailable | FileRefused):  # whoever runs the server has to do something
        log.warning("%s", failure)
    if isinstance(failure, AlitaError):
        return refusal(failure)
    number = log_defect(failure)
    return tool_result(
        {"status": "failed", "reason": f"internal error {number}", "fix": "Try again."},
        f"Internal error (id {number}); the server's log has the details. Try the call again.",
        is_error=True,
    )


def protocol_error(raised: Exception) -> Exception:
    """A failure outside a tool as a protocol error without internals; the SDK knows those of its own validation."""
    failure = edge_error(raised)
    if isinstance(failure, MCPError | ValidationError):
        return failure
    if isinstance(failure, AlitaError):
        return MCPError(types.INVALID_PARAMS, printable(str(failure), 1_000))
    return MCPError(types.INTERNAL_ERROR, f"Internal error (id {log_defect(failure)})")


def log_defect(failure: BaseException) -> str:
    """Logs a failure that is not one of ours; returns the number under which the log has it."""
    number = secrets.token_hex(4)
    log.error("internal error %s", number, exc_info=failure)
    return number
