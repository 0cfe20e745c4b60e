from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from alita_mcp.errors import UsageError
from benchmarks import synthesis
from benchmarks.synthesis.tool_requests import ToolRequest
from tests.in_process import IN_PROCESS
from tests.models.openai_server import openai_server
from tests.toolsmith.authors import REQUEST, Script

DOUBLE: dict[str, Any] = {
    "task_id": "T/1",
    "name": "double_it",
    "description": "Doubles a number.",
    "code": 'def double_it(x: int) -> int:\n    """Doubles a number."""\n    return 2 * x\n',
    "tests": [{"arguments": {"x": x}, "expected": 2 * x} for x in (0, 1, -5, 21)],
    "hidden": [{"arguments": {"x": 1000}, "expected": 2000}, {"arguments": {"x": 3}, "expected": 6}],
}
WRONG = DOUBLE | {
    "task_id": "T/2",
    "name": "triple_it",
    "code": DOUBLE["code"].replace("double_it", "triple_it"),
}
WRONG["tests"] = [{"arguments": {"x": x}, "expected": 3 * x} for x in (1, 2, 7)]


@pytest.fixture
def requests_file(tmp_path: Path) -> Path:
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in (DOUBLE, WRONG)), encoding="utf-8")
    return path


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    synthesis.add_arguments(parser)
    return parser.parse_args(words)


async def measured(*words: str) -> dict[str, Any]:
    return await anyio.to_thread.run_sync(synthesis.run, options(*words))


@pytest.mark.process
async def test_right_code_is_published_and_wrong_code_is_not(
    requests_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = await measured("--requests", str(requests_file), "--sandbox", IN_PROCESS)
    figures = result[IN_PROCESS]
    assert (figures["requests"], figures["published"], figures["rejected"]) == (2, 1, 1)
    assert (figures["hidden_right"], figures["hidden_total"]) == (2, 2)
    assert figures["listed_at_once"] == 1
    assert figures["not_published"][0]["task_id"] == "T/2"
    assert figures["not_published"][0]["stage"] == "examples"
    assert set(result) == {IN_PROCESS, "versions", "date"}
    assert json.loads(json.dumps(result)) == result
    text = synthesis.table(result)
    assert "| published | 1 (50.0%) |" in text
    assert "T/2 triple_it: examples" in text
    streams = capsys.readouterr()
    assert streams.out == ""
    assert f"{IN_PROCESS}: 2/2 triple_it: rejected" in streams.err


@pytest.mark.process
async def test_a_solution_that_was_broken_where_its_tests_look_is_never_published(
    requests_file: Path,
) -> None:
    result = await measured(
        "--requests", str(requests_file), "--sandbox", IN_PROCESS, "--break", "3", "--limit", "1"
    )
    figures = result[IN_PROCESS]["broken"]
    assert (figures["seed"], figures["broken"], figures["published"]) == (3, 1, 0)
    assert figures["noticed_by_tests"] == {"broken": 1, "published": 0}
    assert "| **broken and published** | 0 (0.0%) |" in synthesis.table(result)


@pytest.mark.process
async def test_a_request_without_code_is_written_by_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    hidden = [{"arguments": {"number": 98765}, "expected": 35}]
    row = {"task_id": "T/3", "name": "digit_sum", "description": REQUEST, "hidden": hidden}
    file = tmp_path / "requests.jsonl"
    file.write_text(json.dumps(row), encoding="utf-8")
    with openai_server(Script()) as (url, asked):
        words = (
            "--requests",
            str(file),
            "--sandbox",
            IN_PROCESS,
            "--model",
            "openai/scripted",
            "--base-url",
            url,
        )
        figures = (await measured(*words))[IN_PROCESS]
    assert (figures["published"], figures["hidden_right"]) == (1, 1)
    assert figures["model_calls"]["median"] == len(asked.requests) > 0
    assert figures["tokens"]["median"] > 0
    assert all("98765" not in json.dumps(body) for body in asked.requests)


SESSION = Path(__file__).parent.parent / "data" / "strong_session.jsonl"


@pytest.mark.process
@pytest.mark.parametrize("count", [6, pytest.param(20, marks=pytest.mark.exhaustive)])
async def test_what_a_strong_model_writes_is_verified_once_it_has_a_record(count: int) -> None:
    session = ("--recorded", str(SESSION), "--limit", str(count), "--sandbox", IN_PROCESS)
    figures = (await measured(*session))[IN_PROCESS]
    assert (figures["published"], figures["tools_all_hidden_right"]) == (count, count)
    assert figures["after_the_fifth"]["verified"] >= 0.8 * (count - 5)
    assert figures["model_calls"]["median"] <= 4
    assert figures["tokens"]["median"] <= 6_000


@pytest.mark.process
async def test_nothing_wrong_that_a_weak_model_writes_is_verified() -> None:
    session = ("--recorded", str(SESSION), "--limit", "6", "--weak", "1", "--sandbox", IN_PROCESS)
    figures = (await measured(*session))[IN_PROCESS]
    assert figures["published"] > 0
    assert figures["verified_and_wrong"] == 0
    assert "verified" not in figures["published_by_trust"]


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        ({"code": ""}, (), "has no code"),
        ({"code": ""}, ("--break", "1"), "no code to break"),
        ({"hidden": [{"arguments": {}, "check": "result"}]}, (), "not check"),
        ({"name": ""}, (), "line 1: name"),
    ],
)
def test_requests_that_do_not_fit_are_refused(
    tmp_path: Path, change: dict[str, Any], words: tuple[str, ...], said: str
) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text(json.dumps(DOUBLE | change), encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        synthesis.run(options("--requests", str(file), *words))


def test_what_is_handed_in_says_nothing_of_the_hidden_examples() -> None:
    request = ToolRequest.model_validate(DOUBLE)
    assert request.as_request().keys() == {"name", "description", "code", "tests"}
    assert request.under("double_it_2").code.startswith("def double_it_2(")
