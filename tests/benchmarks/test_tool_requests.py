from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.errors import UsageError
from benchmarks.synthesis.tool_requests import read_requests

ROW: dict[str, Any] = {
    "task_id": "T/1",
    "name": "double",
    "description": "Doubles.",
    "code": "def double(x: int) -> int:\n    return 2 * x  # not redouble\n",
    "tests": [{"arguments": {"x": 1}, "expected": 2}],
    "hidden": [{"arguments": {"x": 0}, "expected": 0}],
}


def written(path: Path, *rows: object) -> Path:
    path.write_text("\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_requests_are_read_in_order_and_the_limit_keeps_the_first(tmp_path: Path) -> None:
    path = written(tmp_path / "requests", ROW, ROW | {"task_id": "T/2"})
    assert [each.task_id for each in read_requests(path)] == ["T/1", "T/2"]
    assert [each.task_id for each in read_requests(path, 1)] == ["T/1"]


def test_what_is_handed_in_says_nothing_of_the_hidden_examples(tmp_path: Path) -> None:
    (request,) = read_requests(written(tmp_path / "requests", ROW))
    assert request.words() == {key: ROW[key] for key in ("name", "description", "code", "tests")}
    (wide,) = read_requests(
        written(tmp_path / "wide", ROW | {"use_when": ["twice 3"], "packages": ["numpy"]})
    )
    assert wide.words()["use_when"] == ["twice 3"]
    assert wide.words()["packages"] == ["numpy"]


def test_another_name_goes_into_the_code_too_and_only_as_a_whole_word(tmp_path: Path) -> None:
    (request,) = read_requests(written(tmp_path / "requests", ROW))
    other = request.under("double_2")
    assert other.name == "double_2"
    assert other.code == "def double_2(x: int) -> int:\n    return 2 * x  # not redouble\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no request"),
        ("not json", "line 1"),
        (json.dumps(ROW) + '\n{"task_id": "T/2"}', "line 2: name"),
        (json.dumps(ROW | {"tests": []}), "line 1: tests"),
        (json.dumps(ROW | {"tests": [{"arguments": {}}]}), "exactly one of"),
        (json.dumps(ROW | {"hidden": [{"arguments": {}, "check": "True"}]}), "not check"),
        (json.dumps(ROW | {"surprise": 1}), "surprise"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "requests"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_requests(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_requests(tmp_path / "nowhere")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        read_requests(tmp_path / "bytes")
