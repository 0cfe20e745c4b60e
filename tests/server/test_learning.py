"""What clients of both protocol eras teach the library by using it, and how tools that sound alike are told apart."""

from __future__ import annotations

import anyio
import pytest
from mcp import Client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from tests.server.drafts import VOWEL_SHARE
from tests.server.in_memory import PATIENCE_S, Build, succeeded
from tests.server.test_http import listening

pytestmark = pytest.mark.slow

ASKED = "share of the letters a e i o u, the vowels, in poems"


async def wordings(settings: Settings, name: str, count: int) -> tuple[str, ...]:
    with anyio.fail_after(PATIENCE_S):
        async with open_library(settings, starters=lambda: None) as library:
            while len(library.entry(name).wordings) < count:
                await anyio.sleep(0.05)
                await library.refresh()
            return library.entry(name).wordings


@pytest.mark.parametrize("way", ["direct", "run_tool"])
async def test_a_search_and_a_call_by_either_way_teach_the_tool_these_words(
    client: Client, settings: Settings, way: str
) -> None:
    await succeeded(client, "synthesize_tool", **VOWEL_SHARE)
    found = await succeeded(client, "search_capabilities", query=ASKED)
    assert "vowel_share" in {each["name"] for each in found["results"] if each["score"] > 0}
    if way == "direct":
        await succeeded(client, "vowel_share", text="abc")
    else:
        await succeeded(client, "run_tool", name="vowel_share", arguments={"text": "abc"})
    assert await wordings(settings, "vowel_share", 1) == (ASKED,)
    again = await succeeded(client, "search_capabilities", query=ASKED)
    assert again["results"][0]["name"] == "vowel_share"
    assert again["results"][0]["score"] >= found["results"][0]["score"]


async def test_clients_of_one_kind_behind_one_address_teach_nothing_with_each_others_searches(
    build: Build, settings: Settings
) -> None:
    async with listening(settings, server=build()) as url:
        async with Client(url) as one, Client(url) as other:
            assert one.protocol_version in MODERN_PROTOCOL_VERSIONS
            await succeeded(one, "synthesize_tool", **VOWEL_SHARE)
            found = await succeeded(one, "search_capabilities", query=ASKED)
            assert found["results"][0]["name"] == "vowel_share"
            await succeeded(other, "vowel_share", text="abc")
            await succeeded(one, "search_capabilities", query=ASKED)
            await succeeded(one, "vowel_share", text="abc")
        async with Client(url, mode="legacy") as legacy:
            await succeeded(legacy, "search_capabilities", query="share of vowel letters of text in percent")
            await succeeded(legacy, "vowel_share", text="abc")
        learned = await wordings(settings, "vowel_share", 1)
    assert learned == ("share of vowel letters of text in percent",), "a session tells its client apart"
