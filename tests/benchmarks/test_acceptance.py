from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from alita_mcp.errors import UsageError
from alita_mcp.verification.agreement.agreement import Candidate, Matrix
from benchmarks.acceptance import add_arguments, always, retried, run, table
from benchmarks.acceptance.scores import Score
from benchmarks.acceptance.stored import Row, counted, draw, idealised, read_matrix, seen
from benchmarks.acceptance.strong import SHAPES, lines, read_runs, replay

RIGHT, WRONG = "def f(n):\n    return n + 1\n", "def f(n):\n    return n\n"


SURE: dict[str, Any] = {"suites": [[0, 1], [1, 0], [0, 1], []]}
"""Suites of which all tests hold."""


def task(task_id: str = "T/1", *, right: int = 15, wrong: int = 5, oracle_ok: bool = True) -> dict[str, Any]:
    """A task whose suites hold one test each: the first two are right, the third contradicts the truth."""
    return {
        "task_id": task_id, "oracle_ok": oracle_ok, "suites": [[0], [1], [2], []],
        "ref_V": "110", "ref_O": ["a", "b", "c"],
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
    matrix = stored(tmp_path, task("T/1") | SURE, task("T/2", right=2, wrong=18) | SURE, zipped=zipped)
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
    figures = result["rules"]["agreement (record)"]
    assert (figures["accepted"], figures["accept_rate"], figures["false_accept_rate"]) == (3, 0.5, 0.0)
    assert figures["correct_per_request"] == 0.5
    assert figures["correct_interval"] == (0.0, 1.0)
    assert result["rules"]["provisional (record)"]["accepted"] <= 3
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
    assert result["rules"]["agreement (record)"]["correct_per_request"] == 0.0


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


def test_codet_always_answers_with_size_times_tests_passed() -> None:
    few, many = Candidate(RIGHT, ("a", "b"), (True, True)), Candidate(WRONG, ("x", "y"), (True, False))
    suites = (frozenset({0, 1}),)
    assert always(Matrix((few, many, many, many), suites)) == 1
    assert always(Matrix((few, many), suites)) == 0
    assert always(Matrix((Candidate("", (), ()),), suites)) is None
    assert always(Matrix((few,), ())) is None


def test_a_record_counts_candidates_tests_and_pairs_that_agree(tmp_path: Path) -> None:
    row = next(read_matrix(stored(tmp_path, task())))
    record = counted([(row, [seen(row, (0, 0, 1, 2), (0, 1, 2, 3)), seen(row, (0,), (3,))])])
    assert (record.candidates.right, record.candidates.wrong) == (3, 2)
    assert (record.tests.right, record.tests.wrong) == (2, 1)
    assert (record.misread.right, record.misread.wrong) == (pytest.approx(4 / 12), pytest.approx(1 / 12))
    assert counted([]).misread.total == 0


def test_ideal_ones_replace_candidates_and_suites(tmp_path: Path) -> None:
    row = next(read_matrix(stored(tmp_path, task())))
    drawn = seen(row, (1, 1, 2), (2, 3))
    assert idealised(row, drawn, 0.0, Random(0)) == drawn
    whole = idealised(row, drawn, 1.0, Random(0))
    assert whole.correct == (True, True, True)
    assert whole.matrix.suites == (frozenset({0, 1}),) * 2
    assert [candidate.passes for candidate in whole.matrix.candidates] == [(True, True, False)] * 3


def test_the_more_is_ideal_the_more_is_verified(tmp_path: Path) -> None:
    file = stored(tmp_path, task("T/1", right=1, wrong=19), task("T/2", right=1, wrong=19))
    words = ("--matrix", str(file), "--trials", "4", "--candidates", "5", "--suites", "4", "--mixed")
    result = run(options(*words))
    shares = [point["rules"]["agreement (no record)"]["correct_per_request"] for point in result["mixed"]]
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert "Ideal ones: 75%" in table(result)


def test_constants_are_chosen_on_the_other_folds(tmp_path: Path) -> None:
    tasks = [task(f"T/{number}", right=19, wrong=1) | SURE for number in range(4)]
    result = run(options("--matrix", str(stored(tmp_path, *tasks)), "--trials", "5", "--folds", "2"))
    assert result["rules"]["agreement (fitted elsewhere)"]["false_accept_rate"] == 0.0
    assert result["rules"]["agreement (fitted elsewhere)"]["correct_per_request"] == 1.0


def test_a_score_knows_how_far_tasks_differ() -> None:
    score = Score()
    for number in range(10):
        score.count(f"T/{number}", accepted=number < 5, correct=number > 0)
    figures = score.figures()
    assert (figures["accept_rate"], figures["false_accept_rate"]) == (0.5, 0.2)
    low, high = figures["correct_interval"]
    assert 0.0 <= low < 0.4 < high < 1.0
    assert Score().figures()["false_interval"] == (0.0, 0.0)


def strong_run(**changed: Any) -> dict[str, Any]:
    """One recorded synthesis of `f(n) = n + 1`: three candidates, three suites."""
    suites = [
        [{"arguments": {"n": 10 * suite + n}, "expected": 10 * suite + n + 1} for n in range(8)]
        for suite in range(3)
    ]
    codes = [
        f'def one_more(n: int) -> int:\n    """One more."""\n    return n + {k} - {k - 1}\n'
        for k in (1, 2, 3)
    ]
    return {
        "name": "one_more", "request": "n\u2028n + 1", "suites": suites,
        "specifications": [{"description": "Adds one."}],
        "candidates": [{"code": code, "right": True} for code in codes],
    } | changed  # fmt: skip


def recorded(folder: Path, *runs: Any) -> Path:
    file = folder / "strong.jsonl"
    file.write_text("".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in runs), "utf-8")
    return file


def test_each_specification_of_a_recorded_request_is_a_run_of_its_own(tmp_path: Path) -> None:
    one = strong_run()
    two = one | {key: one[key] * 2 for key in ("specifications", "suites", "candidates")}
    runs = list(read_runs(recorded(tmp_path, one, two)))
    assert [(len(drafts), len(suites), right) for drafts, suites, right in runs] == [(3, 3, [True] * 3)] * 3


@pytest.mark.parametrize(
    "broken", [{}, [], strong_run(specifications=[]), strong_run(suites=[[{"expected": 1, "raises": "E"}]])]
)
def test_a_file_that_holds_no_recorded_run_is_refused_by_line(tmp_path: Path, broken: Any) -> None:
    file = recorded(tmp_path, strong_run(), broken)
    if broken == strong_run(specifications=[]):
        assert len(list(read_runs(file))) == 1
        return
    with pytest.raises(UsageError, match="line 2 is no recorded run"):
        list(read_runs(file))


def test_recorded_runs_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_runs(tmp_path / "missing"))


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("bubblewrap")
def test_recorded_candidates_are_run_on_recorded_suites(tmp_path: Path) -> None:
    wrong = strong_run()
    wrong["candidates"] = [
        {"code": f'def one_more(n: int) -> int:\n    """One more."""\n    return n + {k}\n', "right": False}
        for k in (2, 3, 4)
    ]
    result = replay(recorded(tmp_path, strong_run(), wrong), "bubblewrap")
    shapes = {(each["record"], each["candidates"], each["suites"]): each for each in result["shapes"]}
    assert len(shapes) == 2 * len(SHAPES)
    three = shapes["no record", 3, 3]
    assert (three["matrices"], three["published"], three["verified"], three["right"]) == (2, 0.5, 0.5, 1.0)
    assert shapes["no record", 1, 2]["verified"] == 0.0
    assert shapes["strong record", 1, 2]["verified"] == 0.5
    assert "strong record, 3 x 3" in "\n".join(lines(result))


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
