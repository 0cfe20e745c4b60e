"""The figures of the synthesis benchmark, worked out by hand."""

from __future__ import annotations

from benchmarks.synthesis.judge import BrokenRequest, Unbroken
from benchmarks.synthesis.mutate import mutations
from benchmarks.synthesis.server import Trial
from benchmarks.synthesis.tally import as_table, tally, tally_broken
from benchmarks.synthesis.tool_requests import ToolRequest

CREATED = Trial(
    task_id="T/1", tool="one", status="created", trust="verified", right=2, hidden=2, seconds=1.0, listed=True,
    seconds_by_gate={"static": 0.1, "mutation": 0.5}, calls=4, tokens=900,
)  # fmt: skip
HALF_RIGHT = Trial(
    task_id="T/2", tool="two_2", status="created", trust="provisional", right=1, hidden=3, seconds=3.0,
    wrong=("a gave b",), renamed=True, seconds_by_gate={"static": 0.3},
)  # fmt: skip
REJECTED = Trial(
    task_id="T/3", tool="three", status="rejected", stage="examples", reason="wrong", hidden=5, seconds=2.0
)
EXISTS = Trial(task_id="T/4", tool="four", status="exists", reason="same results", hidden=1, seconds=0.5)
LOST = Trial(task_id="T/5", tool="five", status="failed", reason="no answer in time", hidden=1)
EVERY = (CREATED, HALF_RIGHT, REJECTED, EXISTS, LOST)


def test_each_request_is_counted_once_and_hidden_examples_for_published_tools_only() -> None:
    figures = tally(EVERY)
    assert (figures["requests"], figures["published"], figures["rejected"], figures["failed"]) == (5, 2, 1, 2)
    assert figures["published_share"] == 0.4
    assert figures["published_by_trust"] == {"provisional": 1, "verified": 1}
    assert (figures["hidden_right"], figures["hidden_total"], figures["tools_all_hidden_right"]) == (3, 5, 1)
    assert figures["seconds"] == {"median": 1.5, "p90": 3.0, "max": 3.0}
    assert figures["seconds_by_gate"]["static"] == {"median": 0.2, "p90": 0.3, "max": 0.3}
    assert figures["model_calls"]["max"] == 4
    assert figures["tokens"]["median"] == 450
    text = as_table({"wasm": figures, "docker": tally([CREATED])})
    assert text.startswith("| | wasm | docker |\n|---|---:|---:|\n| requests | 5 | 1 |\n")
    assert "| published | 2 (40.0%) | 1 (100.0%) |" in text
    assert "| … mutation | 0.50 / 0.50 / 0.50 | 0.50 / 0.50 / 0.50 |" in text
    for line in (
        "- T/3 three: examples: wrong",
        "- T/4 four: exists: same results",
        "- T/2: wrong: a gave b",
    ):
        assert line in text
    assert "\ndocker:" not in text


def broken(noticed_by: str, kind: str) -> BrokenRequest:
    mutation = next(each for each in mutations("def f(a, b):\n    return a < b\n") if each.kind == kind)
    request = {
        "task_id": "T",
        "name": "f",
        "description": "",
        "code": mutation.code,
        "tests": [{"expected": 1}],
    }
    return BrokenRequest.model_validate(
        {
            "request": ToolRequest.model_validate(request),
            "mutation": mutation,
            "noticed_by": noticed_by,
            "drawn": 3,
        }
    )


def test_broken_ones_are_split_by_who_notices_and_the_table_says_what_was_let_in() -> None:
    pairs = (broken("tests", "comparison"), broken("tests", "comparison"), broken("hidden", "boundary"))
    trials = (CREATED, REJECTED, HALF_RIGHT)
    figures = tally_broken(pairs, (Unbroken(task_id="T/9", why="none is noticed"),), trials, 7)
    assert (figures["seed"], figures["broken"], figures["published"]) == (7, 3, 2)
    assert (figures["false_publish_rate"], figures["mutants_unnoticed"]) == (0.6667, 6)
    assert figures["noticed_by_tests"] == {"broken": 2, "published": 1}
    assert figures["noticed_by_hidden_only"] == {"broken": 1, "published": 1}
    text = as_table({"wasm": tally(trials) | {"broken": figures}})
    assert "| **broken and published** | 2 (66.7%) |" in text
    assert "published though line 2 has `(a <= b)` for `a < b` (provisional; noticed by hidden" in text
    assert "- T/9: not broken: none is noticed" in text
    assert "T/3" not in text
