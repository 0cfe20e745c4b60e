"""Gaps: what was searched for in vain, and programs that came back."""

from __future__ import annotations

from starlette.routing import Route

from alita_mcp.web.site import Site


def routes(site: Site) -> list[Route]:  # noqa: ARG001
    """The routes of this page."""
    return []
