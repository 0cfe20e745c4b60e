"""How clients see the level of trust: a mark on what is thinly proved, and what happens when it is proved better."""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client

from alita_mcp.server.build import DualEraServer
from alita_mcp.server.tools.definitions import PROVISIONAL
from tests.server.drafts import VOWEL_SHARE, draft
from tests.server.in_memory import Build, called, connected, names_of, succeeded, text_of

pytestmark = pytest.mark.slow

THIN = draft(tests=VOWEL_SHARE["tests"][:2])


async def definition(client: Client, name: str = "vowel_share") -> types.Tool:
    (found,) = [tool for tool in (await client.list_tools(cache_mode="bypass")).tools if tool.name == name]
    return found


async def test_a_thinly_proved_tool_is_listed_and_callable_with_its_mark(client: Client) -> None:
    made = await succeeded(client, "synthesize_tool", **THIN)
    assert (made["status"], made["trust"], made["tests"]) == ("created", "provisional", "2/2")
    assert made["to_raise_trust"].startswith("Send the same name with tests of your own")

    listed = await definition(client)
    assert listed.title == "Vowel share (provisional)"
    assert listed.description == PROVISIONAL + VOWEL_SHARE["description"]
    assert listed.meta["alita/trust"] == "provisional"

    for result in (
        await called(client, "vowel_share", text="aab"),
        await called(client, "run_tool", name="vowel_share", arguments={"text": "aab"}),
    ):
        assert result.structured_content == {"result": 0.67}
        assert text_of(result) == "0.67"
        assert result.meta["alita/trust"] == "provisional"
    failed = await called(client, "vowel_share", text="42")
    assert failed.is_error
    assert failed.meta["alita/trust"] == "provisional"


async def test_more_examples_take_the_mark_away_and_every_client_hears_of_it(
    server: DualEraServer, build: Build
) -> None:
    heard, elsewhere = anyio.Event(), anyio.Event()

    def listener(event: anyio.Event) -> Any:
        async def listen(message: object) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                event.set()

        return listen

    async with connected(server, "modern") as maker:
        await succeeded(maker, "synthesize_tool", **THIN)
        async with (
            connected(server, "legacy", message_handler=listener(heard)) as old,
            connected(build(), "legacy", message_handler=listener(elsewhere)) as other,
            connected(server, "modern") as new,
            new.listen(tools_list_changed=True) as changes,
        ):
            before = [await names_of(client) for client in (old, other)]
            raised = await succeeded(maker, "synthesize_tool", **VOWEL_SHARE)
            assert (raised["status"], raised["version"], raised["tests"]) == ("exists", 1, "4/4")
            assert (raised["trust_before"], raised["trust"]) == ("provisional", "verified")
            assert "to_raise_trust" not in raised
            await heard.wait()
            await elsewhere.wait()
            async for _ in changes:
                break
            assert [await names_of(client) for client in (old, other)] == before
            for client in (old, other, new, maker):
                listed = await definition(client)
                assert listed.title is None
                assert listed.description == VOWEL_SHARE["description"]
                assert listed.meta["alita/trust"] == "verified"
                result = await called(client, "vowel_share", text="aab")
                assert "alita/trust" not in (result.meta or {})


async def test_search_and_inspect_say_it_and_what_would_raise_it(client: Client) -> None:
    await succeeded(client, "synthesize_tool", **THIN)

    found = await called(client, "search_capabilities", query="vowels in a text", limit=1)
    assert found.structured_content["results"][0]["trust"] == "provisional"
    assert "v1, provisional" in text_of(found)

    card = await called(client, "inspect_tool", name="vowel_share")
    evidence = card.structured_content["evidence"]
    assert evidence["trust"] == "provisional"
    assert {"static", "examples", "determinism"} <= {stage["stage"] for stage in evidence["stages"]}
    assert evidence["sandboxes"] == ["wasm"]
    assert f"- to raise: {evidence['to_raise_trust']}" in text_of(card)
    assert "- seeds: " in text_of(card)

    (contents,) = (await client.read_resource("alita://tools/vowel_share/v1/report")).contents
    assert isinstance(contents, types.TextResourceContents)
    report = json.loads(contents.text)
    assert report["evidence"] == evidence
    assert report["examples_passed"] == 2
