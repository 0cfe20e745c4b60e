"""The page for people: it shows the library as it stands, and text from strangers stays text."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from alita_mcp.dashboard.page import library_page
from alita_mcp.dashboard.routes import dashboard_routes
from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from tests.library.test_promotion import entry

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.anyio]


async def test_the_page_and_the_catalogue_show_the_library(settings: Settings) -> None:
    async with open_library(settings) as library:
        names = [known.name for known in library.entries()]
        client = TestClient(Starlette(routes=dashboard_routes(library)))
        page, catalogue = client.get("/ui"), client.get("/ui/library.json")
        assert [row["manifest"]["name"] for row in catalogue.json()] == names
    assert names
    for name in names:
        assert f"<code>{name}</code> v1" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_markup_in_a_summary_is_shown_not_obeyed() -> None:
    hostile = entry("nice_tool")
    manifest = hostile.manifest.model_copy(update={"summary": "<script>alert(1)</script>"})
    page = library_page([hostile.model_copy(update={"manifest": manifest})], [])
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
