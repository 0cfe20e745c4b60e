"""What a new library lists: light starter tools, the others once they are used; tools of one's own at once."""

from __future__ import annotations

from pathlib import Path

from alita_mcp.app import App, open_app
from alita_mcp.library.opening import open_library
from alita_mcp.library.versions.starter import FOUND_BY_SEARCH
from alita_mcp.settings import Settings
from tests.library.factory import simple


def listed(app: App) -> set[str]:
    return {entry.name for entry in app.visible_tools()}


async def test_heavy_starter_tools_are_listed_once_they_are_used_or_pinned(settings: Settings) -> None:
    wasm = settings.model_copy(update={"sandbox": "wasm"})
    async with open_app(wasm, admit=lambda _manifest: ()) as app:
        assert listed(app) == {"calculate", "convert_units", "text_statistics"}
        await app.library.pin("csv_query")
        await app.run_tool("csv_to_records", {"text": "a\n1\n"})
        await app.library.settle()
        assert listed(app) == {"calculate", "convert_units", "text_statistics", "csv_query", "csv_to_records"}
        found = await app.search_tools("working days between two dates")
        assert found.results[0].name == "business_days"


async def test_a_tool_of_ones_own_is_listed_at_once_whatever_its_name(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "empty", sandbox="wasm")
    async with open_library(settings, starters=lambda: None) as library:
        for name in FOUND_BY_SEARCH:
            await library.publish(simple(name), expected_version=0)
    async with open_app(settings, admit=lambda _manifest: ()) as app:
        assert listed(app) == FOUND_BY_SEARCH
