"""The prompt and the completions."""

from __future__ import annotations

import json

import mcp_types as types
import pytest
from mcp import Client, MCPError

from tests.server.drafts import REPEAT, VOWEL_SHARE, draft
from tests.server.in_memory import Build, connected, succeeded

SOURCE = types.ResourceTemplateReference(uri="alita://tools/{name}/v{version}/{part}")
RUN = types.ResourceTemplateReference(uri="alita://runs/{id}{?offset,length}")
NEW_TOOL = types.PromptReference(name="new_tool")


async def test_the_prompt_leads_an_agent_from_search_to_a_call(client: Client) -> None:
    (prompt,) = (await client.list_prompts()).prompts
    assert prompt.name == "new_tool"
    assert prompt.arguments is not None
    assert [(argument.name, argument.required) for argument in prompt.arguments] == [("goal", True)]

    (message,) = (await client.get_prompt("new_tool", {"goal": "Count the words of a text"})).messages

    assert isinstance(message.content, types.TextContent)
    text = message.content.text
    places = [
        text.index(word) for word in ("Count the words", "search_capabilities", "synthesize_tool", "run_tool")
    ]
    assert places == sorted(places)
    template = json.loads(text[text.index("{") : text.index("\nRules:")])
    assert template["name"] == "count_the_words_of"
    assert text.count('"code"') == 1
    for told in ("an embedded sandbox (WebAssembly): CPython 3.14", "Not here: bz2", "compress with zlib"):
        assert told in text


@pytest.mark.parametrize("arguments", [None, {}, {"goal": ""}, {"goal": " \n"}])
async def test_the_prompt_needs_a_goal(client: Client, arguments: dict[str, str] | None) -> None:
    with pytest.raises(MCPError) as refusal:
        await client.get_prompt("new_tool", arguments)

    assert refusal.value.error.code == types.INVALID_PARAMS
    assert "goal" in refusal.value.error.message


@pytest.mark.parametrize("goal", ["x" * 100_000, "\u202ereversed\x00", '"""\\', "{}{}{"])
async def test_a_hostile_goal_gives_an_ordinary_prompt(client: Client, goal: str) -> None:
    (message,) = (await client.get_prompt("new_tool", {"goal": goal})).messages

    assert isinstance(message.content, types.TextContent)
    assert len(message.content.text) < 12_000
    assert not set(message.content.text) & {"\u202e", "\x00"}


async def test_an_unknown_prompt_is_an_invalid_parameter(client: Client) -> None:
    with pytest.raises(MCPError) as refusal:
        await client.get_prompt("old_tool\u202e")

    assert refusal.value.error.code == types.INVALID_PARAMS
    assert "\u202e" not in refusal.value.error.message


async def test_tool_names_and_versions_are_completed(client: Client) -> None:
    await succeeded(client, "synthesize_tool", **VOWEL_SHARE)
    await succeeded(client, "synthesize_tool", **REPEAT)
    await succeeded(client, "synthesize_tool", **draft(update=True, description="Another description."))

    names = await client.complete(SOURCE, {"name": "name", "value": "vow"})
    versions = await client.complete(SOURCE, {"name": "version", "value": ""}, {"name": "vowel_share"})
    unknown = await client.complete(SOURCE, {"name": "version", "value": ""})

    parts = await client.complete(SOURCE, {"name": "part", "value": "m"}, {"name": "vowel_share"})

    assert names.completion.values == ["vowel_share"]
    assert parts.completion.values == ["manifest"]
    assert versions.completion.values == ["1", "2"]
    assert unknown.completion.values == []


@pytest.mark.parametrize(
    ("ref", "argument"),
    [
        (NEW_TOOL, "goal"),
        (SOURCE, "other"),
        (RUN, "id"),
        (RUN, "name"),
        (types.PromptReference(name="none"), "name"),
    ],
)
async def test_nothing_else_is_completed(
    client: Client, ref: types.PromptReference | types.ResourceTemplateReference, argument: str
) -> None:
    assert (await client.complete(ref, {"name": argument, "value": ""})).completion.values == []


async def test_prompts_come_in_pages_like_everything_else(build: Build, era: str) -> None:
    async with connected(build(), era) as client:
        with pytest.raises(MCPError):
            await client.list_prompts(cursor="nonsense")
