"""Handler of `research_web`: passages of pages, each with its URL and time, fenced as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_mcp.errors import InvalidArguments, UsageError
from alita_mcp.extras import require_extra
from alita_mcp.research.values import ResearchLimits
from alita_mcp.server.agents.definitions import MAX_URLS
from alita_mcp.server.agents.texts import research_fields, research_text
from alita_mcp.server.results.building import tool_result

if TYPE_CHECKING:
    from alita_mcp.server.context import ToolResult
    from alita_mcp.server.sources import ToolCall

TOKENS_A_PASSAGE = 600
MOST_SECONDS = 30.0


async def handle_research_web(call: ToolCall) -> ToolResult:
    """Reads the web for one call.

    Raises:
        ExtraMissing: what reads pages is not installed.
        UsageError: there is nothing to search with and no URL to read, or too many of these.
    """
    require_extra("web", "research_web")
    web, urls = call.app.web, call.arguments.get("urls", [])
    if not web.backends and not urls:
        raise UsageError(
            "No search back end is configured.",
            hint="Set ALITA_SEARCH=github (no key), ALITA_SEARXNG_URL, TAVILY_API_KEY or "
            "BRAVE_API_KEY; or pass the pages to read in urls.",
        )
    if len(urls) > MAX_URLS:
        raise InvalidArguments(f"{len(urls)} urls are too many.", hint=f"Pass at most {MAX_URLS}.")
    limit = call.arguments.get("limit", 5)
    limits = ResearchLimits(
        tokens=TOKENS_A_PASSAGE * limit, seconds=min(MOST_SECONDS, call.app.settings.limits.answer_within_s)
    )
    found = await web.research(call.arguments["query"], limits, on_stage=call.on_stage, urls=urls)
    fields = research_fields(found, limit)
    return tool_result(fields, research_text(fields))
