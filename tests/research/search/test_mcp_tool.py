"""A search tool of another MCP server: a command of ours over stdio, and the many shapes in which tools answer."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import UsageError
from alita_mcp.research.search.apis import hits_of
from alita_mcp.research.search.mcp_tool import (
    McpToolSearch,
    arguments_for,
    rows_in_text,
    rows_in_value,
    tool_place,
)
from alita_mcp.research.values import SearchHit
from tests.research.json_server import Reply, json_server
from tests.research.search.apis import KEY, mcp

pytestmark = pytest.mark.anyio
started = pytest.mark.process
SERVER = Path(__file__).with_name("mcp_server.py")


def command(tool: str) -> str:
    return f"{shlex.join([sys.executable, '-I', str(SERVER)])} #{tool}"


async def searched(said: str, limit: int = 5, timeout_s: float = 60) -> list[SearchHit]:
    with anyio.fail_after(120):
        return list(await McpToolSearch(tool_place(said), timeout_s=timeout_s).search("owls", limit))


@started
async def test_a_command_is_asked_over_stdio() -> None:
    hits = await searched(command("blocks"))
    assert [(hit.url, hit.title, hit.snippet) for hit in hits] == [
        ("https://example.org/one", "First", "Words one that go on"),
        ("https://example.org/two", "Second", "Words two"),
    ]


@started
async def test_what_a_command_prints_besides_messages_disturbs_nobody(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert len(await searched(command("loud"))) == 2
    printed = capfd.readouterr()
    assert "SESAME" not in printed.out + printed.err


@started
async def test_a_command_inherits_none_of_our_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALITA_TAVILY_KEY", KEY)
    monkeypatch.setenv("SEARCH_REGION", "de")
    (hit,) = await searched(command("environment"), limit=50)
    assert json.loads(hit.snippet) == {
        "environment": {"SEARCH_REGION": "de"},
        "arguments": {"q": "owls", "limit": 3},
    }


@started
async def test_links_to_resources_are_hits() -> None:
    (hit,) = await searched(command("links"))
    assert (hit.url, hit.title, hit.snippet) == ("https://example.org/r", "Resource", "Words")


@started
@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("fails", "the tool 'fails' answered with an error"),
        ("large", "more than 2,000,000 characters"),
        ("dies", "did not answer: MCPError"),
        ("no_such", "the server has no tool 'no_such'"),
    ],
)
async def test_what_fails_is_told_in_our_words(tool: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as told:
        await searched(command(tool))
    assert "SESAME" not in str(told.value)


@started
@pytest.mark.parametrize("said", ["/no/such/program #search", f"{sys.executable} -c pass #search"])
async def test_a_command_that_is_no_server_is_told(said: str) -> None:
    with pytest.raises(UsageError, match="mcp did not answer"):
        await searched(said)


async def test_the_key_in_an_address_is_neither_told_nor_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    failing = Reply({"content": [], "isError": True})
    with (
        json_server(lambda request: mcp(request, failing)) as (url, asked),
        pytest.raises(UsageError) as told,
    ):
        await searched(f"{url}/mcp?key={KEY} #web_search")
    assert any(KEY in request.target for request in asked)
    assert KEY not in str(told.value) + caplog.text


@pytest.mark.parametrize(
    "said", ["", "https://example.org/mcp", "#tool", "npx server #", "npx 'server #tool"]
)
def test_what_is_no_place_of_a_tool_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match="ALITA_SEARCH_MCP names no tool"):
        tool_place(said)


def test_a_place_is_an_address_or_a_command() -> None:
    assert tool_place("https://example.org/mcp?key=a#b #find").url == "https://example.org/mcp?key=a#b"
    assert tool_place("npx -y 'my server' #find").command == ("npx", "-y", "my server")


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({}, {"query": "owls"}),
        ({"properties": {"topic": {"type": "string"}}, "required": ["topic"]}, {"topic": "owls"}),
        ({"properties": {"q": {}, "count": {"type": "integer", "maximum": 2}}}, {"q": "owls", "count": 2}),
        (
            {"properties": {"search": {"type": "array"}, "n": {"type": "number"}}},
            {"search": ["owls"], "n": 5},
        ),
        ({"properties": {"query": {}, "limit": {"type": "string"}}}, {"query": "owls"}),
        ({"properties": "none", "required": [7]}, {"query": "owls"}),
    ],
)
def test_arguments_follow_the_tools_schema(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert arguments_for(schema, "owls", 5) == arguments


ONE = {"url": "https://example.org/one", "title": "One", "snippet": "Words one", "published": "2026-01-02"}


@pytest.mark.parametrize(
    "value",
    [
        [ONE],
        {"results": [ONE]},
        {"web": {"results": [ONE]}, "query": "owls"},
        {"result": json.dumps({"data": [ONE]})},
        {"organic": [{"link": ONE["url"], "title": "One", "description": "Words one", "date": "2026-01-02"}]},
        {
            "documents": [
                {"href": ONE["url"], "name": "One", "highlights": ["Words one"], "page_age": "2026-01-02"}
            ]
        },
        ONE,
    ],
)
def test_hits_are_found_in_structures_of_common_shapes(value: Any) -> None:
    for rows in (rows_in_value(value), rows_in_text(json.dumps(value))):
        (hit,) = hits_of("mcp", rows, 5)
        assert (hit.url, hit.title, hit.snippet, hit.published) == tuple(ONE.values())


@pytest.mark.parametrize(
    "text",
    [
        "Title: One\nURL: https://example.org/one\nSummary: Words one",
        "1. **Title:** One\n   **Link:** https://example.org/one\n   **Snippet:** Words one\n",
        "Found 1 result:\n\n- [One](https://example.org/one) - Words one\n",
        "## [One](https://example.org/one)\nWords one\n",
        "URL: https://example.org/one\nTitle: One\nContent: Words one\n\n---\n",
    ],
)
def test_hits_are_found_in_texts_of_common_shapes(text: str) -> None:
    (hit,) = hits_of("mcp", rows_in_text(text), 5)
    assert (hit.url, hit.title, hit.snippet) == ("https://example.org/one", "One", "Words one")


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["url", "title", "snippet", "results", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ANY_JSON)
def test_any_structure_gives_hits_or_none(value: Any) -> None:
    hits_of("mcp", rows_in_value(value), 5)


@given(st.text() | st.text(alphabet='Title:URL httpsx./[]()\n-*#{"', max_size=200))
def test_any_text_gives_hits_or_none(text: str) -> None:
    hits_of("mcp", rows_in_text(text), 5)


HOSTILE = [
    "[" * 2_000_000,
    "[a](" * 500_000,
    "[a](http://x" * 150_000,
    "Title: \n" * 250_000,
    "https://" * 250_000,
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_read_to_its_end(text: str) -> None:
    hits_of("mcp", rows_in_text(text), 5)
    hits_of("mcp", rows_in_value({"a": [text, {"b": text}]}), 5)


@started
async def test_a_tool_that_hangs_is_not_waited_for() -> None:
    with pytest.raises(UsageError, match="did not answer within 3 s"):
        await searched(command("hangs"), timeout_s=3)


def test_bare_addresses_are_found() -> None:
    rows = rows_in_text("See https://example.org/a, and\n(https://example.org/b) too.\nNo address here.")
    assert [row[0] for row in rows] == ["https://example.org/a", "https://example.org/b"]
    assert rows_in_text("nothing was found") == []
