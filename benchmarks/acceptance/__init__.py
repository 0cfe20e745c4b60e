"""`make bench NAME=acceptance`: how often agreement between candidates accepts a wrong tool, on a stored matrix.

Each trial draws candidates and suites of one task, asks `verification.agreement.accept`, and compares the choice with
the stored truth. It is asked with a record of that model, counted on the tasks of the other folds, and without one.
Two other rules see the same draws: one suite with up to five retries, and CodeT that always answers.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alita_mcp.verification.agreement.agreement import Decision, Matrix, accept, most_typical
from alita_mcp.verification.agreement.posterior import CONSTANTS
from alita_mcp.verification.agreement.record import Record
from benchmarks.acceptance import strong
from benchmarks.acceptance.fit import Fold, folds_of
from benchmarks.acceptance.scores import Figures, Score
from benchmarks.acceptance.stored import Drawn, Row, counted, draw, idealised, read_matrix, seen

GOAL_FALSE = 0.05
GOAL_CORRECT = 0.055
GOAL_AT = 20
"""Candidates and suites for which the goals are set."""
RETRIES = 5
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of candidates and suites that are replaced by ideal ones, for models in between."""
FOLDS = 5
"""Parts into which tasks are split; the record for one is counted on the others."""
RECORD, NO_RECORD, FITTED = "record", "no record", "fitted elsewhere"
ONE_SUITE, CODET = "one suite, 5 retries", "CodeT, always"
Draws = dict[str, list[Drawn]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "--matrix", type=Path, required=True, help="stored pass matrix: JSON lines, gzipped or not"
    )
    parser.add_argument("--decisions", type=Path, help="file for one JSON line per trial")
    parser.add_argument("--candidates", type=_count, default=20, help="drawn per trial (default 20)")
    parser.add_argument("--suites", type=_count, default=20, help="drawn per trial (default 20)")
    parser.add_argument("--trials", type=_count, default=50, help="per task (default 50)")
    parser.add_argument("--seed", type=int, default=0, help="of the draws and folds (default 0)")
    parser.add_argument("--folds", type=_count, help="also choose constants on the other folds, so many")
    parser.add_argument("--mixed", action="store_true", help="also replace a share by ideal ones")
    strong.add_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Plays all trials; rates as shares, decisions written as they come."""
    rows = list(read_matrix(options.matrix))
    numbers = _drawn(rows, options)
    draws: Draws = {row.task_id: [seen(row, *pair) for pair in numbers[row.task_id]] for row in rows}
    decisions = _with_record(rows, draws, options.seed)
    if options.decisions:
        lines = _told(numbers, decisions)
        options.decisions.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    rules = _counted(draws, decisions, RECORD)
    rules |= _counted(draws, _without(draws), NO_RECORD)
    if options.folds:
        folds = list(folds_of(rows, draws, options.folds, options.seed))
        rules |= _counted(draws, _by_fold(draws, folds), FITTED)
    rules |= _baselines(draws)
    ours = rules[f"agreement ({RECORD})"]
    result = {
        "tasks": len(rows), "trials": options.trials, "candidates": options.candidates, "suites": options.suites,
        "seed": options.seed, "rules": rules,
        "goal": {"false_accept_rate": GOAL_FALSE, "correct_per_request": GOAL_CORRECT, "at": GOAL_AT},
        "met": ours["false_accept_rate"] <= GOAL_FALSE and ours["correct_per_request"] >= GOAL_CORRECT,
    }  # fmt: skip
    if options.mixed:
        result["mixed"] = _mixed(rows, draws, options.seed)
    if options.strong:
        result["strong"] = strong.replay(options.strong, options.sandbox)
    return result


def table(result: dict[str, Any]) -> str:
    """The result for people."""
    lines = [f"{'rule':34} {'accepts':>8} {'false':>8} {'correct':>8}"]
    lines += [_line(name, figures) for name, figures in result["rules"].items()]
    lines.append(
        f"{result['tasks']} tasks x {result['trials']} trials, {result['candidates']} candidates and"
        f" {result['suites']} suites drawn, seed {result['seed']}; false: of the accepted, correct: per request;"
        " 95 % intervals by task."
    )
    if result["candidates"] == result["suites"] == GOAL_AT:
        verdict = "met" if result["met"] else "NOT met"
        lines.append(f"Goal: false ≤ {GOAL_FALSE:.0%}, correct ≥ {GOAL_CORRECT:.1%}: {verdict}.")
    for point in result.get("mixed", ()):
        lines.append(f"Ideal ones: {point['share']:.0%}")
        lines += [_line(f"  {name}", figures) for name, figures in point["rules"].items()]
    lines += strong.lines(result["strong"]) if "strong" in result else []
    return "\n".join(lines)


def retried(matrix: Matrix, retries: int) -> int | None:
    """The first candidate of the first `retries` + 1 that passes all of the first suite that has tests."""
    suite = next((suite for suite in matrix.suites if suite), frozenset[int]())
    if not suite:
        return None
    for number, candidate in enumerate(matrix.candidates[: retries + 1]):
        if candidate.passes and all(candidate.passes[test] for test in suite):
            return number
    return None


def always(matrix: Matrix) -> int | None:
    """The choice of CodeT (arXiv 2207.10397): of the cluster with the largest size x tests passed."""
    tests = matrix.tests
    clusters: dict[tuple[str, ...], list[int]] = {}
    for number, candidate in enumerate(matrix.candidates):
        if candidate.outputs and tests:
            clusters.setdefault(tuple(candidate.outputs[test] for test in tests), []).append(number)
    if not clusters:
        return None

    def weight(members: list[int]) -> tuple[int, int, int]:
        passed = sum(matrix.candidates[members[0]].passes[test] for test in tests)
        return len(members) * passed, len(members), -members[0]

    return most_typical(matrix.candidates, max(clusters.values(), key=weight))[0]


Numbers = tuple[tuple[int, ...], tuple[int, ...]]
Decisions = dict[str, list[Decision]]


def _drawn(rows: Sequence[Row], options: argparse.Namespace) -> dict[str, list[Numbers]]:
    drawn = {}
    for row in rows:
        source = random.Random(f"{options.seed} {row.task_id}")
        drawn[row.task_id] = [
            draw(row, options.candidates, options.suites, source) for _ in range(options.trials)
        ]
    return drawn


def _with_record(rows: Sequence[Row], draws: Draws, seed: int) -> Decisions:
    """Decisions with a record of the model, counted on the tasks of the other folds."""
    names = sorted(draws)
    random.Random(seed).shuffle(names)
    decisions = {}
    for number in range(FOLDS):
        aside = names[number::FOLDS]
        record = counted((row, draws[row.task_id]) for row in rows if row.task_id not in aside)
        decisions |= {name: _decided(draws[name], record) for name in aside}
    return decisions


def _decided(draws: Sequence[Drawn], record: Record | None) -> list[Decision]:
    return [accept(drawn.matrix, record, CONSTANTS) for drawn in draws]


def _without(draws: Draws) -> Decisions:
    return {name: _decided(trials, None) for name, trials in draws.items()}


def _by_fold(draws: Draws, folds: Sequence[Fold]) -> Decisions:
    return {
        name: [accept(drawn.matrix, fold.record, fold.constants) for drawn in draws[name]]
        for fold in folds
        for name in fold.tasks
    }


def _counted(draws: Draws, decisions: Decisions, name: str) -> dict[str, Figures]:
    """What became verified and what provisional."""
    verified, provisional = Score(), Score()
    for task_id, trials in draws.items():
        for drawn, decision in zip(trials, decisions[task_id], strict=True):
            right = drawn.is_right(decision.chosen)
            verified.count(task_id, accepted=decision.trust == "verified", correct=right)
            provisional.count(task_id, accepted=decision.trust == "provisional", correct=right)
    return {f"agreement ({name})": verified.figures(), f"provisional ({name})": provisional.figures()}


def _baselines(draws: Draws) -> dict[str, Figures]:
    one_suite, codet = Score(), Score()
    for task_id, trials in draws.items():
        for drawn in trials:
            first, chosen = retried(drawn.matrix, RETRIES), always(drawn.matrix)
            one_suite.count(task_id, accepted=first is not None, correct=drawn.is_right(first))
            codet.count(task_id, accepted=chosen is not None, correct=drawn.is_right(chosen))
    return {ONE_SUITE: one_suite.figures(), CODET: codet.figures()}


def _mixed(rows: Sequence[Row], draws: Draws, seed: int) -> list[dict[str, Any]]:
    """The same draws with ever more of candidates and suites replaced by ideal ones."""
    points = []
    for share in SHARES:
        source = random.Random(f"{seed} {share}")
        better = {
            row.task_id: [idealised(row, drawn, share, source) for drawn in draws[row.task_id]]
            for row in rows
            if any(row.reference.passes)
        }
        known = [row for row in rows if row.task_id in better]
        rules = _counted(better, _with_record(known, better, seed), RECORD)
        rules |= _counted(better, _without(better), NO_RECORD)
        points.append({"share": share, "tasks": len(known), "rules": rules})
    return points


def _told(numbers: dict[str, list[Numbers]], decisions: Decisions) -> list[dict[str, Any]]:
    return [
        {
            "task_id": task_id, "trial": trial, "candidates": drawn, "suites": suites, "trust": decision.trust,
            "chosen": None if decision.chosen is None else drawn[decision.chosen],
            "probability": round(decision.probability, 4),
        }
        for task_id, trials in numbers.items()
        for trial, ((drawn, suites), decision) in enumerate(zip(trials, decisions[task_id], strict=True))
    ]  # fmt: skip


def _line(name: str, figures: Figures) -> str:
    false, correct = figures["false_interval"], figures["correct_interval"]
    return (
        f"{name:34} {figures['accept_rate']:8.1%} {figures['false_accept_rate']:8.1%}"
        f" {figures['correct_per_request']:8.1%}"
        f"   false {false[0]:.1%} to {false[1]:.1%}, correct {correct[0]:.1%} to {correct[1]:.1%}"
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)
