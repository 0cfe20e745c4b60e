"""`make bench`: one document on stdout, and plain words about what cannot be measured."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import pytest

import benchmarks
from alita_mcp.errors import UsageError
from benchmarks import __main__, start

HERE = Path(benchmarks.__file__).parent


def test_a_benchmark_prints_its_table_or_one_json_document(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {
        "initialize": {
            "minimal_s": 1.0,
            "first_s": 0.5,
            "later_s": 0.1,
            "first_ratio": 0.5,
            "later_ratio": 0.1,
        }
    }
    result = {"answers": answers, "met": False, "missed": ["a goal"], "starts": 1, "load": 0, "processors": 2,
              "python": "3", "mcp": "2", "later_client_bytes": 8_000_000}  # fmt: skip
    asked: list[argparse.Namespace] = []
    monkeypatch.setattr(start, "run", lambda options: asked.append(options) or result)
    assert __main__.main(["start", "-n", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == result
    assert asked[0].starts == 4
    assert __main__.main(["start"]) == 0
    assert capsys.readouterr().out.startswith("answer to")


def test_what_cannot_be_measured_is_said_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["retrieval", "--catalogue", "none"]) == UsageError.exit_status
    streams = capsys.readouterr()
    assert (streams.out, "--queries are needed" in streams.err) == ("", True)
    with pytest.raises(SystemExit):
        __main__.main(["no_such_benchmark"])
    assert "synthesis" in capsys.readouterr().err


def test_the_documentation_has_a_section_for_each_benchmark() -> None:
    text = (HERE.parent / "docs" / "benchmarks.md").read_text("utf-8")
    named = set(re.findall(r"^## \w+: `(\w+)", text, re.MULTILINE))
    there = {path.stem for path in HERE.iterdir() if path.name[0] not in "_." and path.name != "__pycache__"}
    assert named == there
