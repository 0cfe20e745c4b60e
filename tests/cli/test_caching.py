"""`alita tool cache`: shows, forgets, and switches off what is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Alita
from tests.cli.test_library_commands import REQUEST

pytestmark = pytest.mark.slow


@pytest.fixture
def made(alita: Alita, tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps(REQUEST), encoding="utf-8")
    assert alita("synthesize", str(request)).status == 0


def ran(alita: Alita, number: int = 4) -> bool:
    """Runs the tool; whether the result was a kept one."""
    assert alita("run", "double", f"number={number}", "--json").json == {"result": 2 * number}
    newest = alita("log", "double", "--limit", "1", "--json").json[0]
    return bool(newest["detail"].get("cached"))


@pytest.mark.usefixtures("made")
def test_what_is_kept_can_be_seen_and_forgotten(alita: Alita) -> None:
    assert alita("tool", "cache", "--json").json["kept"] == 0
    assert [ran(alita), ran(alita), ran(alita, 5)] == [False, True, False]
    shown = alita("tool", "cache", "show", "--json").json
    assert (shown["kept"], shown["limit_mb"], shown["off"]) == (2, 64, [])
    cleared = alita("tool", "cache", "clear")
    assert "2 cleared" in cleared.out
    assert not ran(alita)
    assert alita("tool", "cache", "clear", "double", "--json").json["removed"] == 1


@pytest.mark.usefixtures("made")
def test_a_tool_is_switched_off_and_on(alita: Alita) -> None:
    ran(alita)
    off = alita("tool", "cache", "off", "double")
    assert "Off for double." in off.out
    assert alita("tool", "cache", "--json").json["kept"] == 0
    assert [ran(alita), ran(alita)] == [False, False]
    assert alita("tool", "cache", "on", "double", "--json").json["off"] == []
    assert [ran(alita), ran(alita)] == [False, True]


@pytest.mark.usefixtures("made")
def test_words_that_do_not_fit_are_refused(alita: Alita) -> None:
    assert alita("tool", "cache", "off").status == 2
    assert alita("tool", "cache", "off", "doubel").status == 2
    assert alita("tool", "cache", "clear", "doubel").status == 2
    assert alita("tool", "cache", "forget").status == 2
