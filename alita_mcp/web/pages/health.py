"""Health: what `alita doctor` says, models and keys, and wired clients."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from alita_mcp.app.doctor import describe_findings, examine
from alita_mcp.clients.changes import find_clients
from alita_mcp.errors import AlitaError
from alita_mcp.models.choices import ROLES, choose_model, steps_to_a_model
from alita_mcp.settings import SEARCH_KEYS, Settings, key_from
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site


def routes(site: Site) -> list[Route]:
    """The routes of this page."""
    examining = anyio.Lock()

    async def show(request: Request) -> Response:
        app, sections = await site.app_of(request), {}
        if "check" in request.query_params:
            async with examining:  # it takes seconds of processor time
                sections = describe_findings(await examine(app.settings, nullcontext(app.library)))
        values = await anyio.to_thread.run_sync(_describe, app.settings)
        return render(request, "health.html", sections=sections, **values)

    return [Route("/ui/health", show)]


def _describe(settings: Settings) -> dict[str, Any]:
    """What stands on the page at once; blocks."""
    page: dict[str, Any] = {"problem": "", "models": []}
    try:
        for role in ROLES:
            if chosen := choose_model(settings, role):
                key = chosen.find_key_place()
                page["models"].append((role, chosen.identity, chosen.key_variable, key))
    except AlitaError as unusable:
        page["problem"] = str(unusable)
    return page | {
        "steps": steps_to_a_model(settings),
        "search_keys": [(name, bool(key_from(name))) for name in SEARCH_KEYS.values()],
        "home": settings.home,
        "clients": find_clients(),
    }
