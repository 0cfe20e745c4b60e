"""Parts of a server, one for each family of protocol methods, made from the App and the sources.

Loaded in a thread for the first request that needs a part, so that no greeting waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from alita_mcp.server.agents.definitions import AGENT_DEFINITIONS, listed_agent_tools
from alita_mcp.server.agents.researching import answer_research
from alita_mcp.server.agents.resources import TaskResources
from alita_mcp.server.agents.solving import answer_solve
from alita_mcp.server.dispatcher import Dispatcher
from alita_mcp.server.resources import LibraryResources, Resources
from alita_mcp.server.sources import FixedTools
from alita_mcp.server.tools.definitions import META_DEFINITIONS
from alita_mcp.server.tools.library_tools import LibraryTools
from alita_mcp.server.tools.meta_tools import META_HANDLERS

if TYPE_CHECKING:
    from alita_mcp.server.client.announce import Announcer
    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.server.sources import ResourceSource, ToolSource
    from alita_mcp.server.tasks import Tasks
    from alita_mcp.settings import Settings


class Parts(NamedTuple):
    """Parts of a server, one for each family of methods."""

    tools: Dispatcher
    resources: Resources


def build_parts(
    shared: SharedApp,
    tasks: Tasks,
    announcer: Announcer,
    *,
    settings: Settings,
    extra_sources: Sequence[ToolSource],
    extra_resources: Sequence[ResourceSource],
    page_size: int,
) -> Parts:
    """The parts over one App; the extra sources come after the library's own."""
    library = LibraryTools(lambda: shared.current)
    handlers = {"solve_task": answer_solve, "research_web": answer_research}
    agents = FixedTools(AGENT_DEFINITIONS, handlers, listed=listed_agent_tools(settings))
    sources: tuple[ToolSource, ...] = (
        FixedTools(META_DEFINITIONS, META_HANDLERS), agents, library, *extra_sources,
    )  # fmt: skip
    resources: tuple[ResourceSource, ...] = (
        LibraryResources(shared),
        TaskResources(shared),
        *extra_resources,
    )
    return Parts(
        tools=Dispatcher(sources, shared, tasks, announcer, page_size),
        resources=Resources(resources, shared, page_size),
    )
