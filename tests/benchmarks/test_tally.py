from __future__ import annotations

from benchmarks.synthesis.delivery import Trial
from benchmarks.synthesis.judge import BrokenRequest, Unbroken
from benchmarks.synthesis.mutate import mutations
from benchmarks.synthesis.tally import as_table, tally, tally_broken
from benchmarks.synthesis.tool_requests import ToolRequest

CREATED = Trial(
    task_id="T/1", tool="one", status="created", trust="verified", right=2, hidden=2, seconds=1.0, listed=True,
    software={"alita": "0"}, seconds_by_gate={"static": 0.1, "mutation": 0.5},
)  # fmt: skip
HALF_RIGHT = Trial(
    task_id="T/2", tool="two_2", status="created", trust="provisional", right=1, hidden=3, seconds=3.0,
    wrong=("a gave b",), renamed=True, seconds_by_gate={"static": 0.3},
)  # fmt: skip
REJECTED = Trial(
    task_id="T/3",
    tool="three",
    status="rejected",
    stage="examples",
    reason="wrong result",
    hidden=5,
    seconds=2.0,
)
EXISTS = Trial(task_id="T/4", tool="four", status="exists", reason="same results", hidden=1, seconds=0.5)
LOST = Trial(
    task_id="T/5", tool="five", status="failed", reason="no answer in time", hidden=1, broke_off=True
)
EVERY = (CREATED, HALF_RIGHT, REJECTED, EXISTS, LOST)


def test_each_request_is_counted_once() -> None:
    figures = tally(EVERY)
    assert figures["requests"] == 5
    assert figures["published"] + figures["rejected"] + figures["exists"] + figures["failed"] == 5
    assert figures["published_share"] == 0.4
    assert figures["published_by_trust"] == {"provisional": 1, "verified": 1}
    assert figures["listed_at_once"] == 1
    assert figures["rejected_by_stage"] == {"examples": 1}
    assert figures["rejections"] == [
        {
            "task_id": "T/3",
            "tool": "three",
            "status": "rejected",
            "stage": "examples",
            "reason": "wrong result",
        }
    ]
    assert [each["reason"] for each in figures["failures"]] == ["no answer in time"]
    assert figures["renamed"] == ["two_2"]
    assert figures["software"] == {"alita": "0"}


def test_hidden_examples_count_for_published_tools_only() -> None:
    figures = tally(EVERY)
    assert (figures["hidden_right"], figures["hidden_total"]) == (3, 5)
    assert figures["tools_all_hidden_right"] == 1
    assert figures["wrong"] == [{"task_id": "T/2", "examples": ["a gave b"]}]


def test_seconds_leave_out_what_never_came() -> None:
    assert tally(EVERY)["seconds"] == {"median": 1.5, "p90": 3.0, "max": 3.0}
    ten = [CREATED.model_copy(update={"seconds": float(number)}) for number in range(1, 11)]
    assert tally(ten)["seconds"] == {"median": 5.5, "p90": 9.0, "max": 10.0}
    assert tally([LOST])["seconds"] == {"median": 0.0, "p90": 0.0, "max": 0.0}


def test_seconds_are_told_for_each_gate_that_published_tools_went_through() -> None:
    figures = tally(EVERY)
    assert figures["seconds_by_gate"] == {
        "static": {"median": 0.2, "p90": 0.3, "max": 0.3},
        "mutation": {"median": 0.5, "p90": 0.5, "max": 0.5},
    }
    table = as_table({"wasm": figures, "docker": tally([REJECTED])})
    assert "| … static | 0.20 / 0.30 / 0.30 | - |" in table
    assert "| … mutation | 0.50 / 0.50 / 0.50 | - |" in table


def broken(noticed_by: str, kind: str) -> BrokenRequest:
    code = "def f(a, b):\n    return a < b\n"
    mutation = next(each for each in mutations(code) if each.kind == kind)
    request = ToolRequest.model_validate(
        {"task_id": "T", "name": "f", "description": "", "code": mutation.code, "tests": [{"expected": 1}]}
    )
    return BrokenRequest.model_validate(
        {"request": request, "mutation": mutation, "noticed_by": noticed_by, "drawn": 3}
    )


BROKEN = (broken("tests", "comparison"), broken("tests", "comparison"), broken("hidden", "boundary"))
UNBROKEN = (Unbroken(task_id="T/9", why="none of 3 mutants is noticed"),)


def test_broken_ones_are_split_by_who_notices_and_by_mistake() -> None:
    figures = tally_broken(BROKEN, UNBROKEN, (CREATED, REJECTED, HALF_RIGHT), 7)
    assert (figures["seed"], figures["broken"], figures["published"]) == (7, 3, 2)
    assert figures["false_publish_rate"] == 0.6667
    assert figures["mutants_unnoticed"] == 6
    assert figures["published_by_trust"] == {"provisional": 1, "verified": 1}
    assert figures["noticed_by_tests"] == {"broken": 2, "published": 1}
    assert figures["noticed_by_hidden_only"] == {"broken": 1, "published": 1}
    assert figures["by_mutation"] == {
        "boundary": {"broken": 1, "published": 1},
        "comparison": {"broken": 2, "published": 1},
    }
    assert figures["not_broken"] == [{"task_id": "T/9", "why": "none of 3 mutants is noticed"}]
    assert figures["published_broken"][1] == {
        "task_id": "T/2", "tool": "two_2", "trust": "provisional", "noticed_by": "hidden",
        "mutation": "boundary", "line": 2, "before": "a < b", "after": "(a <= b)", "hidden": "1/3",
    }  # fmt: skip


def test_the_table_has_a_column_for_each_sandbox_and_names_each_request_that_was_not_published() -> None:
    text = as_table({"wasm": tally(EVERY), "docker": tally([CREATED])})
    assert text.startswith("| | wasm | docker |\n|---|---:|---:|\n| requests | 5 | 1 |\n")
    assert "| published | 2 (40.0%) | 1 (100.0%) |" in text
    assert "| seconds a tool: median / p90 / max | 1.50 / 3.00 / 3.00 | 1.00 / 1.00 / 1.00 |" in text
    for line in (
        "- T/3 three: examples: wrong result",
        "- T/4 four: exists: same results",
        "- T/5 five: failed: no answer in time",
        "- T/2: wrong: a gave b",
    ):
        assert line in text
    assert "\ndocker:" not in text


def test_the_table_of_broken_ones_says_what_was_let_in_and_not_what_was_rightly_refused() -> None:
    trials = (CREATED, REJECTED, HALF_RIGHT)
    text = as_table({"wasm": tally(trials) | {"broken": tally_broken(BROKEN, UNBROKEN, trials, 7)}})
    assert "| **broken and published** | 2 (66.7%) |" in text
    assert "| … by trust | provisional 1, verified 1 |" in text
    assert "| … noticed by hidden examples only | 1 of 1 |" in text
    assert "published though line 2 has `(a <= b)` for `a < b` (provisional; noticed by hidden" in text
    assert "- T/9: not broken: none of 3 mutants is noticed" in text
    assert "T/3" not in text
