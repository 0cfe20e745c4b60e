"""Pass matrices of a strong model's recorded runs, whose candidates run on their suites in the sandbox."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import anyio
from pydantic import ValidationError

from alita_mcp.errors import UsageError
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import read_settings
from alita_mcp.values import Draft, Example
from alita_mcp.verification.agreement.agreement import Matrix, accept
from alita_mcp.verification.agreement.matrix import prepare, run_matrix
from alita_mcp.verification.agreement.record import Record, Tally
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from benchmarks.acceptance.stored import Drawn

STRONG = Record(
    candidates=Tally(right=48, wrong=2), tests=Tally(right=980, wrong=20), misread=Tally(right=47, wrong=1)
)
"""A record as a strong model's calibration may give; presumed, not measured."""
SHAPES = ((1, 1), (1, 2), (1, 3), (2, 2), (3, 3))
"""Candidates and suites that are looked at, in every combination of those that were written."""


def replay(file: Path, sandbox: str) -> dict[str, Any]:
    """Shares of published, verified and right ones for each shape, with no record and with a strong one.

    Raises:
        UsageError: the file cannot be read or holds no such runs.
        SandboxError: no sandbox works here.
    """
    runs = anyio.run(_ran, list(read_runs(file)), sandbox)
    return {
        "runs": len(runs),
        "shapes": [
            _figures(runs, shape, record, name)
            for name, record in (("no record", None), ("strong record", STRONG))
            for shape in SHAPES
        ],
    }


def read_runs(file: Path) -> Iterator[tuple[list[Draft], list[list[Example]], list[bool]]]:
    """For each synthesis its candidates, its suites, and which candidates are right."""
    try:
        for number, line in enumerate(file.read_text("utf-8").split("\n"), 1):
            where = f"{file}, line {number}"
            if line:
                yield from _runs(json.loads(line))
    except (OSError, UnicodeDecodeError) as unreadable:
        raise UsageError(f"{file} cannot be read: {unreadable}.") from unreadable
    except (ValueError, KeyError, TypeError, ValidationError) as strange:
        raise UsageError(f"{where} is no recorded run: {strange!r}.") from strange


def _runs(line: dict[str, Any]) -> Iterator[tuple[list[Draft], list[list[Example]], list[bool]]]:
    count = len(line["specifications"])
    for run, spec in enumerate(line["specifications"]):
        suites = [[Example(**test) for test in suite] for suite in _part(line["suites"], run, count)]
        written = _part(line["candidates"], run, count)
        drafts = [
            Draft(
                name=line["name"],
                description=spec["description"],
                code=each["code"],
                examples=tuple(test for suite in suites for test in suite),
            )
            for each in written
        ]
        yield drafts, suites, [bool(each["right"]) for each in written]


def _part(written: Sequence[Any], run: int, count: int) -> Sequence[Any]:
    each = len(written) // count
    return written[run * each : (run + 1) * each]


async def _ran(runs: list[tuple[list[Draft], list[list[Example]], list[bool]]], kind: str) -> list[Drawn]:
    from alita_mcp.sandbox.choose import load_sandbox, open_sandbox

    settings = read_settings()
    sandbox = load_sandbox(kind, settings) if kind else await open_sandbox(settings)
    try:
        return [await _run(sandbox, *each) for each in runs]
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()


async def _run(
    sandbox: Sandbox, drafts: list[Draft], suites: list[list[Example]], right: list[bool]
) -> Drawn:
    rehearsal = Rehearsal(sandbox)
    candidates = [await prepare(draft, rehearsal, _silent) for draft in drafts]
    matrix = await run_matrix(candidates, suites, rehearsal)
    return Drawn(matrix.as_matrix([draft.code for draft in drafts]), tuple(right))


async def _silent(*_told: Any) -> None:
    """Nobody is told how far it is."""


def _figures(
    runs: Sequence[Drawn], shape: tuple[int, int], record: Record | None, name: str
) -> dict[str, Any]:
    decisions = [
        (accept(Matrix(tuple(matrix.candidates[i] for i in some), suites), record), some, correct)
        for matrix, correct in runs
        for some in combinations(range(len(matrix.candidates)), shape[0])
        for suites in combinations(matrix.suites, shape[1])
    ]
    count = max(1, len(decisions))
    published = [each for each in decisions if each[0].chosen is not None]
    right = sum(correct[some[decision.chosen or 0]] for decision, some, correct in published)
    return {
        "record": name,
        "candidates": shape[0],
        "suites": shape[1],
        "matrices": len(decisions),
        "published": round(len(published) / count, 4),
        "verified": round(sum(each[0].trust == "verified" for each in decisions) / count, 4),
        "right": round(right / len(published), 4) if published else 0.0,
        "least": round(min((each[0].probability for each in decisions), default=0.0), 3),
    }


def lines(result: dict[str, Any]) -> list[str]:
    """The result for people."""
    head = (
        f"{'strong runs: ' + str(result['runs']):34} {'publ.':>8} {'verified':>8} {'right':>8} {'least p':>8}"
    )
    return [head] + [
        f"{each['record'] + ', ' + str(each['candidates']) + ' x ' + str(each['suites']):34}"
        f" {each['published']:8.1%} {each['verified']:8.1%} {each['right']:8.1%} {each['least']:8.3f}"
        for each in result["shapes"]
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--strong", type=Path, help="recorded runs of a strong model, run in the sandbox")
    parser.add_argument("--sandbox", metavar="KIND", default="", help="for --strong; default: ALITA_SANDBOX")
