"""The picture of a tool being made shows what was recorded, and what is recorded still happens."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from alita_mcp.cli.demo import steps
from docs.pictures import tool_born
from tests.docs.documents import ROOT

RECORDED = json.loads(tool_born.RECORDING.read_text(encoding="utf-8"))


def test_the_picture_is_what_the_script_draws() -> None:
    assert tool_born.draw(RECORDED) == tool_born.PICTURE.read_text(encoding="utf-8")


def test_every_text_of_the_picture_lies_inside_it_and_no_two_overlap() -> None:
    svg = ElementTree.fromstring(tool_born.PICTURE.read_text(encoding="utf-8"))
    width, height = map(int, svg.attrib["viewBox"].split()[2:])
    places = []
    for text in svg.iter("{http://www.w3.org/2000/svg}text"):
        x, y = int(text.attrib["x"]), int(text.attrib["y"])
        long = 8.43 * len(text.text or "")  # the advance of 14 px monospace fonts
        left = x - long if text.attrib["class"] == "time" else x
        assert left >= 0
        assert left + long <= width
        assert 14 <= y <= height - 8
        places.append((y, left, left + long))
    for one, other in zip(sorted(places), sorted(places)[1:], strict=False):
        assert one[0] < other[0] or one[2] <= other[1]


def test_the_steps_of_the_picture_are_steps_of_the_demo() -> None:
    source = (ROOT / "alita_mcp/cli/demo/steps.py").read_text(encoding="utf-8")
    titles = re.findall(r'scene\.step\("(.*)"\)', source)
    assert len(titles) == steps.STEPS
    assert set(tool_born.SHOWN) <= set(titles)
    assert [step["title"] for step in RECORDED["steps"]] == list(tool_born.SHOWN)


@pytest.mark.process
@pytest.mark.exhaustive
def test_the_demo_says_today_what_was_recorded() -> None:
    def said(recording: dict[str, list[dict[str, Any]]]) -> list[tuple[str, list[str]]]:
        # a slow machine says what it waits for
        return [
            (step["title"], [line for line in step["told"] if "trying the sandbox" not in line])
            for step in recording["steps"]
        ]

    assert said(tool_born.record()) == said(RECORDED)
