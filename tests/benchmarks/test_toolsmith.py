"""`alita bench toolsmith` with recorded answers, with a model on loopback, and with what a person may get wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.errors import SandboxUnavailable, UsageError
from alita_mcp.settings import ModelChoice, Settings
from benchmarks import toolsmith
from benchmarks.toolsmith.judged_requests import read_requests
from tests.benchmarks.toolsmith_runs import HIDDEN, RECORDED, ROW, measured, options, written
from tests.models.openai_server import openai_server
from tests.synthesis.authors import GOOD, PLAIN, ROOT, Script, coded

STRONG = Path(__file__).parents[1] / "data" / "strong_model_answers.jsonl"


async def test_recorded_answers_take_the_model_s_place(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = await measured(settings, written(tmp_path / "file", RECORDED), ["--replay"])
    for name in ("toolsmith", "one-call", "one-suite"):
        figures = result[name]
        assert (figures["requests"], figures["published"], figures["right"]) == (1, 1, 1), name
        assert (figures["wrong_published"], figures["not_judged"]) == (0, 0)
        (trial,) = figures["trials"]
        assert figures["calls"] == {"median": trial["calls"], "total": trial["calls"]}
        assert figures["tokens_per_right_tool"] == trial["prompt_tokens"] + trial["completion_tokens"] > 0
    assert result["one-call"]["calls"]["total"] == 1
    assert result["one-suite"]["calls"]["total"] == 2
    assert 3 <= result["toolsmith"]["calls"]["total"] <= 7
    assert (result["sandbox"], result["model"]) == ("wasm", "answers recorded before")
    text = toolsmith.table(result)
    assert "| right by every hidden example | 1 | 1 | 1 |" in text
    assert "answers recorded before" in text
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "1/1 digit_sum, one-call: created right (1 calls" in streams.err
    assert not settings.home.exists()


@pytest.mark.slow
async def test_a_strong_model_s_recorded_tools_are_published_and_right(
    settings: Settings, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in STRONG.read_text(encoding="utf-8").strip().split("\n")]
    chosen = [row for row in rows if row["name"] in ("wrap_paragraphs", "text_histogram", "easter_date")]
    result = await measured(
        settings, written(tmp_path / "file", *chosen), ["--replay", "--only", "toolsmith"]
    )
    figures = result["toolsmith"]
    assert (figures["published"], figures["right"], figures["wrong_published"]) == (3, 3, 0)
    assert set(result) >= {"toolsmith", "sandbox", "date"}
    assert "one-call" not in result


@pytest.mark.slow
async def test_the_same_requests_go_to_an_openai_compatible_server(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    file, folder = written(tmp_path / "file", {**ROW, "examples": GOOD["tests"][:1]}), tmp_path / "exchanges"

    def author(request: Any) -> Any:
        if "Test the Python function" in request.text:
            return GOOD
        return coded(PLAIN) if "Write the Python function" in request.text else script(request)

    script = Script(candidates=[PLAIN])
    with openai_server(author) as (url, asked):
        words = ["--model", "openai/scripted", "--base-url", url, "--record", str(folder)]
        result = await measured(settings, file, words)
    total = sum(result[name]["calls"]["total"] for name in ("toolsmith", "one-call", "one-suite"))
    assert total == len(asked.requests) == len(list(folder.glob("*.json")))
    assert [result[name]["right"] for name in ("toolsmith", "one-call", "one-suite")] == [1, 1, 1]
    assert result["one-call"]["tokens"]["total"] == 12
    assert result["model"] == "openai/scripted"
    assert result["toolsmith"]["model_seconds"]["median"] > 0
    for hidden in HIDDEN:
        assert all(str(hidden["arguments"]["number"]) not in json.dumps(body) for body in asked.requests)

    again = await measured(settings, file, ["--replay", str(folder)])
    for name in ("toolsmith", "one-call", "one-suite"):
        assert again[name]["tokens"] == result[name]["tokens"], name


@pytest.mark.slow
async def test_what_no_hidden_example_allows_is_counted_wrong_though_all_agree_on_it(
    settings: Settings, tmp_path: Path
) -> None:
    small = [test for test in GOOD["tests"] if abs(test["arguments"]["number"]) < 10]
    small += [{"arguments": {"number": number}, "expected": number} for number in (1, 2, 3, 4, 7)]
    row = RECORDED | {"suites": [small] * 3, "candidates": [{"code": ROOT}] * 3}
    result = await measured(settings, written(tmp_path / "file", row), ["--replay"])
    for name in ("one-call", "one-suite"):
        figures = result[name]
        assert (figures["published"], figures["right"], figures["wrong_published"]) == (1, 0, 1), name
        assert figures["calls_per_right_tool"] is None
    assert result["toolsmith"]["right"] == 0
    assert result["toolsmith"]["wrong_published"] == result["toolsmith"]["published"]
    assert '{"arguments": {"number": 98765}, "expected": 35}: gave 8' in toolsmith.table(result)


async def test_no_recorded_answer_serves_twice(settings: Settings, tmp_path: Path) -> None:
    row = RECORDED | {"suites": [[{"arguments": {"number": 5}, "expected": 6}]]}
    result = await measured(settings, written(tmp_path / "file", row), ["--replay", "--only", "one-suite"])
    (trial,) = result["one-suite"]["trials"]
    assert (trial["status"], trial["published"]) == ("failed", False)
    assert trial["reason"].startswith("ModelError: No further repair is recorded")
    assert result["one-suite"]["otherwise_ended"] == {"failed": 1}
    assert "digit_sum: failed: ModelError" in toolsmith.table(result)


async def test_a_suite_is_tried_six_times_and_no_more(settings: Settings, tmp_path: Path) -> None:
    impossible = [{"arguments": {"number": 5}, "expected": 6}]
    row = RECORDED | {"suites": [impossible], "repairs": [{"code": PLAIN}] * 9}
    result = await measured(settings, written(tmp_path / "file", row), ["--replay", "--only", "one-suite"])
    figures = result["one-suite"]
    assert (figures["calls"]["total"], figures["published"]) == (7, 0)
    assert figures["rejected_by_stage"] == {"examples": 1}
    assert "gave 5" in figures["trials"][0]["reason"]


@pytest.mark.slow
async def test_answers_take_the_time_that_their_length_says(settings: Settings, tmp_path: Path) -> None:
    row = RECORDED | {"latency_s": {"specification": 0.0}}
    words = ["--replay", "--tokens-per-second", "900", "--only", "one-call", "toolsmith"]
    result = await measured(settings, written(tmp_path / "file", row), words)
    (trial,) = result["one-call"]["trials"]
    assert trial["model_seconds"] >= round(trial["completion_tokens"] / 900, 3) > 0
    assert result["toolsmith"]["seconds_to_model_seconds"] > 1


@pytest.mark.slow
async def test_a_name_that_no_tool_may_have_is_rejected_and_the_next_request_served(
    settings: Settings, tmp_path: Path
) -> None:
    taken = RECORDED | {"name": "run_tool"}
    file = written(tmp_path / "file", taken, RECORDED)
    result = await measured(settings, file, ["--replay", "--only", "toolsmith"])
    first, second = result["toolsmith"]["trials"]
    assert (first["status"], first["stage"], first["calls"]) == ("rejected", "schema", 0)
    assert second["right"]


async def test_without_a_model_nothing_is_measured(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No model is configured"):
        await measured(settings, written(tmp_path / "file", ROW))


@pytest.mark.parametrize("words", [["--model", "openai/x"], ["--base-url", "http://x"], ["--record", "x"]])
def test_a_replay_asks_no_model(tmp_path: Path, words: list[str]) -> None:
    given = options(written(tmp_path / "file", RECORDED), "--replay", *words)
    with pytest.raises(UsageError, match="asks no model"):
        toolsmith.run(given)


def test_a_sandbox_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    given = options(written(tmp_path / "file", RECORDED), "--replay")
    given.sandbox = "cellar"
    with pytest.raises(SandboxUnavailable, match="cellar"):
        toolsmith.run(given)


@pytest.mark.parametrize(
    "words",
    [["--limit", "0"], ["--model", "a b"], ["--model", ""], ["--tokens-per-second", "nan"], ["--only", "me"]],
)
def test_options_that_mean_nothing_are_refused(tmp_path: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit):
        options(tmp_path, *words)


def test_one_model_takes_every_role_and_nothing_ties_the_run_to_a_person_s_library(tmp_path: Path) -> None:
    mine = Settings(
        home=tmp_path,
        model="openai/other",
        model_coder=ModelChoice(name="openai/mine", key_from="MINE", timeout_s=7),
        embedder="openai/embedder",
        policy="locked",
        workspace=tmp_path,
    )
    chosen = toolsmith.settings_for(options(tmp_path, "--model", "openai/new", "--mode", "quick"), mine)
    assert (chosen.model, chosen.synthesis_mode, chosen.sandbox) == ("openai/new", "quick", "wasm")
    assert chosen.model_coder == ModelChoice(timeout_s=7)
    assert (chosen.embedder, chosen.policy, chosen.workspace) == (None, "ask", None)
    assert chosen.response_cache_mb == 0
    assert toolsmith.settings_for(options(tmp_path), mine).model_coder == mine.model_coder


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no request"),
        ("\n\n", "holds no request"),
        ("{", "line 1"),
        ("[]", "line 1"),
        (json.dumps({**ROW, "hidden": []}), "hidden"),
        (json.dumps({**ROW, "hidden": [{"arguments": {}, "check": "__import__('os').system('true')"}]}), "check"),
        (json.dumps({**ROW, "name": "../../x"}), "name"),
        (json.dumps({**ROW, "request": ""}), "request"),
        (json.dumps({**ROW, "latency_s": {"suite": -1}}), "latency"),
        (json.dumps({**ROW, "latency_s": {"suite": 1e9}}), "latency"),
        (json.dumps({**ROW, "latency_s": {"lunch": 1}}), "latency_s"),
        (f"{json.dumps(ROW)}\nnot json", "line 2"),
        ("[" * 100_000, "line 1"),
    ],
    ids=[
        "empty", "blank", "brace", "list", "no hidden", "check", "path", "no words", "negative", "endless", "unknown",
        "second line", "deep",
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "requests"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said) as refused:
        read_requests(path)
    assert str(path) in refused.value.message


def test_a_file_that_is_no_text_or_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("bytes", "absent"):
        with pytest.raises(UsageError, match="cannot be read"):
            read_requests(tmp_path / name)


def test_a_line_ends_where_json_lines_do_and_other_fields_do_not_matter(tmp_path: Path) -> None:
    row = {"name": "digit_sum", "description": "one\u2028two", "hidden": HIDDEN, "right": True}
    path = tmp_path / "requests"
    path.write_text(json.dumps(row, ensure_ascii=False) + "\r\n\n", encoding="utf-8")
    (request,) = read_requests(path)
    assert request.text == "one\u2028two"
    assert request.as_request() == {"name": "digit_sum", "description": "one\u2028two"}
    assert "hidden" not in request.as_request()
