"""Stored pass matrix: tasks with their truth, and random draws of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from alita_mcp.errors import UsageError
from alita_mcp.verification.agreement import Candidate

IDEAL_TESTS = 8
"""Tests of an ideal suite, as many as the toolsmith asks for."""


class Row(NamedTuple):
    """One task of the matrix; its truth is stored apart from the evidence that rules read."""

    task_id: str
    candidates: tuple[Candidate, ...]
    drawn: tuple[int, ...]
    """How often each candidate was written."""
    suites: tuple[frozenset[int], ...]
    correct: tuple[bool, ...]
    reference: Candidate = Candidate((), ())
    """What the reference solution does; the tests that it passes hold."""


class Drawn(NamedTuple):
    """One drawn request: its candidates and suites, and which candidates are right."""

    candidates: Sequence[Candidate | None]
    suites: tuple[frozenset[int], ...]
    correct: tuple[bool, ...]

    def is_right(self, number: int | None) -> bool:
        """Whether this candidate, if any, is right."""
        return number is not None and self.correct[number]


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


def draw(row: Row, candidates: int, suites: int, source: Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of candidates, each as often as it comes, and of suites that hold tests; without putting back."""
    written = [number for number, times in enumerate(row.drawn) for _ in range(times)]
    chosen = source.sample(written, min(candidates, len(written)))
    whole = [number for number, suite in enumerate(row.suites) if suite]
    return tuple(chosen), tuple(source.sample(whole, min(suites, len(whole))))


def seen(row: Row, candidates: Iterable[int], suites: Iterable[int]) -> Drawn:
    """The matrix of a draw, as a rule sees it."""
    numbers = tuple(candidates)
    chosen, correct = [row.candidates[i] for i in numbers], tuple(row.correct[i] for i in numbers)
    return Drawn(chosen, tuple(row.suites[i] for i in suites), correct)


def idealised(row: Row, drawn: Drawn, share: float, source: Random) -> Drawn:
    """The same with this share of candidates and suites replaced: right candidates, and tests that hold."""
    holding = [number for number, holds in enumerate(row.reference.passes) if holds]
    candidates: list[Candidate | None] = []
    correct = []
    for candidate, right in zip(drawn.candidates, drawn.correct, strict=True):
        ideal = source.random() < share
        candidates.append(row.reference if ideal else candidate)
        correct.append(ideal or right)
    suites = [
        frozenset(source.sample(holding, min(IDEAL_TESTS, len(holding))))
        if source.random() < share
        else suite
        for suite in drawn.suites
    ]
    return Drawn(candidates, tuple(suites), tuple(correct))


def _row(line: str, where: str) -> Row | None:
    """One task; None where its truth is not to be trusted."""
    try:
        task = json.loads(line)
        candidates = task["candidates"]
        row = Row(
            task_id=task["task_id"],
            candidates=tuple(Candidate(*_ran(each["O"], each["V"])) for each in candidates),
            drawn=tuple(int(each["n"]) for each in candidates),
            suites=tuple(frozenset(suite) for suite in task["suites"]),
            correct=tuple(bool(each["heplus"]) for each in candidates),
            reference=Candidate(*_ran(task.get("ref_O"), task.get("ref_V"))),
        )
        return row if task["oracle_ok"] else None
    except (ValueError, KeyError, TypeError) as strange:
        raise UsageError(f"{where} is no task of a pass matrix: {strange!r}.") from strange


def _ran(outputs: list[str] | None, bits: str | None) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    return tuple(outputs or ()), tuple(bit == "1" for bit in bits or "")


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
