"""Assembly of the MCP server that all transports serve, one for both protocol eras."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from alita_mcp import __version__
from alita_mcp.server.client.announce import Announcer, subscribe, unsubscribe
from alita_mcp.server.instructions import INSTRUCTIONS
from alita_mcp.server.results.failures import protocol_errors, result_or_error
from alita_mcp.server.shared_app import OpenApp, SharedApp
from alita_mcp.server.tasks import Tasks

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.context import Context
    from alita_mcp.server.parts import Parts
    from alita_mcp.server.sources import ResourceSource, ToolSource
    from alita_mcp.settings import Settings

SERVER_NAME = "alita"
PAGE_SIZE = 100
_LISTS: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list")
_FRESH = CacheHint(ttl_ms=0, scope="private")
_PARTS = "alita_mcp.server.parts"

P = TypeVar("P")
R = TypeVar("R")


class _LateParts:
    """The parts behind the methods, imported in a thread when the first request needs one."""

    def __init__(self, build: Callable[[], Parts]) -> None:
        self._build = build
        self._parts: Parts | None = None
        self._loading = anyio.Lock()

    async def get(self) -> Parts:
        """The parts; loads them without holding up the loop."""
        async with self._loading:
            await _load(_PARTS)
        return self.now()

    def now(self) -> Parts:
        """The parts; loads them at once where no request has needed them yet."""
        if self._parts is None:
            self._parts = self._build()
        return self._parts

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """See `Dispatcher.input_schema`."""
        return self.now().tools.input_schema(name)

    def method(
        self, chosen: Callable[[Parts], Callable[[Context, P], Awaitable[R]]]
    ) -> Callable[[Context, P], Awaitable[R]]:
        """A handler that passes each request to a method of the parts."""

        async def handler(ctx: Context, params: P) -> R:
            return await chosen(self._parts or await self.get())(ctx, params)

        return handler


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
        every = NotificationOptions(tools_changed=True, resources_changed=True)
        return super().create_initialization_options(
            notification_options or every, experimental_capabilities, extensions
        )


def build_server(
    settings: Settings,
    *,
    open_app: OpenApp | None = None,
    extra_sources: Sequence[ToolSource] = (),
    extra_resources: Sequence[ResourceSource] = (),
    page_size: int = PAGE_SIZE,
) -> DualEraServer:
    """A server over one App, which it opens by itself behind its first response.

    `open_app` replaces the App that `settings` describe; the extra sources are served after the library's own.
    """
    announcer = Announcer()

    def parts() -> Parts:
        from alita_mcp.server.parts import build_parts

        return build_parts(
            shared, tasks, announcer, settings=settings, extra_sources=extra_sources,
            extra_resources=extra_resources, page_size=page_size,
        )  # fmt: skip

    late = _LateParts(parts)
    shared = SharedApp(open_app or partial(_open_app, settings, late), announcer)
    tasks = Tasks(lambda: shared.tasks, result_or_error)
    server = _serving(shared, announcer, late)
    tasks.install(server)
    sealing = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=SERVER_NAME)
    server.middleware += [
        shared.middleware, shared.patience.middleware, protocol_errors, sealing
    ]  # fmt: skip
    return server


def _serving(shared: SharedApp, announcer: Announcer, parts: _LateParts) -> DualEraServer:
    """The SDK's server with every method handled by one of our parts."""
    server = DualEraServer(
        SERVER_NAME,
        version=__version__,
        title="alita",
        instructions=INSTRUCTIONS,
        lifespan=shared.lifespan,
        cache_hints=dict.fromkeys(_LISTS, _FRESH),
        get_tool_input_schema=parts.input_schema,
        on_list_tools=parts.method(lambda late: late.tools.list),
        on_list_resources=parts.method(lambda late: late.resources.list),
        on_list_resource_templates=parts.method(lambda late: late.resources.list_templates),
        on_read_resource=parts.method(lambda late: late.resources.read),
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=announcer.listen,
    )
    server.shared = shared
    call = parts.method(lambda late: late.tools.call)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
    return server


@asynccontextmanager
async def _open_app(settings: Settings, late: _LateParts) -> AsyncIterator[App]:
    """The real App; its imports happen in a thread, after those of the parts: two that load the same would tie up."""
    await late.get()
    await _load("alita_mcp.app")
    from alita_mcp.app import open_app
    from alita_mcp.server.tools.admission import admit

    async with open_app(settings, admit=admit, serves=True) as app:
        yield app


async def _load(module: str) -> None:
    """Imports a module in a thread, unless it is there."""
    if module not in sys.modules:
        await anyio.to_thread.run_sync(importlib.import_module, module)


async def _set_level(_ctx: Context, _params: types.SetLevelRequestParams) -> types.EmptyResult:
    """Old clients ask for protocol logging; ours goes to stderr whatever they say."""
    return types.EmptyResult()
