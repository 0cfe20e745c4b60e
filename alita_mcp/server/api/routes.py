"""Routes of the HTTP API, over the App of `/mcp`; every response is JSON or events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router

from alita_mcp.server.api.problems import Refusal, problem_response
from alita_mcp.server.api.tasks import TaskEndpoints

if TYPE_CHECKING:
    from alita_mcp.server.shared_app import SharedApp

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
Handler = Callable[[Request], Awaitable[Response]]


def api_routes(shared: SharedApp) -> list[Mount]:
    """Routes over an App; who may reach them is the HTTP server's to decide."""
    tasks = TaskEndpoints(shared)
    handlers: dict[str, dict[str, Handler]] = {
        "/tasks": {"POST": tasks.run_task},
        "/tasks/{id}": {"GET": tasks.show_task, "DELETE": tasks.stop_task},
    }
    routes = [Route(path, partial(_dispatch, each), methods=METHODS) for path, each in handlers.items()]
    router = Router(routes, redirect_slashes=False)
    return [
        Mount(
            "/api",
            ExceptionMiddleware(router, handlers=dict.fromkeys((HTTPException, Exception), problem_response)),
        )
    ]


async def _dispatch(handlers: Mapping[str, Handler], request: Request) -> Response:
    if request.method not in handlers:
        allowed = {"allow": ", ".join(handlers)}
        raise Refusal(
            405, "method_not_allowed", f"{request.method} is not allowed for this path.", "", allowed
        )
    return await handlers[request.method](request)
