"""Health: what `alita doctor` says, models and keys, settings, servers with their clients, and wired clients."""

from __future__ import annotations

import time
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from alita_mcp.app.doctor import describe_findings, describe_model, examine, examine_models
from alita_mcp.clients.changes import find_clients
from alita_mcp.errors import AlitaError
from alita_mcp.models.choices import ROLES, choose_model, steps_to_a_model
from alita_mcp.settings import SEARCH_KEYS, Settings, describe_settings, key_from
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site

FRESH_S = 60.0
"""For so long the findings are shown again; "check again" asks for new ones after `AGAIN_S`."""
AGAIN_S = 5.0


def routes(site: Site) -> list[Route]:
    """The routes of this page."""
    examining = anyio.Lock()
    latest: dict[str, Any] = {}
    found_at = -FRESH_S

    async def show(request: Request) -> Response:
        settings = (await site.app()).settings
        values = await anyio.to_thread.run_sync(_describe, settings)
        return render(request, "health.html", servers=await find_servers(), **values)

    async def find_servers() -> list[dict[str, Any]]:
        found = await anyio.to_thread.run_sync(site.servers)
        return [
            {**_with_iso_time(server), "clients": [*map(_with_iso_time, server.get("clients", ()))]}
            for server in found
        ]

    async def show_servers(request: Request) -> Response:
        return render(request, "_servers.html", servers=await find_servers())

    async def show_findings(request: Request) -> Response:
        nonlocal latest, found_at
        app, problem = await site.app(), None
        # Probing takes seconds of processor time: whoever asks meanwhile gets the same findings.
        async with examining:
            age = time.monotonic() - found_at
            if age > (AGAIN_S if "again" in request.query_params else FRESH_S):
                try:
                    latest = await examine(app.settings, nullcontext(app.library))
                    found_at = time.monotonic()
                except AlitaError as failed:
                    problem, latest = failed, {}
        return _render_findings(request, describe_findings(latest) if latest else {}, problem)

    async def try_models(request: Request) -> Response:
        app = await site.app()
        async with examining:
            found = [describe_model(each) for each in await examine_models(app.settings)]
        return _render_findings(request, {"Models": found}, None)

    return [
        Route("/ui/health", show),
        Route("/ui/health/servers", show_servers),
        Route("/ui/health/findings", show_findings),
        Route("/ui/health/models", try_models, methods=["POST"]),
    ]


def _render_findings(request: Request, sections: dict[str, Any], problem: AlitaError | None) -> Response:
    template = "_findings.html" if request.headers.get("hx-request") == "true" else "findings.html"
    return render(request, template, sections=sections, problem=problem)


def _with_iso_time(told: dict[str, Any]) -> dict[str, Any]:
    since = told.get("since")
    return told if since is None else {**told, "since": datetime.fromtimestamp(since, UTC).isoformat()}


def _describe(settings: Settings) -> dict[str, Any]:
    """What stands on the page at once; blocks."""
    models, set_values, problems = [], [], list[str]()
    for role in ROLES:
        if chosen := choose_model(settings, role):
            try:
                key = chosen.find_key_place()
            except AlitaError as unusable:
                key = ""
                problems.append(str(unusable))
            models.append((role, chosen.identity, chosen.key_variable, key))
    try:
        set_values = describe_settings(settings)
    except AlitaError as broken:
        problems.append(str(broken))
    return {
        "models": models,
        "steps": steps_to_a_model(settings),
        "search_keys": [(service, name, bool(key_from(name))) for service, name in SEARCH_KEYS.items()],
        "settings": set_values,
        "home": settings.home,
        "clients": find_clients(),
        "problems": list(dict.fromkeys(problems)),
    }
