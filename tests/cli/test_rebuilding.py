"""What people are told of a catalogue that was rebuilt, and of a home that a newer alita wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Alita


def lose_catalogue(home: Path) -> None:
    for file in home.glob("library.sqlite3*"):
        file.unlink()


def test_the_first_command_after_a_rebuilding_says_so_and_the_next_does_not(alita: Alita, home: Path) -> None:
    for words in ("delete csv_query", "disable convert_units", "pin calculate"):
        assert alita("tool", *words.split()).status == 0
    lose_catalogue(home)
    first, second = alita("list", "--json"), alita("list", "--json")
    assert "warning: The catalogue was missing and was rebuilt from generated_tools: " in first.err
    assert "Approvals, usage, learned words and the journal from before are lost." in first.err
    for line in (
        "disabled as before: convert_units",
        "deleted as before: csv_query",
        "pinned as before: calculate",
    ):
        assert line in first.err
    assert "catalogue" not in second.err
    assert json.loads(first.out) == json.loads(second.out)
    assert "csv_query" not in {tool["name"] for tool in first.json}
    assert alita("show", "csv_query").status == 3
    assert alita("tool", "enable", "csv_query").status == 0


def test_an_approval_is_named_and_not_given_back(alita: Alita, home: Path) -> None:
    manifest = json.loads((home / "generated_tools/http_request/v1/manifest.json").read_text())["manifest"]
    part = ("--network", "api.example.org")
    assert alita("approve", "http_request", manifest["digest"], *part).status == 0
    lose_catalogue(home)
    said = alita("list")
    assert "approved before and not any more (`alita approve NAME`): http_request" in said.err
    assert alita("tool", "pin", "http_request", "--json").json["approved"] is False


@pytest.mark.slow
def test_doctor_says_when_the_catalogue_was_rebuilt(
    alita: Alita, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    alita("tool", "disable", "convert_units")
    lose_catalogue(home)
    alita("list")
    said = alita("doctor")
    assert "The catalogue was missing and was rebuilt" in said.out
    assert "disabled as before: convert_units" in said.out
    assert alita("doctor", "--json").json["library"]["rebuilt"]["notes"] == {
        "disabled as before": ["convert_units"]
    }


def test_a_home_of_a_newer_alita_is_refused_by_every_command(alita: Alita, home: Path) -> None:
    (home / "home.json").write_text(json.dumps({"format": 7, "alita": "3.1.0", "hopes": []}))
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    for words in (
        "status",
        "list",
        "run calculate {}",
        "tool delete calculate",
        "approve http_request",
        "log",
    ):
        said = alita(*words.split())
        assert said.status == 7, words
        assert "was written by a newer alita (format 7" in said.err
        assert "Upgrade alita-mcp-server 3.1.0 or later" in said.err
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
