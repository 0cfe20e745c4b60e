"""`alita suggest --auto`, and the commands that `alita suggest` shows: tools made of what came back."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from alita_mcp.cli.library import making
from alita_mcp.errors import SandboxBusy
from tests.cli.conftest import Alita, Ran
from tests.cli.suggested import priced

pytestmark = pytest.mark.slow
SEVERAL = [priced(1.5, 2.0, 4.0), priced(2.5, 1.0), priced(0.5, 8.0, 9.0, 10.0), priced(3.0, 7.25)]


def test_what_suffices_becomes_a_tool_once(alita: Alita, ran: Ran) -> None:
    ran(*SEVERAL)
    said = alita("suggest", "--auto")
    assert said.status == 0
    assert "\n  created " in said.out
    assert "1 of 1 tried" in said.err
    (often,) = alita("suggest", "--json").json["often"]
    assert alita("show", often["tool"]).status == 0
    assert (often["command"], alita("suggest", "--auto", "--json").json) == ("", [])


def test_the_shown_command_makes_the_tool(alita: Alita, ran: Ran) -> None:
    ran(*SEVERAL)
    (often,) = alita("suggest", "--json").json["often"]
    assert alita(*often["command"].split()[1:], "--json").json["status"] == "created"


@pytest.mark.parametrize("few", [SEVERAL[:2], [each.model_copy(update={"pure": False}) for each in SEVERAL]])
def test_too_few_examples_and_what_is_not_pure_are_left_to_a_person(
    alita: Alita, ran: Ran, monkeypatch: pytest.MonkeyPatch, few: list[Any]
) -> None:
    monkeypatch.setenv("ALITA_SUGGEST_AFTER", "2")
    ran(*few)
    assert len(alita("suggest", "--json").json["often"]) == 1
    assert alita("suggest", "--auto", "--json").json == []


def test_the_seconds_are_bounded(alita: Alita, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    async def endless(*_: Any) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(making, "make", endless)
    ran(*SEVERAL)
    said = alita("suggest", "--auto", "--max-seconds", "1")
    assert said.status == 0
    assert "Stopped after 1 seconds" in said.err


def test_one_that_fails_does_not_stop_the_others(
    alita: Alita, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(*_: Any) -> None:
        raise SandboxBusy("Too many calls wait.")

    monkeypatch.setattr(making, "make", busy)
    ran(*SEVERAL)
    said = alita("suggest", "--auto", "--json")
    assert said.json == [{"status": "failed", "reason": "Too many calls wait."}]
