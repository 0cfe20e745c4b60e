"""What people are told of a catalogue that was rebuilt, and of a home that a newer alita wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Alita


def lose_catalogue(home: Path) -> None:
    for file in home.glob("library.sqlite3*"):
        file.unlink()


@pytest.mark.slow
def test_the_command_that_rebuilds_says_so_and_doctor_says_it_later(
    alita: Alita, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = json.loads((home / "generated_tools/http_request/v1/manifest.json").read_text())["manifest"]
    for words in ("delete csv_query", "disable convert_units", "pin calculate"):
        assert alita("tool", *words.split()).status == 0
    assert alita("approve", "http_request", manifest["digest"]).status == 0
    lose_catalogue(home)
    listed = alita("list", "--json").json
    said = caplog.text
    alita("list")
    assert caplog.text == said
    assert "The catalogue was missing, and was rebuilt from generated_tools: 11 tools were taken in." in said
    assert "Approvals, usage and the journal from before are lost." in said
    for line in (
        "disabled as before: convert_units",
        "deleted as before: csv_query",
        "pinned as before: calculate",
        "approved before and not any more (`alita approve NAME`): http_request",
    ):
        assert line in said
    assert "csv_query" not in {tool["name"] for tool in listed}
    assert alita("show", "csv_query").status == 3
    assert alita("tool", "enable", "csv_query").status == 0
    assert alita("tool", "pin", "http_request", "--json").json["approved"] is False
    monkeypatch.setenv("PATH", "/nowhere")
    report = alita("doctor", "--json").json["library"]["rebuilt"]["report"]
    assert report in said
    assert report in alita("doctor").out


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
