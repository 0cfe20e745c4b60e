"""`make bench NAME=acceptance`: how many tools that models wrote end `verified`, and how many of these are wrong.

Sequences of syntheses are drawn from a stored pass matrix of a weak model, from mixtures of it with an ideal one, and
from recorded runs of a strong one. `verification.agreement` decides about each synthesis, its models' track record
about its trust; the stored truth says whether the chosen candidate is right.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.acceptance import strong
from benchmarks.acceptance.sequences import Figures, Synthesis, figures_of, judged, play
from benchmarks.acceptance.stored import Row, draw, idealised, read_matrix, seen

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
MOST_WRONG = 5.0
"""Wrong tools that end `verified`, of 1,000 syntheses."""
MOST_FALSE = 0.05
"""Share of the verified tools that is wrong, where at least `COUNTED` of the syntheses end `verified`."""
COUNTED = 0.01
SYNTHESES, PARTS = "ideal syntheses", "ideal parts"
Numbers = tuple[tuple[int, ...], tuple[int, ...]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "--matrix", type=Path, required=True, help="stored pass matrix: JSON lines, gzipped or not"
    )
    parser.add_argument("--decisions", type=Path, help="file for one JSON line per trial of the weak model")
    parser.add_argument("--candidates", type=_count, default=2, help="drawn per trial (default 2)")
    parser.add_argument("--suites", type=_count, default=1, help="drawn per trial (default 1)")
    parser.add_argument("--trials", type=_count, default=100, help="per task (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="of the draws and sequences (default 0)")
    strong.add_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Plays all sequences; rates as shares."""
    rows = list(read_matrix(options.matrix))
    source = random.Random(options.seed)
    numbers = {row.task_id: [_numbers(row, options, source) for _ in range(options.trials)] for row in rows}
    drawn = {row.task_id: [seen(row, *pair) for pair in numbers[row.task_id]] for row in rows}
    weak = [judged(row.task_id, each) for row in rows for each in drawn[row.task_id]]
    if options.decisions:
        lines = _decisions(rows, numbers, weak, options.seed)
        options.decisions.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    points: list[dict[str, Any]] = []
    for share in SHARES:
        mixed = [Synthesis(each.task_id, 0, True, True) if source.random() < share else each for each in weak]
        points.append(_point(SYNTHESES, share, mixed, options.seed))
    known = [row for row in rows if any(row.reference.passes)]
    for share in SHARES:
        parts = [(row, idealised(row, each, share, source)) for row in known for each in drawn[row.task_id]]
        mixed = [judged(row.task_id, each) for row, each in parts]
        points.append(_point(PARTS, share, mixed, options.seed))
    if options.strong:
        runs = strong.read_syntheses(options.strong, options.sandbox, options.candidates, options.suites)
        points.append(_point("strong runs", None, strong.sample(runs, len(weak), source), options.seed))
    return {
        "tasks": len(rows), "trials": options.trials, "candidates": options.candidates, "suites": options.suites,
        "seed": options.seed, "points": points,
        "goal": {"wrong_per_1000": MOST_WRONG, "false_of_verified": MOST_FALSE, "from_verified": COUNTED},
        "met": all(point["met"] for point in points),
    }  # fmt: skip


def table(result: dict[str, Any]) -> str:
    """The result for people."""
    head = (
        "",
        "share",
        "agree",
        "wrong of these",
        "verified",
        "of it raised",
        "wrong per 1,000",
        "wrong of verified",
    )
    lines = [_line(head)]
    for point in result["points"]:
        share = "" if point["share"] is None else f"{point['share']:.0%}"
        false = f"{point['false_of_verified']:.1%}" if point["verified"] else "-"
        lines.append(
            _line((
                point["mixture"], share, f"{point['agree']:.1%}", f"{point['wrong_of_agreeing']:.1%}",
                f"{point['verified']:.1%}", f"{point['raised']:.1%}", f"{point['wrong_per_1000']:.2f}", false,
            ))
        )  # fmt: skip
    lines.append(
        f"{result['tasks']} tasks x {result['trials']} trials, {result['candidates']} candidates and"
        f" {result['suites']} suites drawn, seed {result['seed']}."
    )
    lines.append(
        f"Goal: at most {MOST_WRONG:g} wrong per 1,000 and, from {COUNTED:.0%} verified on, {MOST_FALSE:.0%} of them"
        f" wrong: {'met' if result['met'] else 'NOT met'}."
    )
    return "\n".join(lines)


def _numbers(row: Row, options: argparse.Namespace, source: random.Random) -> Numbers:
    return draw(row, options.candidates, options.suites, source)


def _point(mixture: str, share: float | None, syntheses: Sequence[Synthesis], seed: int) -> dict[str, Any]:
    figures: Figures = figures_of(syntheses, seed)
    false_counts = figures["verified"] >= COUNTED and figures["false_of_verified"] > MOST_FALSE
    met = figures["wrong_per_1000"] <= MOST_WRONG and not false_counts
    return {"mixture": mixture, "share": share, **figures, "met": met}


def _decisions(
    rows: Sequence[Row], numbers: dict[str, list[Numbers]], weak: Sequence[Synthesis], seed: int
) -> list[dict[str, Any]]:
    """A line per trial, by task; `place` is its place in the sequence, `trust` what it ends as."""
    order = random.Random(seed).sample(range(len(weak)), len(weak))
    played = dict(zip(order, enumerate(play([weak[number] for number in order])), strict=True))
    trials = [(row.task_id, trial, pair) for row in rows for trial, pair in enumerate(numbers[row.task_id])]
    lines = []
    for number, (task_id, trial, (candidates, suites)) in enumerate(trials):
        place, ended = played[number]
        chosen = weak[number].chosen
        lines.append({
            "task_id": task_id, "trial": trial, "candidates": candidates, "suites": suites,
            "trust": ended.trust, "chosen": None if chosen is None else candidates[chosen],
            "agrees": weak[number].agrees, "raised": ended.raised, "place": place,
        })  # fmt: skip
    return lines


def _line(cells: Sequence[str]) -> str:
    return "  ".join((f"{cells[0]:15}", *(f"{cell:>17}" for cell in cells[1:]))).rstrip()


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)
