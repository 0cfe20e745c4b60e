from __future__ import annotations

import json

import pytest

from alita_mcp.cli.output import Output, columns
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Grants


def test_the_result_goes_to_stdout_and_notes_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.note("working")
    output.print_result({"a": 1}, "one")
    assert capsys.readouterr() == ("one\n", "working\n")


def test_json_takes_the_value_instead_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).print_result({"grants": [Grants()], "name": "é"}, "text")
    out = capsys.readouterr().out
    assert json.loads(out) == {"grants": [Grants().model_dump(mode="json")], "name": "é"}
    assert "é" in out


def test_json_steers_no_terminal_and_is_the_same_value(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"\x9b31m": ["\u202e", "half \ud800", "\U000e0041 tag", "\u2028", "日本 é\t"]}
    Output(as_json=True).print_result(value, "")
    out = capsys.readouterr().out
    assert not HIDDEN.search(out)
    assert json.loads(out) == value
    assert "日本 é" in out


def test_an_empty_text_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Output().print_result([], "")
    assert capsys.readouterr().out == ""


def test_columns_line_up_and_have_no_trailing_blanks() -> None:
    assert columns([("a", "bb", ""), ("ccc", "d", "last")]) == "a    bb\nccc  d   last"
    assert columns([]) == ""


async def test_progress_is_plain_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Output().progress("make") as on_stage:
        await on_stage("static")
        await on_stage("examples")
    assert capsys.readouterr() == ("", "make: static\nmake: examples\n")
