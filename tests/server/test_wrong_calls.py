"""What a client is told after a call that cannot be: how the tool is called, and which names are near."""

from __future__ import annotations

import json
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


BOXES = draft(
    name="box_volumes",
    description="Volumes of boxes given by their sides, each times a factor.",
    code="""
from dataclasses import dataclass
from typing import NotRequired, TypedDict


class Box(TypedDict):
    w: float
    depth: NotRequired[float]


@dataclass
class Scale:
    factor: int = 1
    notes: list[str] | None = None


def box_volumes(boxes: list[Box], scale: Scale | None = None, label: str = "", whole: bool = False) -> list[str]:
    \"\"\"Volumes of boxes, as text behind a label.\"\"\"
    found = [box["w"] * box.get("depth", 2.0) * (scale.factor if scale else 1) for box in boxes]
    return [f"{label}{round(volume) if whole else volume}" for volume in found]
""",
    tests=[
        {"arguments": {"boxes": [{"w": 1.5, "depth": None}], "scale": None}, "expected": ["3.0"]},
        {"arguments": {"boxes": [{"w": 1.0, "depth": 4.0}], "scale": {"factor": 2}}, "expected": ["8.0"]},
        {"arguments": {"boxes": '[{"w": 1.5}]', "label": "7", "whole": True}, "expected": ["73"]},
        {"arguments": {"boxes": []}, "expected": []},
    ],
    use_when=["volumes of boxes"],
)


@pytest.mark.slow
@pytest.mark.both_eras
@pytest.mark.usefixtures("embedded")
async def test_arguments_are_taken_as_they_are_meant_or_refused_at_every_level(client: Client) -> None:
    made = await succeeded(client, "synthesize_tool", **BOXES)
    assert (made["status"], made["tests"]) == ("created", "4/4")
    card = await succeeded(client, "inspect_tool", name="box_volumes")
    nodes = card["manifest"]["input_schema"]["properties"]
    for node in (nodes["boxes"]["items"], nodes["scale"]):
        assert node["additionalProperties"] is False
    for arguments, result in (
        ({"boxes": '[{"w": "1.5"}]', "label": "[1]"}, ["[1]3.0"]),
        ({"boxes": [{"w": 1, "depth": None}], "scale": None, "label": None, "whole": "true"}, ["2"]),
        ({"boxes": ['{"w": 2}'], "scale": '{"factor": "3", "notes": null}'}, ["12.0"]),
        ({"boxes": [{"w": 1}], "scale": {"factor": 2.0, "notes": ""}}, ["4.0"]),
    ):
        for told in (
            await succeeded(client, "run_tool", name="box_volumes", arguments=arguments),
            await succeeded(client, "run_tool", name="box_volumes", arguments=json.dumps(arguments)),
            await succeeded(client, "box_volumes", **arguments),
        ):
            assert told == {"result": result}, arguments
    for wrong, problem in (
        ({"boxes": [{"w": 1, "dephth": 2}]}, "boxes[0]: there is no 'dephth' (did you mean 'depth'?)"),
        ({"boxes": [], "scale": {"factr": 2}}, "scale: there is no 'factr' (did you mean 'factor'?)"),
        ({"boxes": [], "scale": {"zz": 2}}, "scale: there is no 'zz', only factor, notes."),
        ({"boxes": "[{"}, "boxes: '[{' is not an array, nor the text of one: "),
        ({"boxes": None}, "boxes: null is not an array."),
        ({"boxes": [None]}, "boxes[0]: null is not an object."),
        ({"boxes": [], "whole": "yes"}, "whole: 'yes' is not true or false."),
        ({"boxes": [], "scale": {"factor": "2.5"}}, "scale.factor: 2.5 is not an integer."),
    ):
        by_name = await refused(client, "run_tool", name="box_volumes", arguments=wrong)
        assert by_name == await refused(client, "box_volumes", **wrong)
        assert problem in by_name, wrong


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
