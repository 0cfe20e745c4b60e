"""Routes of the HTTP API, over the App of `/mcp`; every response is JSON or events."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from alita_mcp.errors import AlitaError
from alita_mcp.server.api.openapi import description
from alita_mcp.server.api.problems import Refusal, refusal_of
from alita_mcp.server.api.tasks import TaskEndpoints

if TYPE_CHECKING:
    from alita_mcp.server.opening import SharedApp


class Operation(NamedTuple):
    """Handler of one method of a path, and its description."""

    handle: Callable[[Request], Awaitable[ASGIApp]]
    query: tuple[str, ...] = ()
    """Names of the parameters that its query may have."""


log = logging.getLogger(__name__)


def api_routes(shared: SharedApp, *, needs_token: bool) -> list[Route]:
    """Routes over an App; who may reach them is the HTTP server's to decide."""
    tasks = TaskEndpoints(shared)
    document = description(needs_token=needs_token)

    async def openapi(_request: Request) -> Response:
        return Response(document, media_type="application/json")

    async def unknown(request: Request) -> Response:
        raise Refusal(404, "not_found", f"There is no {request.url.path!r}.", "See /api/openapi.json.")

    every = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"), Operation(unknown))
    endpoints: dict[str, Mapping[str, Operation]] = {
        "/api/tasks": {
            "GET": Operation(tasks.recent, ("limit",)),
            "POST": Operation(tasks.create, ("wait",)),
        },
        "/api/tasks/{id}": {"GET": Operation(tasks.show), "DELETE": Operation(tasks.stop)},
        "/api/tasks/{id}/events": {"GET": Operation(tasks.follow, ("after",))},
        "/api/openapi.json": {"GET": Operation(openapi)},
        "/api/{rest:path}": every,
    }
    return [Route(path, endpoint=Endpoint(operations)) for path, operations in endpoints.items()]


class Endpoint:
    """ASGI application that serves one path by method; whatever fails leaves as a problem without internals."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        response = await self._response(Request(scope, receive))
        await response(scope, receive, send)

    async def _response(self, request: Request) -> ASGIApp:
        try:
            return await self._operation(request).handle(request)
        except Refusal as refused:
            return refused.response()
        except AlitaError as failure:
            return refusal_of(failure).response()
        except Exception:
            number = secrets.token_hex(4)
            log.exception("internal error %s", number)
            return Refusal(500, "internal", f"Internal error (id {number}).", "See the log.").response()

    def _operation(self, request: Request) -> Operation:
        operation = self._operations.get(request.method)
        if operation is None:
            allowed = {"allow": ", ".join(self._operations)}
            raise Refusal(405, "method_not_allowed", f"{request.method} is not for this path.", "", allowed)
        names = [name for name, _ in request.query_params.multi_items()]
        if len(names) > len({*names}) or {*names} - {*operation.query}:
            known = ", ".join(operation.query) or "none"
            raise Refusal(422, "invalid", f"The query may have each of these once: {known}.")
        return operation
