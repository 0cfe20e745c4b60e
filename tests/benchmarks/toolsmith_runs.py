"""Runs of `alita bench toolsmith` in this process: rows and options in, the result out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.settings import Settings
from benchmarks import toolsmith
from benchmarks.toolsmith.judged_requests import read_requests
from tests.synthesis.authors import EDGES, GOOD, LOOPED, PLAIN, REQUEST, SPEC

HIDDEN = [
    {"arguments": {"number": 98765}, "expected": 35},
    {"arguments": {"number": -90909}, "expected": 27},
    {"arguments": {"number": 70_070}, "expected": 14},
]
ROW: dict[str, Any] = {"name": "digit_sum", "request": REQUEST, "hidden": HIDDEN}
RECORDED: dict[str, Any] = {
    **ROW,
    "specifications": [SPEC],
    "suites": [each["tests"] for each in (GOOD, EDGES, GOOD)],
    "candidates": [{"code": code} for code in (PLAIN, PLAIN, LOOPED)],
}
IMPATIENT = Patience(first_pause_s=0.01, max_pause_s=0.05)


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def options(path: Path, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    toolsmith.add_arguments(parser)
    return parser.parse_args(["--requests", str(path), "--sandbox", "wasm", *words])


async def measured(settings: Settings, path: Path, words: Sequence[str] = ()) -> dict[str, Any]:
    """As `run`, in the loop of the test."""
    given = options(path, *words)
    chosen = toolsmith.settings_for(given, settings)
    result = await toolsmith.measure(read_requests(path, given.limit), chosen, given, IMPATIENT)
    assert json.loads(json.dumps(result)) == result
    assert toolsmith.table(result).startswith("| |")
    return result
