from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from alita_mcp.errors import UsageError
from alita_mcp.verification.agreement import Candidate
from benchmarks.acceptance import add_arguments, run, table
from benchmarks.acceptance.sequences import Ended, Synthesis, play
from benchmarks.acceptance.stored import Row, draw, read_matrix
from benchmarks.acceptance.strong import read_runs, read_syntheses, sample
from tests.in_process import IN_PROCESS

RIGHT, WRONG = "def f(n):\n    return n + 1\n", "def f(n):\n    return n\n"


def task(task_id: str = "T/1", *, right: int = 15, wrong: int = 5, oracle_ok: bool = True) -> dict[str, Any]:
    """A task with one suite of five tests that hold, one of two that contradict the truth, and an empty one."""
    return {
        "task_id": task_id, "oracle_ok": oracle_ok, "suites": [[0, 1, 2, 3, 4], [5, 6], []],
        "ref_V": "1111100", "ref_O": list("abcdefg"),
        "candidates": [
            {"code": RIGHT, "n": right, "V": "1111100", "O": list("abcdefg"), "heplus": True},
            {"code": WRONG, "n": wrong, "V": "0000011", "O": list("vwxyzuv"), "heplus": False},
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


def decisions_of(folder: Path, matrix: Path, *words: str) -> list[dict[str, Any]]:
    out = folder / "decisions.jsonl"
    run(options("--matrix", str(matrix), "--decisions", str(out), *words))
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("zipped", [False, True])
def test_each_trial_is_told_with_its_draws_and_what_it_ended_as(tmp_path: Path, *, zipped: bool) -> None:
    matrix = stored(tmp_path, *(task(f"T/{n}", right=20, wrong=0) | {"suites": [[0, 1, 2, 3, 4]]} for n in range(8)),
                    zipped=zipped)  # fmt: skip
    lines = decisions_of(tmp_path, matrix, "--candidates", "2", "--suites", "1", "--trials", "3")
    assert [(line["task_id"], line["trial"]) for line in lines] == [
        (f"T/{t}", n) for t in range(8) for n in range(3)
    ]
    assert sorted(line["place"] for line in lines) == list(range(24))
    agreeing = [line for line in lines if line["agrees"]]
    assert {tuple(line["candidates"]) for line in agreeing} == {(0, 0)}
    assert {(line["trust"], line["chosen"]) for line in agreeing} == {("verified", 0)}
    assert all(line["trust"] != "verified" for line in lines if not line["agrees"])
    assert any(line["raised"] for line in agreeing)
    assert {tuple(line["suites"]) for line in lines} == {(0,)}


def test_the_same_seed_draws_the_same_and_another_one_differently(tmp_path: Path) -> None:
    matrix = stored(tmp_path, task())
    one, again, other = (decisions_of(tmp_path, matrix, "--seed", seed, "--trials", "9") for seed in "778")
    assert one == again != other


def test_a_weak_model_gets_nothing_verified_and_an_ideal_one_everything(tmp_path: Path) -> None:
    tasks = [task(f"T/{number}", right=1, wrong=19) for number in range(8)]
    result = run(options("--matrix", str(stored(tmp_path, *tasks)), "--trials", "5"))
    points = {(point["mixture"], point["share"]): point for point in result["points"]}
    assert {mixture for mixture, _ in points} == {"ideal syntheses", "ideal parts"}
    assert [points["ideal syntheses", share]["verified"] for share in (0.0, 1.0)] == [0.0, 1.0]
    assert [points["ideal parts", share]["verified"] for share in (0.0, 1.0)] == [0.0, 1.0]
    assert all(point["wrong_per_1000"] == 0 for point in points.values())
    assert "met" in table(result)


def test_a_model_that_is_wrong_and_always_agrees_misses_the_goal(tmp_path: Path) -> None:
    wrong = {"code": WRONG, "n": 20, "V": "1111111", "O": list("abcdefg"), "heplus": False}
    tasks = [task(f"T/{number}") | {"candidates": [wrong]} for number in range(8)]
    result = run(options("--matrix", str(stored(tmp_path, *tasks)), "--trials", "3", "--suites", "2"))
    assert result["points"][0]["wrong_per_1000"] == 1_000
    assert "NOT met" in table(result)


def played(agreed: str) -> list[str]:
    """What each of these syntheses ends as: v and r for verified at once and later, p for provisional."""
    syntheses = [Synthesis(str(number), 0, each == "1", True) for number, each in enumerate(agreed)]
    words = {("verified", False): "v", ("verified", True): "r", ("provisional", False): "p"}
    return [words[ended] for ended in play(syntheses)]


@pytest.mark.parametrize(
    ("agreed", "ended"),
    [
        ("11111", "rpppv"),
        ("1111111", "rrrpvvv"),
        ("101110111", "pprrpppvv"),
        ("10101", "ppppp"),
        ("1011011", "ppppppp"),
    ],
)
def test_a_record_of_four_in_five_verifies_before_and_raises_after(agreed: str, ended: str) -> None:
    assert "".join(played(agreed)) == ended


def test_a_request_that_is_made_again_counts_once() -> None:
    again = [Synthesis("same", 0, True, True)] * 9
    assert {ended.trust for ended in play(again)} == {"provisional"}
    assert play([Synthesis("T", None, False, False)]) == [Ended("rejected")]


def test_a_task_whose_truth_is_unsure_is_left_out(tmp_path: Path) -> None:
    assert [
        row.task_id for row in read_matrix(stored(tmp_path, task("T/1", oracle_ok=False), task("T/2")))
    ] == ["T/2"]


def test_nothing_is_drawn_more_often_than_it_was_written() -> None:
    row = Row("T", (Candidate((), ()),) * 2, (3, 1), (frozenset({0}), frozenset()), (True, False))
    candidates, suites = draw(row, 10, 10, Random(0))
    assert sorted(candidates) == [0, 0, 0, 1]
    assert suites == (0,)


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


def test_recorded_candidates_are_run_on_recorded_suites(tmp_path: Path) -> None:
    wrong = strong_run()
    wrong["candidates"] = [
        {"code": f'def one_more(n: int) -> int:\n    """One more."""\n    return n + {k}\n', "right": False}
        for k in (2, 3, 4)
    ]
    right, failing = read_syntheses(recorded(tmp_path, strong_run(), wrong), IN_PROCESS, 2, 1)
    assert [(each.agrees, each.right) for each in right] == [(True, True)] * 9
    assert [(each.agrees, each.chosen) for each in failing] == [(False, None)] * 9
    drawn = sample([right, []], 20, Random(0))
    assert (len(drawn), len({each.task_id for each in drawn})) == (20, 20)


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


@pytest.mark.parametrize("count", ["0", "-1", "x"])
def test_a_count_is_a_number_above_zero(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options("--matrix", "m", "--trials", count)
    assert "is no count" in capsys.readouterr().err
