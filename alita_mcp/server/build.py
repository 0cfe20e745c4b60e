"""Assembly of the MCP server that all transports serve, one for both protocol eras."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from alita_mcp import __version__
from alita_mcp.server.agents.definitions import AGENT_DEFINITIONS, agent_tools_to_list
from alita_mcp.server.agents.research_web import handle_research_web
from alita_mcp.server.agents.solve_task import handle_solve_task
from alita_mcp.server.client.announcer import Announcer, subscribe, unsubscribe
from alita_mcp.server.dispatcher import Dispatcher
from alita_mcp.server.instructions import instructions
from alita_mcp.server.resources import Resources
from alita_mcp.server.results.failures import error_result
from alita_mcp.server.shared_app import OpenApp, SharedApp
from alita_mcp.server.sources import OwnTools
from alita_mcp.server.tasks import Tasks
from alita_mcp.server.tools.definitions import META_DEFINITIONS, name_domains
from alita_mcp.server.tools.library_tools import LibraryTools
from alita_mcp.server.tools.meta_tools import META_HANDLERS
from alita_mcp.settings import wants_traces
from alita_mcp.tracing import start_tracing, trace_work

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.context import Context
    from alita_mcp.server.sources import ToolSource
    from alita_mcp.settings import Settings

SERVER_NAME = "alita"
_LISTS: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list")


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

    @asynccontextmanager
    async def open_real_app() -> AsyncIterator[App]:
        from alita_mcp.app import open_app
        from alita_mcp.server.tools.admission import admit

        async with open_app(settings, admit=admit, serves=True) as app:
            if wants_traces():
                app.activity.surround = trace_work
            yield app

    announcer = Announcer()
    shared = SharedApp(open_app or open_real_app, announcer)
    tasks = Tasks(lambda: shared.tasks, error_result)

    own = OwnTools(
        (*META_DEFINITIONS, *AGENT_DEFINITIONS),
        {**META_HANDLERS, "solve_task": handle_solve_task, "research_web": handle_research_web},
        listed=[*META_HANDLERS, *agent_tools_to_list(settings)],
        describe=lambda tool: name_domains(tool, shared.domains),
    )
    tools = Dispatcher((own, LibraryTools(shared), *extra_sources), shared, tasks, announcer)
    resources = Resources(shared)

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
        get_tool_input_schema=tools.input_schema,
        on_list_tools=tools.list_tools,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=announcer,
    )
    server.shared = shared
    server.add_request_handler("tools/call", types.CallToolRequestParams, tools.call_tool)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)

    tasks.install(server, tools.resume_task)
    security = RequestStateSecurity(keys=[state_key]) if state_key else RequestStateSecurity.ephemeral()
    sealing = RequestStateBoundary(security, default_audience=SERVER_NAME)
    if wants_traces():
        start_tracing(__version__)
    # Without an exporter the SDK's own one goes, which makes a span of every message.
    tracing = server.middleware if wants_traces() else []
    server.middleware[:] = [*tracing, shared.middleware, shared.timeouts.middleware, sealing]
    return server
