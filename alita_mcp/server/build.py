"""Builds the server that transports serve: settings in, one server for both protocol eras out."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from alita_mcp import __version__
from alita_mcp.server.announce import Announcer, subscribe, unsubscribe
from alita_mcp.server.definitions import INSTRUCTIONS
from alita_mcp.server.dispatcher import Dispatcher
from alita_mcp.server.failures import answered, protocol_errors
from alita_mcp.server.library_tools import LibraryTools
from alita_mcp.server.meta_tools import MetaTools
from alita_mcp.server.opening import OpenApp, SharedApp
from alita_mcp.server.prompts import Completions, LibraryPrompts, Prompts
from alita_mcp.server.resources import LibraryResources, Resources
from alita_mcp.server.tasks import Tasks

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.sources import Context, PromptSource, ResourceSource, ToolSource
    from alita_mcp.settings import Settings

SERVER_NAME = "alita"
PAGE_SIZE = 100
_LISTS: tuple[CacheableMethod, ...] = (
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
)
_FRESH = CacheHint(ttl_ms=0, scope="private")


class DualEraServer(Server[Any]):
    """Server whose legacy `initialize` says `listChanged: true`, without which many clients never look again.

    The HTTP session manager asks for the options without arguments, so this is the only public seam.
    """

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """The options of the SDK, with all three lists announced as changing."""
        every = NotificationOptions(tools_changed=True, resources_changed=True, prompts_changed=True)
        return super().create_initialization_options(
            notification_options or every, experimental_capabilities, extensions
        )


def build_server(
    settings: Settings,
    *,
    open_app: OpenApp | None = None,
    extra_sources: Sequence[ToolSource] = (),
    extra_resources: Sequence[ResourceSource] = (),
    extra_prompts: Sequence[PromptSource] = (),
    page_size: int = PAGE_SIZE,
) -> DualEraServer:
    """A server over one App, which it opens by itself behind its first answer.

    `open_app` replaces the App that `settings` describe; the extra sources are served after the library's own.
    """
    announcer = Announcer()
    shared = SharedApp(open_app or partial(_open_app, settings), announcer)
    tasks = Tasks(lambda: shared.tasks, answered)
    sources: tuple[ToolSource, ...] = (MetaTools(), LibraryTools(lambda: shared.current), *extra_sources)
    tools = Dispatcher(sources, shared, tasks, announcer, page_size)
    resources = Resources((LibraryResources(shared), *extra_resources), shared, page_size)
    prompts = Prompts((LibraryPrompts(shared), *extra_prompts), page_size)
    server = _serving(shared, announcer, tools, resources, prompts)
    tasks.install(server)
    sealing = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=SERVER_NAME)
    server.middleware += [shared.middleware, announcer.middleware, protocol_errors, sealing]
    return server


def _serving(
    shared: SharedApp, announcer: Announcer, tools: Dispatcher, resources: Resources, prompts: Prompts
) -> DualEraServer:
    """The SDK's server with every method answered by one of our parts."""
    server = DualEraServer(
        SERVER_NAME,
        version=__version__,
        title="alita",
        instructions=INSTRUCTIONS,
        lifespan=shared.lifespan,
        cache_hints=dict.fromkeys(_LISTS, _FRESH),
        get_tool_input_schema=tools.input_schema,
        on_list_tools=tools.list,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=announcer.listen,
        on_list_prompts=prompts.list,
        on_get_prompt=prompts.get,
        on_completion=Completions(shared).complete,
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, tools.call)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
    return server


@asynccontextmanager
async def _open_app(settings: Settings) -> AsyncIterator[App]:
    """The real App; its imports happen in a thread, so that the answer in front of them goes out at once."""
    await anyio.to_thread.run_sync(importlib.import_module, "alita_mcp.app")
    from alita_mcp.app import open_app
    from alita_mcp.server.admission import admit

    async with open_app(settings, admit=admit) as app:
        yield app


async def _set_level(_ctx: Context, _params: types.SetLevelRequestParams) -> types.EmptyResult:
    """Old clients ask for protocol logging; ours goes to stderr whatever they say."""
    return types.EmptyResult()
