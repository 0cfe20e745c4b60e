"""What a client is told after a call that cannot be: how the tool is called, and which names are near."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client

from tests.server.drafts import draft
from tests.server.in_memory import Build, connected, refused, succeeded
from tests.tables import each_case

SIGNATURE = "Call it as vowel_share(text: str, digits?: int) -> float."
MODES = ("upper case", "lower case", "title case", "kebab case", "snake case", "camel case", "swap case")
CASES = draft(
    name="change_case",
    description="Changes the case of a text.",
    code=(
        "from typing import Literal\n\n\n"
        f"def change_case(text: str, mode: Literal{list(MODES)}) -> str:\n"
        '    """Changes the case of a text."""\n'
        '    return text.upper() if mode == "upper case" else text.lower() if mode == "lower case" else mode\n'
    ),
    tests=[
        {"arguments": {"text": "aB", "mode": "upper case"}, "expected": "AB"},
        {"arguments": {"text": "aB", "mode": "lower case"}, "expected": "ab"},
        {"arguments": {"text": "aB", "mode": "swap case"}, "expected": "swap case"},
    ],
    use_when=["make a text upper case"],
)


@pytest.mark.usefixtures("vowel_share")
@each_case(
    "arguments, problem",
    [({"txt": "a"}, "'txt'"), ({}, "'text' is missing"), ({"text": 7}, "text: 7 is not a string")],
)
async def test_a_wrong_call_shows_the_signature(
    client: Client, arguments: dict[str, Any], problem: str
) -> None:
    direct = await refused(client, "vowel_share", **arguments)
    by_name = await refused(client, "run_tool", name="vowel_share", arguments=arguments)
    assert direct == by_name
    assert problem in direct
    assert SIGNATURE in direct


@pytest.mark.slow
async def test_the_signature_is_whole(build: Build, settings: Any) -> None:
    async with connected(build(settings={"review": "off"}), "legacy") as client:
        await succeeded(client, "synthesize_tool", **CASES)
        for text in (
            await refused(client, "change_case", text="a"),
            await refused(client, "run_tool", name="change_case", arguments={"text": "a"}),
        ):
            assert f"mode: {' | '.join(map(repr, MODES))}) -> str." in text


async def test_a_fixed_tool_that_is_called_wrongly_shows_its_parameters(client: Client) -> None:
    text = await refused(client, "inspect_tool", nam="x")
    assert "Call it as inspect_tool(name: str, version?: int, source?: bool)." in text


@pytest.mark.usefixtures("vowel_share")
@each_case("name", ["zzzzqqq", "get_weather", "", "x" * 300])
async def test_where_no_name_is_near_none_is_suggested(client: Client, name: str) -> None:
    for text in (
        await refused(client, "run_tool", name=name),
        await refused(client, "inspect_tool", name=name),
        await refused(client, name),
    ):
        assert "There is no tool" in text
        assert "vowel_share" not in text
        assert "search" in text
