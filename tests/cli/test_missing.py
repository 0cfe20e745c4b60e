from __future__ import annotations

from pathlib import Path

import anyio

from alita_mcp.library.opening import open_library
from alita_mcp.library.search.answer import SearchAnswer
from alita_mcp.settings import Settings
from tests.cli.conftest import Alita


def test_searches_in_vain_are_listed_by_how_often_they_were_made(alita: Alita) -> None:
    assert alita("log", "--gaps").out.strip() == ""
    for query in ("transcribe a podcast", "transcribe the podcast", "zebra husbandry"):
        assert alita("search", *query.split(), "--json").json["fit"] == "none"
    said = alita("log", "--gaps")
    assert said.out.splitlines()[0].startswith("2x")
    assert "zebra husbandry" in said.out.splitlines()[1]
    assert "2 needs without a tool." in said.err
    gaps = alita("log", "--gaps", "--limit", "1", "--json").json
    assert [(gap["times"], gap["others"]) for gap in gaps] == [(2, ["transcribe the podcast"])]


def test_needs_that_a_tool_serves_by_now_come_last_and_say_so(alita: Alita, home: Path) -> None:
    nothing = SearchAnswer(fit="none", total=0, results=())

    async def search_in_vain() -> None:
        async with open_library(Settings(home=home), starters=lambda: None) as library:
            for query in [*["count the words, lines and characters of a text"] * 3, "zebra husbandry"]:
                library.calls.record_search(query, nothing)

    assert alita("list").status == 0  # the starter tools are there from now on
    anyio.run(search_in_vain)
    gaps = alita("log", "--gaps", "--json").json
    assert [(gap["need"][:5], gap["times"], bool(gap["now"])) for gap in gaps] == [
        ("zebra", 1, False),
        ("count", 3, True),
    ]
    assert set(gaps[0]) == {"need", "times", "others", "first", "last", "nearest", "now"}
    said = alita("log", "--gaps")
    assert f"now: {gaps[1]['now']}" in said.out
    assert "1 needs without a tool." in said.err
    assert [gap["need"][:5] for gap in alita("log", "--gaps", "--limit", "1", "--json").json] == ["zebra"]
