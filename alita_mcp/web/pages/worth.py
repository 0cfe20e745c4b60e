"""Worth: what grown tools have saved."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from alita_mcp.library.catalogue.daily import DAYS_KEPT
from alita_mcp.library.catalogue.use import SearchCount, Use
from alita_mcp.library.journal.calls import LEADS_WITHIN_S
from alita_mcp.library.library import Library
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site

SPANS = (30, 90, 365)
BYTES_PER_TOKEN = 4
"""Of Python code, about, with the tokenizers of 2026."""
MAX_TOOLS = 20


def routes(site: Site) -> list[Route]:
    """The routes of this page."""

    async def show_worth(request: Request) -> Response:
        asked = request.query_params.get("days", "")
        span = int(asked) if asked in map(str, SPANS) else SPANS[0]
        app = await site.app()
        await app.library.settle()
        found = await anyio.to_thread.run_sync(count_worth, app.library, span)
        return render(request, "worth.html", **found)

    return [Route("/ui/worth", show_worth)]


def list_days(span: int) -> list[str]:
    """The last so many days, today the last one, as the catalogue names them."""
    today = datetime.now(UTC).date()
    return [date.isoformat(today - timedelta(days=back)) for back in reversed(range(span))]


def count_worth(library: Library, span: int) -> dict[str, Any]:
    """What the page shows of the last so many days; reads the catalogue."""
    names = list_days(span)
    use, searches = library.tools.daily_use_of_grown(names[0]), library.tools.daily_searches(names[0])
    days = [(day, use.get(day, Use()), searches.get(day, SearchCount())) for day in names]
    return {
        "days": days,
        "spans": SPANS,
        "answered": sum(each.calls - each.failures for _, each, _ in days),
        "failed": sum(each.failures for _, each, _ in days),
        "searches": sum(each.searches for *_, each in days),
        "called": sum(each.called for *_, each in days),
        "tokens": sum(each.code_bytes for _, each, _ in days) // BYTES_PER_TOKEN,
        "answered_days": [(day, each.calls - each.failures) for day, each, _ in days],
        "token_days": [(day, each.code_bytes // BYTES_PER_TOKEN) for day, each, _ in days],
        "tools": library.tools.use_of_grown(names[0], MAX_TOOLS),
        "has_any": bool(use or searches),
        "bytes_per_token": BYTES_PER_TOKEN,
        "minutes": round(LEADS_WITHIN_S / 60),
        "kept": DAYS_KEPT,
    }
