"""`alita bench acceptance`: how often agreement between candidates accepts a wrong tool, played over a stored matrix.

Each trial draws candidates and suites of one task, asks `verification.agreement.accept`, and compares the choice with
the stored truth. Two other rules see the same draws: one suite with up to five retries, and CodeT that always answers.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from alita_mcp.errors import UsageError
from alita_mcp.verification.agreement import Candidate, Matrix, Thresholds, accept

GOAL_FALSE = 0.05
GOAL_CORRECT = 0.055
GOAL_AT = 20
"""Candidates and suites for which the goals are set."""
RETRIES = 5
ALWAYS = Thresholds(share=0.0, passed=0.0, alike=1)
FRONTIER = (
    (0.5, 0.3, 1),
    (0.5, 0.5, 1),
    (0.6, 0.5, 1),
    (0.8, 0.5, 1),
    (0.6, 0.5, 2),
    (0.6, 0.5, 3),
    (0.6, 0.7, 3),
)
"""Thresholds (share, passed, alike) whose false accepts and yield are shown beside those in force."""


class Row(NamedTuple):
    """One task of the matrix; the truth stands apart from what a rule may see."""

    task_id: str
    candidates: tuple[Candidate, ...]
    drawn: tuple[int, ...]
    """How often each candidate was written."""
    suites: tuple[frozenset[int], ...]
    correct: tuple[bool, ...]


@dataclass
class Score:
    """What one rule did over all trials."""

    trials: int = 0
    accepted: int = 0
    correct: int = 0

    def count(self, *, accepted: bool, correct: bool) -> None:
        """One trial more."""
        self.trials += 1
        self.accepted += accepted
        self.correct += accepted and correct

    def figures(self) -> dict[str, float | int]:
        """Shares: of the accepted ones the wrong, of all trials the accepted and the right."""
        wrong = self.accepted - self.correct
        return {
            "accepted": self.accepted,
            "accept_rate": round(self.accepted / self.trials, 4) if self.trials else 0.0,
            "false_accept_rate": round(wrong / self.accepted, 4) if self.accepted else 0.0,
            "correct_per_request": round(self.correct / self.trials, 4) if self.trials else 0.0,
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "--matrix", type=Path, required=True, help="stored pass matrix: JSON lines, gzipped or not"
    )
    parser.add_argument("--decisions", type=Path, help="file for one JSON line per trial")
    parser.add_argument("--candidates", type=_count, default=20, help="drawn per trial (default 20)")
    parser.add_argument("--suites", type=_count, default=20, help="drawn per trial (default 20)")
    parser.add_argument("--trials", type=_count, default=50, help="per task (default 50)")
    parser.add_argument("--seed", type=int, default=0, help="of the draws (default 0)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Plays all trials; rates as shares, decisions written as they come."""
    rows = list(read_matrix(options.matrix))
    rules = {
        "agreement": Score(),
        "provisional": Score(),
        "one suite, 5 retries": Score(),
        "CodeT, always": Score(),
    }
    frontier = {thresholds: Score() for thresholds in FRONTIER}
    lines = []
    for row in rows:
        source = random.Random(f"{options.seed} {row.task_id}")
        for trial in range(options.trials):
            drawn, suites = draw(row, options.candidates, options.suites, source)
            lines.append(
                {"task_id": row.task_id, "trial": trial} | _play(row, drawn, suites, rules, frontier)
            )
    if options.decisions:
        options.decisions.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    figures = {name: score.figures() for name, score in rules.items()}
    ours = figures["agreement"]
    return {
        "tasks": len(rows), "trials": options.trials, "candidates": options.candidates, "suites": options.suites,
        "seed": options.seed, "rules": figures,
        "frontier": [{"thresholds": list(at), **score.figures()} for at, score in frontier.items()],
        "goal": {"false_accept_rate": GOAL_FALSE, "correct_per_request": GOAL_CORRECT, "at": GOAL_AT},
        "met": ours["false_accept_rate"] <= GOAL_FALSE and ours["correct_per_request"] >= GOAL_CORRECT,
    }  # fmt: skip


def table(result: dict[str, Any]) -> str:
    """The result for people."""
    lines = [f"{'rule':34} {'accepts':>8} {'false':>8} {'correct':>8}"]
    lines += [_line(name, figures) for name, figures in result["rules"].items()]
    lines += [
        _line("share ≥ {}, passed ≥ {}, alike ≥ {}".format(*point["thresholds"]), point)
        for point in result["frontier"]
    ]
    lines.append(
        f"{result['tasks']} tasks x {result['trials']} trials, {result['candidates']} candidates and"
        f" {result['suites']} suites drawn, seed {result['seed']}; false: of the accepted, correct: per request."
    )
    if result["candidates"] == result["suites"] == GOAL_AT:
        verdict = "met" if result["met"] else "NOT met"
        lines.append(f"Goal: false ≤ {GOAL_FALSE:.0%}, correct ≥ {GOAL_CORRECT:.1%}: {verdict}.")
    return "\n".join(lines)


def read_matrix(path: Path) -> Iterator[Row]:
    """The tasks whose truth is known.

    Raises:
        UsageError: the file cannot be read or is no such matrix; the message names the line.
    """
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8") if _is_gzip(path) else path.open(encoding="utf-8") as file
        ):
            for number, line in enumerate(file, 1):
                row = _row(line, f"{path}, line {number}")
                if row is not None:
                    yield row
    except (OSError, EOFError, UnicodeDecodeError) as unreadable:
        raise UsageError(f"{path} cannot be read: {unreadable}.") from unreadable


def draw(
    row: Row, candidates: int, suites: int, source: random.Random
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of candidates, each as often as it comes, and of suites; without putting back."""
    written = [number for number, times in enumerate(row.drawn) for _ in range(times)]
    chosen = source.sample(written, min(candidates, len(written)))
    return tuple(chosen), tuple(source.sample(range(len(row.suites)), min(suites, len(row.suites))))


def retried(matrix: Matrix, retries: int) -> int | None:
    """The first candidate of the first `retries` + 1 that passes all of the first suite that has tests."""
    suite = next((suite for suite in matrix.suites if suite), frozenset[int]())
    if not suite:
        return None
    for number, candidate in enumerate(matrix.candidates[: retries + 1]):
        if candidate.passes and all(candidate.passes[test] for test in suite):
            return number
    return None


def _play(
    row: Row,
    drawn: tuple[int, ...],
    suites: tuple[int, ...],
    rules: dict[str, Score],
    frontier: dict[tuple[float, float, int], Score],
) -> dict[str, Any]:
    matrix = Matrix(tuple(row.candidates[i] for i in drawn), tuple(row.suites[i] for i in suites))
    decision = accept(matrix)
    always = accept(matrix, verified=ALWAYS)

    def is_right(number: int | None) -> bool:
        return number is not None and row.correct[drawn[number]]

    first = retried(matrix, RETRIES)
    right = is_right(always.chosen)
    rules["agreement"].count(accepted=decision.trust == "verified", correct=is_right(decision.chosen))
    rules["provisional"].count(accepted=decision.trust == "provisional", correct=is_right(decision.chosen))
    rules["one suite, 5 retries"].count(accepted=first is not None, correct=is_right(first))
    rules["CodeT, always"].count(accepted=always.chosen is not None, correct=right)
    for (share, passed, alike), score in frontier.items():
        holds = always.share >= share and always.passed >= passed and always.alike >= alike
        score.count(accepted=holds, correct=right)
    chosen = None if decision.chosen is None else drawn[decision.chosen]
    return {"candidates": drawn, "suites": suites, "trust": decision.trust, "chosen": chosen}


def _row(line: str, where: str) -> Row | None:
    """One task; None where its truth is not to be trusted."""
    try:
        task = json.loads(line)
        candidates = task["candidates"]
        row = Row(
            task_id=task["task_id"],
            candidates=tuple(
                Candidate(each["code"], tuple(each["O"] or ()), tuple(bit == "1" for bit in each["V"] or ()))
                for each in candidates
            ),
            drawn=tuple(int(each["n"]) for each in candidates),
            suites=tuple(frozenset(suite) for suite in task["suites"]),
            correct=tuple(bool(each["heplus"]) for each in candidates),
        )
        return row if task["oracle_ok"] else None
    except (ValueError, KeyError, TypeError) as strange:
        raise UsageError(f"{where} is no task of a pass matrix: {strange!r}.") from strange


def _line(name: str, figures: dict[str, Any]) -> str:
    return (
        f"{name:34} {figures['accept_rate']:8.1%} {figures['false_accept_rate']:8.1%}"
        f" {figures['correct_per_request']:8.1%}"
    )


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)
