"""Refusals of the HTTP server: one body for every status that is not a success."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from alita_mcp.errors import AlitaError, InsufficientScope, SandboxBusy, TooMany, UsageError
from alita_mcp.machine import edge_error
from alita_mcp.server.results.building import printable
from alita_mcp.server.results.failures import log_defect

MAX_MESSAGE = 1_000
RETRY_AFTER_S = 5


class Refusal(Exception):
    """A request that is not served; `code` is one word for programs, people read the message and the hint."""

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.problem = {
            "code": code,
            "message": printable(message, MAX_MESSAGE),
            "hint": printable(hint, MAX_MESSAGE),
        }

    def response(self) -> Response:
        """The refusal as a response that no cache keeps."""
        headers = {"cache-control": "no-store", **self.headers}
        return JSONResponse({"error": self.problem}, self.status, headers)


async def problem_response(request: Request, raised: Exception) -> Response:
    """The response for whatever a handler raised; nothing internal leaves the server."""
    # 1. The request: refused by us, or by the router (no such path or method).
    # 2. One of our errors: 422 is the sender's, 429 and 503 may pass.
    # 3. A defect: a number, which the server's log explains.
    failure = edge_error(raised)
    match failure:
        case Refusal():
            refusal = failure
        case HTTPException(status_code=405):
            problem = f"{request.method} is not allowed for this path."
            refusal = Refusal(405, "method_not_allowed", problem, "", failure.headers)
        case HTTPException():
            problem = f"There is no {request.url.path!r}."
            refusal = Refusal(404, "not_found", problem, "Tasks are posted to /api/tasks.")
        case TooMany() | SandboxBusy():
            seconds = getattr(failure, "retry_after_s", RETRY_AFTER_S)
            refusal = Refusal(429, "busy", failure.message, failure.hint, {"retry-after": str(seconds)})
        case InsufficientScope():
            refusal = Refusal(403, "insufficient_scope", failure.message, failure.hint)
        case UsageError():
            refusal = Refusal(422, "invalid", failure.message, failure.hint)
        case AlitaError():
            refusal = Refusal(503, "unavailable", failure.message, failure.hint)
        case _:
            problem = f"Internal error (id {log_defect(failure)})."
            refusal = Refusal(500, "internal", problem, "See the server's log.")
    return refusal.response()
