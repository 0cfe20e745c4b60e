"""Flows of searches and syntheses that people can watch, for clients and for the agent of tasks alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_mcp.app.activity import ActivityFeed
from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.library.search.answer import SearchAnswer
from alita_mcp.owners import ClientIdentity
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.jobs.journal import describe_outcome
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Published
from alita_mcp.toolsmith.requests.request import SynthesisRequest

if TYPE_CHECKING:
    from alita_mcp.models.roles import RoleModels
    from alita_mcp.toolsmith.toolsmith import Toolsmith


async def search_tools(
    feed: ActivityFeed, library: Library, query: str, limit: int, identity: ClientIdentity
) -> SearchAnswer:
    """Tools that serve a need, best first; the search is published, and journalled if nothing fits."""
    with feed.follow("search", identity, query=query) as work:
        found = await library.search(query, limit)
        library.calls.record_search(query, found, identity, activity=work.id)
        names = [hit.name for hit in found.results]
        work.end(found.fit, tool=names[0] if found.fit != "none" else "", detail={"found": names})
    return found


async def make_tool(
    feed: ActivityFeed,
    toolsmith: Toolsmith,
    request: SynthesisRequest,
    on_stage: ReportStage,
    models: RoleModels | None = None,
) -> Outcome:
    """The outcome of a synthesis, whose stages and gates are published; raises as `Toolsmith.make`."""
    name, words = request.name, request.description
    with feed.follow("synthesis", request.client, tool=name, query=words, on_stage=on_stage) as work:
        try:
            outcome = await toolsmith.make(request, work, models, activity=work.id)
        except AlitaError as failure:
            work.end("failed", text=failure.message)
            raise
        described = describe_outcome(outcome)
        tool = outcome.tool if isinstance(outcome, Published | Exists) else ""
        work.end(outcome.status, tool=tool, text=described.pop("reason", ""), detail=described)
    return outcome
