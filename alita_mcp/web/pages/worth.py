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

DAYS = 90
BYTES_PER_TOKEN = 4
"""Of Python code, about, with the tokenizers of 2026."""


def routes(site: Site) -> list[Route]:
    """The routes of this page."""

    async def show_worth(request: Request) -> Response:
        app = await site.app_of(request)
        await app.library.settle()
        found = await anyio.to_thread.run_sync(count_worth, app.library)
        said = {"minutes": round(LEADS_WITHIN_S / 60), "kept": DAYS_KEPT, "bytes_per_token": BYTES_PER_TOKEN}
        return render(request, "worth.html", days=DAYS, **found, **said)

    return [Route("/ui/worth", show_worth)]


def list_days(span: int) -> list[str]:
    """The last so many days, today the last one, as the catalogue names them."""
    today = datetime.now(UTC).date()
    return [date.isoformat(today - timedelta(days=back)) for back in reversed(range(span))]


def count_worth(library: Library) -> dict[str, Any]:
    """The figures that the page shows, day by day; reads the catalogue."""
    names = list_days(DAYS)
    used, searched = library.tools.daily_use(names[0]), library.tools.daily_searches(names[0])
    searches = sum(searched.values(), SearchCount())
    each_day = [(day, used.get(day, Use()), searched.get(day, SearchCount())) for day in names]
    return {
        "searches": searches.searches,
        "called": searches.called,
        "figures": {
            "calls answered by grown tools": [(day, each.calls - each.failures) for day, each, _ in each_day],
            "calls that failed": [(day, each.failures) for day, each, _ in each_day],
            "searches that ended in a call": [(day, each.called) for day, _, each in each_day],
            "tokens not written again": [
                (day, each.code_bytes // BYTES_PER_TOKEN) for day, each, _ in each_day
            ],
        },
    }
