"""Parts of a server that need the App or heavy imports, loaded in a thread for the first request that needs one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alita_mcp.server.agents.definitions import AGENT_DEFINITIONS, agent_tools_to_list
from alita_mcp.server.agents.research_web import handle_research_web
from alita_mcp.server.agents.solve_task import handle_solve_task
from alita_mcp.server.dispatcher import Dispatcher
from alita_mcp.server.resources import Resources
from alita_mcp.server.sources import OwnTools
from alita_mcp.server.tools.definitions import META_DEFINITIONS, name_domains
from alita_mcp.server.tools.library_tools import LibraryTools
from alita_mcp.server.tools.meta_tools import META_HANDLERS

if TYPE_CHECKING:
    from alita_mcp.server.client.announcer import Announcer
    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.server.sources import ToolSource
    from alita_mcp.server.tasks import Tasks
    from alita_mcp.settings import Settings


class Parts:
    """What handles the methods about tools, and those about resources."""

    def __init__(
        self,
        shared: SharedApp,
        tasks: Tasks,
        announcer: Announcer,
        settings: Settings,
        extra_sources: Sequence[ToolSource],
    ) -> None:
        """The extra sources come after the library's own."""
        own = OwnTools(
            (*META_DEFINITIONS, *AGENT_DEFINITIONS),
            {**META_HANDLERS, "solve_task": handle_solve_task, "research_web": handle_research_web},
            listed=[*META_HANDLERS, *agent_tools_to_list(settings)],
            describe=lambda tool: name_domains(tool, shared.domains),
        )
        sources: tuple[ToolSource, ...] = (own, LibraryTools(shared), *extra_sources)
        self.tools = Dispatcher(sources, shared, tasks, announcer)
        self.resources = Resources(shared)
