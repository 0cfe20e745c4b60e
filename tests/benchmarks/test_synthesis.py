from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from alita_mcp.errors import SandboxUnavailable
from benchmarks import synthesis

ROOT = Path(__file__).resolve().parents[2]
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
    result = await measured("--requests", str(requests_file), "--sandbox", "wasm")
    figures = result["wasm"]
    assert (figures["requests"], figures["published"], figures["rejected"]) == (2, 1, 1)
    assert (figures["hidden_right"], figures["hidden_total"]) == (2, 2)
    assert figures["listed_at_once"] == 1
    assert figures["rejections"][0]["task_id"] == "T/2"
    assert figures["rejections"][0]["stage"] == "examples"
    assert set(result) == {"wasm", "versions", "date"}
    assert json.loads(json.dumps(result)) == result
    text = synthesis.table(result)
    assert "| published | 1 (50.0%) |" in text
    assert "T/2 triple_it: examples" in text
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "wasm: 2/2 triple_it: rejected" in streams.err


@pytest.mark.process
async def test_a_solution_that_was_broken_where_its_tests_look_is_never_published(
    requests_file: Path,
) -> None:
    result = await measured(
        "--requests", str(requests_file), "--sandbox", "wasm", "--break", "3", "--limit", "1"
    )
    figures = result["wasm"]["broken"]
    assert (figures["seed"], figures["broken"], figures["published"]) == (3, 1, 0)
    assert figures["noticed_by_tests"] == {"broken": 1, "published": 0}
    assert "| **broken and published** | 0 (0.0%) |" in synthesis.table(result)


def test_a_sandbox_that_does_not_exist_is_an_error(requests_file: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="cellar"):
        synthesis.run(options("--requests", str(requests_file), "--sandbox", "cellar"))


def test_a_limit_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options("--requests", "x", "--limit", "0")
    assert "not a positive number" in capsys.readouterr().err
