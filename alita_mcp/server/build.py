"""Assembly of the MCP server that all transports serve, one for both protocol eras."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from alita_mcp import __version__
from alita_mcp.server.client.announcer import Announcer, subscribe, unsubscribe
from alita_mcp.server.instructions import instructions
from alita_mcp.server.results.failures import error_result
from alita_mcp.server.shared_app import OpenApp, SharedApp
from alita_mcp.server.tasks import Tasks
from alita_mcp.settings import wants_traces
from alita_mcp.tracing import start_tracing, trace_work

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.context import Context
    from alita_mcp.server.parts import Parts
    from alita_mcp.server.sources import ToolSource
    from alita_mcp.settings import Settings

SERVER_NAME = "alita"
_LISTS: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list")

P = TypeVar("P")
R = TypeVar("R")


class DualEraServer(Server[Any]):
    """Server whose legacy `initialize` says `listChanged: true`, without which many clients never look again.

    The HTTP session manager asks for the options without arguments, so this is the only public seam.
    """

    shared: SharedApp
    """The App that its methods work on; routes beside `/mcp` use the same."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """The options of the SDK, with both lists announced as changing."""
        both = NotificationOptions(tools_changed=True, resources_changed=True)
        return super().create_initialization_options(
            notification_options or both, experimental_capabilities, extensions
        )


def build_server(
    settings: Settings,
    *,
    open_app: OpenApp | None = None,
    extra_sources: Sequence[ToolSource] = (),
    state_key: str | None = None,
) -> DualEraServer:
    """A server over one App, which it opens by itself behind its first response.

    `open_app` replaces the App that `settings` describe; the extra sources are served after the library's own.
    `state_key` seals the state that clients carry from one request to the next; without one, no other server reads it.
    """
    loading = anyio.Lock()
    parts: Parts | None = None

    def load_parts() -> Parts:
        nonlocal parts
        from alita_mcp.server.parts import Parts

        parts = parts or Parts(shared, tasks, announcer, settings, extra_sources)
        return parts

    async def get_parts() -> Parts:
        """The parts behind the methods; the first request loads them in a thread, so that no greeting waits."""
        if parts is None:
            async with loading:
                await _import_in_thread("alita_mcp.server.parts")
        return parts or load_parts()

    @asynccontextmanager
    async def open_real_app() -> AsyncIterator[App]:
        await get_parts()  # first: two threads that import the same modules could wait for each other
        await _import_in_thread("alita_mcp.app")
        from alita_mcp.app import open_app
        from alita_mcp.server.tools.admission import admit

        async with open_app(settings, admit=admit, serves=True) as app:
            if wants_traces():
                app.activity.surround = trace_work
            yield app

    announcer = Announcer()
    shared = SharedApp(open_app or open_real_app, announcer)
    tasks = Tasks(lambda: shared.tasks, error_result)

    def late(
        method: Callable[[Parts], Callable[[Context, P], Awaitable[R]]],
    ) -> Callable[[Context, P], Awaitable[R]]:
        """A handler that passes each request to a method of the parts."""

        async def handler(ctx: Context, params: P) -> R:
            return await method(parts or await get_parts())(ctx, params)

        return handler

    def input_schema(name: str) -> Mapping[str, Any] | None:
        return (parts or load_parts()).tools.input_schema(name)

    async def set_level(_ctx: Context, _params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Old clients ask for protocol logging; ours goes to stderr whatever they say."""
        return types.EmptyResult()

    server = DualEraServer(
        SERVER_NAME,
        version=__version__,
        title="alita",
        instructions=instructions(settings.home),
        lifespan=shared.lifespan,
        cache_hints=dict.fromkeys(_LISTS, CacheHint(ttl_ms=0, scope="private")),
        get_tool_input_schema=input_schema,
        on_list_tools=late(lambda loaded: loaded.tools.list_tools),
        on_list_resources=late(lambda loaded: loaded.resources.list_resources),
        on_list_resource_templates=late(lambda loaded: loaded.resources.list_templates),
        on_read_resource=late(lambda loaded: loaded.resources.read_resource),
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=announcer,
    )
    server.shared = shared
    call_tool = late(lambda loaded: loaded.tools.call_tool)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)

    async def resume(ctx: Context, task_id: str) -> None:
        await (parts or await get_parts()).tools.resume_task(ctx, task_id)

    tasks.install(server, resume)
    security = RequestStateSecurity(keys=[state_key]) if state_key else RequestStateSecurity.ephemeral()
    sealing = RequestStateBoundary(security, default_audience=SERVER_NAME)
    if wants_traces():
        start_tracing(__version__)
    # Without an exporter the SDK's own one goes, which makes a span of every message.
    tracing = server.middleware if wants_traces() else []
    server.middleware[:] = [*tracing, shared.middleware, shared.timeouts.middleware, sealing]
    return server


async def _import_in_thread(module: str) -> None:
    if module not in sys.modules:
        await anyio.to_thread.run_sync(importlib.import_module, module)
