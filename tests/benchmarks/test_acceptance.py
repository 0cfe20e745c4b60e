from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from alita_mcp.errors import UsageError
from alita_mcp.verification.agreement import Candidate, Matrix
from benchmarks.acceptance import Row, add_arguments, draw, read_matrix, retried, run, table

RIGHT, WRONG = "def f(n):\n    return n + 1\n", "def f(n):\n    return n\n"


def task(task_id: str = "T/1", *, right: int = 15, wrong: int = 5, oracle_ok: bool = True) -> dict[str, Any]:
    """A task whose suites hold one test each: even ones are right, odd ones contradict the truth."""
    return {
        "task_id": task_id, "oracle_ok": oracle_ok, "suites": [[0], [1], [2], []],
        "candidates": [
            {"code": RIGHT, "n": right, "V": "110", "O": ["a", "b", "c"], "heplus": True},
            {"code": WRONG, "n": wrong, "V": "001", "O": ["x", "y", "z"], "heplus": False},
            {"code": "def f(", "n": 1, "V": None, "O": None, "heplus": False},
        ],
    }  # fmt: skip


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(list(words))


def stored(folder: Path, *tasks: Any, zipped: bool = False) -> Path:
    file = folder / "matrix.jsonl"
    text = "".join(f"{json.dumps(each)}\n" for each in tasks).encode()
    file.write_bytes(gzip.compress(text) if zipped else text)
    return file


@pytest.mark.parametrize("zipped", [False, True])
def test_each_trial_is_told_with_its_draws_and_its_choice(tmp_path: Path, *, zipped: bool) -> None:
    out = tmp_path / "decisions.jsonl"
    matrix = stored(tmp_path, task("T/1"), task("T/2", right=2, wrong=18), zipped=zipped)
    words = (
        "--matrix",
        str(matrix),
        "--decisions",
        str(out),
        "--candidates",
        "21",
        "--suites",
        "4",
        "--trials",
        "3",
    )
    result = run(options(*words))
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [(line["task_id"], line["trial"]) for line in lines] == [
        (f"T/{t}", n) for t in (1, 2) for n in range(3)
    ]
    assert {(line["trust"], line["chosen"]) for line in lines if line["task_id"] == "T/1"} == {
        ("verified", 0)
    }
    assert {line["trust"] for line in lines if line["task_id"] == "T/2"} <= {"provisional", "rejected"}
    assert sorted(lines[0]["candidates"]).count(0) == 15
    assert sorted(lines[0]["suites"]) == [0, 1, 2, 3]
    assert result["rules"]["agreement"] == {
        "accepted": 3, "accept_rate": 0.5, "false_accept_rate": 0.0, "correct_per_request": 0.5,
    }  # fmt: skip
    assert "T/2" not in table(result)
    assert "agreement" in table(result)


def test_the_same_seed_draws_the_same_and_another_one_differently(tmp_path: Path) -> None:
    matrix = stored(tmp_path, task())
    decisions = []
    for seed in ("7", "7", "8"):
        out = tmp_path / "decisions.jsonl"
        run(options("--matrix", str(matrix), "--decisions", str(out), "--seed", seed, "--trials", "4"))
        decisions.append(out.read_text("utf-8"))
    assert decisions[0] == decisions[1] != decisions[2]


def test_a_task_whose_truth_is_unsure_is_left_out(tmp_path: Path) -> None:
    assert [
        row.task_id for row in read_matrix(stored(tmp_path, task("T/1", oracle_ok=False), task("T/2")))
    ] == ["T/2"]


def test_a_request_whose_suites_are_all_empty_is_still_a_request(tmp_path: Path) -> None:
    result = run(options("--matrix", str(stored(tmp_path, task() | {"suites": [[], []]})), "--trials", "2"))
    assert result["rules"]["CodeT, always"]["accept_rate"] == 0.0
    assert result["rules"]["agreement"]["correct_per_request"] == 0.0


def test_the_goal_is_judged_only_where_it_was_set(tmp_path: Path) -> None:
    matrix = str(stored(tmp_path, task()))
    assert "Goal" in table(run(options("--matrix", matrix, "--trials", "1")))
    assert "Goal" not in table(run(options("--matrix", matrix, "--trials", "1", "--suites", "5")))


def test_a_retry_stops_at_the_first_candidate_that_passes_the_first_suite() -> None:
    good, bad = Candidate(RIGHT, ("a",), (True,)), Candidate(WRONG, ("b",), (False,))
    suites = (frozenset[int](), frozenset({0}))
    assert retried(Matrix((bad, bad, good), suites), 5) == 2
    assert retried(Matrix((bad, bad, good), suites), 1) is None
    assert retried(Matrix((Candidate("", (), ()), good), suites), 5) == 1
    assert retried(Matrix((good,), (frozenset[int](),)), 5) is None


def test_nothing_is_drawn_more_often_than_it_was_written() -> None:
    row = Row("T", (Candidate(RIGHT, (), ()),) * 2, (3, 1), (frozenset({0}),), (True, False))
    candidates, suites = draw(row, 10, 10, Random(0))
    assert sorted(candidates) == [0, 0, 0, 1]
    assert suites == (0,)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{}\n", "line 1"),
        (b"not json\n", "line 1"),
        (b"[]\n", "line 1"),
        (b"\x1f\x8b broken", "cannot be read"),
        (b"\xff\xfe\n", "cannot be read"),
    ],
)
def test_a_file_that_is_no_matrix_is_refused_by_name(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "strange.jsonl"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        list(read_matrix(file))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_matrix(tmp_path / "missing"))


@pytest.mark.parametrize("count", ["0", "-1", "x"])
def test_a_count_is_a_number_above_zero(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options("--matrix", "m", "--trials", count)
    assert "is no count" in capsys.readouterr().err
