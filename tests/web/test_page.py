"""The page for people: it shows the library as it stands, and text from strangers stays text."""

from __future__ import annotations

import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from alita_mcp.web.library_page import library_routes
from alita_mcp.web.page import library_page
from tests.library.test_promotion import entry

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.anyio]


async def test_the_page_and_the_catalogue_show_the_library(settings: Settings) -> None:
    async with open_library(settings) as library:
        names = [known.name for known in library.tools.entries()]
        client = TestClient(Starlette(routes=library_routes(library)))
        page, catalogue = client.get("/ui"), client.get("/ui/library.json")
        assert [row["manifest"]["name"] for row in catalogue.json()] == names
    assert names
    for name in names:
        assert f"<code>{name}</code> v1" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


async def test_programs_read_neither_digests_nor_what_other_owners_did(settings: Settings) -> None:
    async with open_library(settings) as library:
        catalogue = TestClient(Starlette(routes=library_routes(library))).get("/ui/library.json").text
    assert '"calculate"' in catalogue
    assert [word for word in ("sha256", "last_used") if word in catalogue] == []


async def test_a_library_of_more_tools_than_a_page_holds_is_read_page_by_page(
    settings: Settings,
) -> None:
    async with open_library(settings) as library:
        names = library.tools.names()
        client = TestClient(Starlette(routes=library_routes(library, per_page=4)))
        shown, after = [], "/ui"
        while after:
            page = client.get(after).text
            assert f"<h2>{len(names)} tools</h2>" in page
            shown.append(re.findall(r"<tr><td><code>(\w+)</code> v1", page))
            link = re.search(r"href='(\?after=\w+)'", page)
            after = f"/ui{link[1]}" if link else ""
    assert [name for page in shown for name in page] == names
    assert max(map(len, shown)) == 4


def test_markup_in_a_summary_is_shown_not_obeyed() -> None:
    hostile = entry("nice_tool")
    manifest = hostile.manifest.model_copy(update={"summary": "<script>alert(1)</script>"})
    page = library_page([hostile.model_copy(update={"manifest": manifest})], [], 1, following="a'><script>")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
