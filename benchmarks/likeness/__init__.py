"""`alita bench likeness`: whether different programs are told apart and edited ones recognised.

Each program is compared with every other one, and with what edits make of it. The threshold was
chosen on the one half of the programs by hash; the other half is kept aside. Our own scripts are always among them.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from alita_mcp.errors import UsageError
from alita_mcp.mining.comparison.likeness import ALIKE_FROM, groups, likeness
from alita_mcp.mining.comparison.normal_form import normal_form
from alita_mcp.mining.values import NormalForm
from benchmarks.likeness import edits

GOAL_FALSE = 0.01
GOAL_FOUND = 0.9
SCRIPTS = Path(__file__).with_name("scripts.txt")
Pair = tuple[NormalForm, NormalForm]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument(
        "--programs", type=Path, nargs="+", default=[], metavar="FILE", help="JSON lines with `code`"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the edits; default: 1")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of both halves.

    Raises:
        UsageError: a file is not what it should be.
    """
    programs = list(dict.fromkeys([*read_scripts(), *read_programs(options.programs)]))
    halves: dict[str, list[str]] = {"chosen on": [], "kept aside": []}
    for code in programs:
        halves["kept aside" if hashlib.sha256(code.encode()).digest()[0] % 2 else "chosen on"].append(code)
    found = {name: measure(half, options.seed) for name, half in halves.items()}
    aside = found["kept aside"]
    return {
        "alike_from": ALIKE_FROM, "halves": found, "goal": {"false_alarms": GOAL_FALSE, "found": GOAL_FOUND},
        "met": aside["false_alarms"] <= GOAL_FALSE and aside["found"] >= GOAL_FOUND,
    }  # fmt: skip


def table(result: dict[str, Any]) -> str:
    """The figures as a reader wants them."""
    halves = result["halves"]
    lines = [f"alike from {result['alike_from']}", f"{'':28}" + "".join(f"{name:>16}" for name in halves)]

    def row(title: str, cell: Callable[[dict[str, Any]], str]) -> None:
        lines.append(f"{title:28}" + "".join(f"{cell(half):>16}" for half in halves.values()))

    row("programs", lambda half: str(half["programs"]))
    row("pairs of different ones", lambda half: f"{half['pairs']:,}")
    row("… called alike", lambda half: f"{half['false_alarms']:.3%}")
    row("edited ones found, mean", lambda half: f"{half['found']:.1%}")
    for kind in next(iter(halves.values()))["kinds"]:
        row(f"  {kind}", lambda half, kind=kind: f"{half['kinds'].get(kind, 0):.1%}")
    row("ms a normal form", lambda half: f"{half['ms_a_form']:.2f}")
    words = "met" if result["met"] else "NOT met"
    goal = (
        f"Goal, kept aside: at most {GOAL_FALSE:.0%} called alike, at least {GOAL_FOUND:.0%} found: {words}."
    )
    return "\n".join([*lines, goal])


def measure(programs: Sequence[str], seed: int) -> dict[str, Any]:
    """Counts different programs called alike, and edited ones found, by edit."""
    begun = time.perf_counter()
    forms = [normal_form(code) for code in programs]
    seconds = time.perf_counter() - begun
    different = list(combinations(forms, 2))
    kinds: dict[str, list[bool]] = defaultdict(list)
    for kind, (one, other) in edited_pairs(programs, seed):
        kinds[kind].append(likeness(one, other) >= ALIKE_FROM)
    found = {kind: sum(each) / len(each) for kind, each in kinds.items()}
    return {
        "programs": len(programs), "pairs": len(different),
        "false_alarms": sum(likeness(*pair) >= ALIKE_FROM for pair in different) / max(1, len(different)),
        "found": sum(found.values()) / max(1, len(found)), "kinds": found,
        "edited": {kind: len(each) for kind, each in kinds.items()}, "groups": len(groups(forms)),
        "ms_a_form": seconds * 1000 / max(1, len(forms)),
    }  # fmt: skip


def edited_pairs(programs: Sequence[str], seed: int) -> Iterator[tuple[str, Pair]]:
    """Pairs of like programs, each with the kind of the edit."""
    for at, code in enumerate(programs):
        own = seed * len(programs) + at
        for kind, edit in edits.EDITS.items():
            is_script = not all(isinstance(each, ast.FunctionDef) for each in ast.parse(code).body)
            made = edits.edited(code, edit, own) if is_script or edit is not edits.in_main else None
            if made:
                yield kind, (normal_form(code), normal_form(made))
        for kind, (edit, other) in edits.BOTH.items():
            made = edits.edited(code, edit, own), edits.edited(code, other, own + (edit is other))
            if all(made):
                yield kind, (normal_form(made[0]), normal_form(made[1]))


def read_scripts() -> list[str]:
    """Our own programs."""
    return SCRIPTS.read_text("utf-8").split("\n# ---\n")


def read_programs(paths: Sequence[Path]) -> Iterator[str]:
    """The programs in files.

    Raises:
        UsageError: a file is not what it should be.
    """
    for path in paths:
        try:
            yield from (str(json.loads(line)["code"]) for line in path.read_text("utf-8").splitlines())
        except (OSError, ValueError, KeyError, TypeError) as broken:
            raise UsageError(f"{path} cannot be read: {broken}", hint="JSON lines with `code`.") from broken
