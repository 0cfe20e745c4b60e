"""Problem responses of the HTTP API: one body for every status that is no success."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from alita_mcp.errors import AlitaError, SandboxBusy, ToolNotFound, ToolUnavailable, TooMany, UsageError
from alita_mcp.server.api.values import Problem, Problems
from alita_mcp.server.results.building import printable
from alita_mcp.values import Value

MAX_MESSAGE = 1_000
RETRY_AFTER_S = "5"


class Refusal(Exception):
    """A request that is not served; what is said is for its sender."""

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """The refusal as it travels."""
        told = Problem(
            code=self.code,
            message=printable(self.message, MAX_MESSAGE),
            hint=printable(self.hint, MAX_MESSAGE),
        )
        return json_response(Problems(error=told), self.status, self.headers)


def json_response(value: Value, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as a response that no cache keeps."""
    return Response(
        value.model_dump_json(),
        status,
        media_type="application/json",
        headers={"cache-control": "no-store", **(headers or {})},
    )


def refusal_of(failure: AlitaError) -> Refusal:
    """One of our errors as a status: 404, 409 and 422 are the sender's, 429 and 503 may pass."""
    if isinstance(failure, ToolNotFound):
        return Refusal(404, "not_found", failure.message, failure.hint)
    if isinstance(failure, TooMany | SandboxBusy):
        return Refusal(429, "busy", failure.message, failure.hint, {"retry-after": RETRY_AFTER_S})
    if isinstance(failure, UsageError):
        return Refusal(422, "invalid", failure.message, failure.hint)
    if isinstance(failure, ToolUnavailable):
        return Refusal(409, "conflict", failure.message, failure.hint)
    return Refusal(503, "unavailable", failure.message, failure.hint)


def is_api(path: str) -> bool:
    """Whether a path is one of the API's, all of whose refusals have one form."""
    return path.startswith("/api/")
