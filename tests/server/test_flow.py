"""The main job as one agent sees it, over connections of both protocol eras."""

from __future__ import annotations

import anyio
import mcp_types as types
import pytest
from mcp import Client

from alita_mcp.server.build import DualEraServer
from tests.server.drafts import REPEAT, VOWEL_SHARE, draft
from tests.server.in_memory import called, connected, names_of, refused, succeeded, text_of


@pytest.mark.slow
@pytest.mark.usefixtures("embedded")
@pytest.mark.both_eras
async def test_an_agent_brings_a_tool_that_no_one_had(client: Client) -> None:
    found = await succeeded(client, "search_capabilities", query="share of vowels in a text")
    assert found["fit"] == "none"
    asked = await succeeded(client, "synthesize_tool", description=VOWEL_SHARE["description"])
    assert asked["status"] == "needs_code"

    made = await succeeded(client, "synthesize_tool", **VOWEL_SHARE)

    assert made == {
        "status": "created",
        "tool": "vowel_share",
        "version": 1,
        "trust": made["trust"],
        "tests": "4/4",
        "permissions": [],
        "call": "run_tool",
        "visible": "after reconnect",
        "report": "alita://tools/vowel_share/v1/report",
    }
    assert "vowel_share" in await names_of(client)
    direct = await called(client, "vowel_share", text="banana")
    assert direct.structured_content == {"result": 0.5}
    assert text_of(direct) == "0.5"
    again = await succeeded(client, "search_capabilities", query="share of vowels in a text")
    assert again["fit"] == "match"
    assert again["results"][0]["name"] == "vowel_share"
    assert again["results"][0]["call"] == "direct"


@pytest.mark.slow
async def test_what_one_client_made_every_other_hears_of_and_can_call(server: DualEraServer) -> None:
    heard = anyio.Event()

    async def listen(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            heard.set()

    async with (
        connected(server, "legacy", message_handler=listen) as old,
        connected(server, "modern") as new,
        new.listen(tools_list_changed=True) as changes,
        connected(server, "modern") as maker,
    ):
        await succeeded(maker, "synthesize_tool", **VOWEL_SHARE)
        await heard.wait()
        async for _ in changes:
            break
        for client in (old, new, maker):
            assert "vowel_share" in await names_of(client)
            assert await succeeded(client, "vowel_share", text="aab") == {"result": 0.67}


@pytest.mark.slow
@pytest.mark.both_eras
@pytest.mark.usefixtures("vowel_share")
async def test_run_tool_gives_exactly_what_a_direct_call_gives(client: Client) -> None:
    await succeeded(client, "synthesize_tool", **REPEAT)

    for name, arguments in [
        ("vowel_share", {"text": "banana"}),
        ("vowel_share", {"text": "42"}),
        ("vowel_share", {"text": 42}),
        ("repeat_rows", {"text": "ab", "times": 3}),
    ]:
        direct = await called(client, name, **arguments)
        through = await called(client, "run_tool", name=name, arguments=arguments)
        assert (text_of(direct)[-200:], direct.is_error) == (text_of(through)[-200:], through.is_error)
        if direct.is_error:
            assert direct.structured_content is None
        else:
            assert direct.structured_content == through.structured_content
        assert [type(block) for block in direct.content] == [type(block) for block in through.content]


@pytest.mark.slow
@pytest.mark.usefixtures("vowel_share")
async def test_an_update_makes_a_second_version_and_the_first_can_still_be_called(client: Client) -> None:
    better = draft(update=True, description="Share of vowels among all letters of a text, rounded.")

    made = await succeeded(client, "synthesize_tool", **better)
    first = await succeeded(client, "run_tool", name="vowel_share", arguments={"text": "aab"}, version=1)

    assert (made["status"], made["version"]) == ("created", 2)
    assert first == {"result": 0.67}


@pytest.mark.usefixtures("embedded")
async def test_a_wrong_tool_is_rejected_with_what_a_model_needs(client: Client) -> None:
    wrong = draft(code=VOWEL_SHARE["code"].replace("aeiou", "aeio"), tests=[
        {"arguments": {"text": "usual"}, "expected": 0.6},
        {"arguments": {"text": "rhythm"}, "expected": 0.0},
        {"arguments": {"text": "42"}, "raises": "ValueError"},
    ])  # fmt: skip

    result = await called(client, "synthesize_tool", **wrong)

    assert result.is_error
    answer = result.structured_content
    assert (answer["status"], answer["stage"]) == ("rejected", "examples")
    assert answer["case"] == {"text": "usual"}
    assert (answer["expected"], answer["got"]) == (0.6, 0.2)
    assert answer["fix"]
    text = text_of(result)
    assert len(text) <= 400
    assert "0.6" in text
    assert "0.2" in text
    assert "vowel_share" not in await names_of(client)


@pytest.mark.usefixtures("vowel_share")
async def test_inspect_shows_the_evidence_and_on_request_the_code(client: Client) -> None:
    brief = await called(client, "inspect_tool", name="vowel_share")
    full = await called(client, "inspect_tool", name="vowel_share", version=1, source=True)

    assert brief.structured_content["manifest"]["name"] == "vowel_share"
    assert brief.structured_content["report"]["examples_passed"] == 4
    assert "source" not in brief.structured_content
    head, *evidence = text_of(brief).splitlines()
    assert len(head) <= 400
    assert "- passed: 4 of 4 examples; deterministic" in evidence
    assert len(text_of(brief)) <= 2_000
    assert full.structured_content["source"].strip() == VOWEL_SHARE["code"].strip()
    assert full.structured_content["tests"] == VOWEL_SHARE["tests"]
    assert "def vowel_share" in text_of(full)


TODAY = {
    "name": "days_ahead",
    "description": "Gives the date some days from today.",
    "code": "import datetime\n\n\ndef days_ahead(days: int) -> str:\n"
    '    """Gives the date some days from today.\n\n    Args:\n        days: How many.\n\n    Raises:\n'
    '        ValueError: The number is negative.\n    """\n'
    "    if days < 0:\n        raise ValueError('days')\n"
    "    return (datetime.datetime.now() + datetime.timedelta(days=days)).strftime('%Y-%m-%d')\n",
    "tests": [
        {"arguments": {"days": 0}, "check": "result == now.strftime('%Y-%m-%d')"},
        {"arguments": {"days": 30}, "check": "result > now.strftime('%Y-%m-%d')"},
        {"arguments": {"days": -1}, "raises": "ValueError"},
    ],
    "use_when": ["what date is it in two weeks"],
}


@pytest.mark.slow
@pytest.mark.usefixtures("embedded")
async def test_a_tool_that_knows_the_date_says_that_it_varies_and_is_computed_each_time(
    client: Client,
) -> None:
    refusal = await refused(client, "synthesize_tool", **TODAY)
    assert '"varies": ["clock"]' in refusal

    made = await succeeded(client, "synthesize_tool", **TODAY, varies=["clock"])

    assert made["status"] == "created"
    (listed,) = [tool for tool in (await client.list_tools()).tools if tool.name == "days_ahead"]
    assert (listed.annotations.read_only_hint, listed.annotations.idempotent_hint) == (True, False)
    card = await succeeded(client, "inspect_tool", name="days_ahead")
    assert card["manifest"]["varies"] == ["clock"]
    assert card["manifest"]["deterministic"] is False


async def test_what_a_tool_needs_is_asked_for_in_one_object(client: Client) -> None:
    for asked in ({"needs": {"network": ["a b"]}}, {"needs": '{"network": ["a b"]}'}):
        answer = await refused(client, "synthesize_tool", **VOWEL_SHARE, **asked)
        assert "network: " in answer
    for unfit in ({"needs": {"workspace": "all"}}, {"needs": {"hosts": []}}, {"varies": ["weather"]}):
        assert next(iter(unfit)) in await refused(client, "synthesize_tool", **VOWEL_SHARE, **unfit)
