"""Pass matrices of a strong model's recorded runs, whose candidates run on their suites in the sandbox."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import anyio
from pydantic import ValidationError

from alita_mcp.errors import UsageError
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import read_settings
from alita_mcp.values import Draft, Example
from alita_mcp.verification.agreement import Candidate, PassMatrix, extend_matrix, prepare_draft
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from benchmarks.acceptance.sequences import Synthesis, judged
from benchmarks.acceptance.stored import Drawn


def read_syntheses(file: Path, sandbox: str, candidates: int, suites: int) -> list[list[Synthesis]]:
    """For each recorded run what the rule says to every choice of so many candidates and suites.

    Raises:
        UsageError: the file cannot be read or holds no such runs.
        SandboxError: no sandbox works here.
    """
    ran = anyio.run(_ran, list(read_runs(file)), sandbox)

    def draws(drawn: Drawn) -> Iterator[Drawn]:
        for some in combinations(range(len(drawn.correct)), candidates):
            for part in combinations(drawn.suites, suites):
                chosen = [drawn.candidates[number] for number in some]
                yield Drawn(chosen, part, tuple(drawn.correct[number] for number in some))

    return [[judged(str(number), each) for each in draws(drawn)] for number, drawn in enumerate(ran)]


def sample(runs: Sequence[Sequence[Synthesis]], count: int, source: Random) -> list[Synthesis]:
    """So many syntheses at random, each of a request that was not made before."""
    drawn = (source.choice(source.choice([run for run in runs if run])) for _ in range(count))
    return [each._replace(task_id=str(number)) for number, each in enumerate(drawn)]


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
    candidates = [await prepare_draft(draft, rehearsal, _silent) for draft in drafts]
    matrix = await extend_matrix(PassMatrix(), candidates, suites, rehearsal)
    ran = [None if row is None else Candidate(row.outputs, row.passes) for row in matrix.rows]
    return Drawn(ran, matrix.suites, tuple(right))


async def _silent(*_told: Any) -> None:
    """Nobody is told how far it is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--strong", type=Path, help="recorded runs of a strong model, run in the sandbox")
    parser.add_argument("--sandbox", metavar="KIND", default="", help="for --strong; default: ALITA_SANDBOX")
