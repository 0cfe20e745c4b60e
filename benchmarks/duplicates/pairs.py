"""Pairs of programs whose behaviour is known to be equal or different."""

from __future__ import annotations

import ast
import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

from alita_mcp.errors import UsageError


class Program(NamedTuple):
    """One program of a pair; its last public function is called."""

    code: str
    function: str
    parameters: tuple[str, ...]
    annotations: tuple[ast.expr | None, ...]


class Pair(NamedTuple):
    """Two programs for one task."""

    task: str
    a: Program
    b: Program
    same: bool
    """Whether they are known to behave the same."""
    likeness: float
    """How much their texts have in common, as the file says."""


def read_pairs(path: Path, limit: int | None = None) -> list[Pair]:
    """The pairs that parse.

    Raises:
        UsageError: the file cannot be read, or holds no such pairs; the message names the line.
    """
    return [
        _pair(row, f"{path}, line {number}") for number, row in enumerate(read_lines(path)[:limit], start=1)
    ]


def read_lines(path: Path) -> list[Any]:
    """JSON lines, gzipped or not.

    Raises:
        UsageError: the file cannot be read or is empty.
    """
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, EOFError, ValueError) as unreadable:
        raise UsageError(
            f"{path} cannot be read: {unreadable}.", hint="JSON lines are needed."
        ) from unreadable
    if not rows:
        raise UsageError(f"{path} is empty.")
    return rows


def _pair(row: Any, place: str) -> Pair:
    try:
        return Pair(
            task=str(row["task"]),
            a=read_program(row["a"]),
            b=read_program(row["b"]),
            same=bool(row["label"]),
            likeness=float(row.get("jaccard", 0.0)),
        )
    except (KeyError, TypeError, ValueError, SyntaxError) as unfit:
        hint = "A line has task, a, b and label."
        raise UsageError(f"{place}: no pair of programs: {unfit!r}.", hint=hint) from unfit


def read_program(code: str) -> Program:
    """A module with the function that is called.

    Raises:
        ValueError, SyntaxError: there is no such function, or the code does not parse.
    """
    functions = [node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    if not functions:
        raise ValueError("no function")
    found = functions[-1]
    arguments = [*found.args.posonlyargs, *found.args.args]
    return Program(
        code,
        found.name,
        tuple(each.arg for each in arguments),
        tuple(each.annotation for each in arguments),
    )
