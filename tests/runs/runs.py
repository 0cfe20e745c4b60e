"""Recorded runs for tests."""

from __future__ import annotations

import itertools
from typing import Any

from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.history.program import program_of

_NUMBERS = itertools.count(1)


def ran(code: str, result: Any = None, **facts: Any) -> RecordedRun:
    """A run of code that ended well, unless told otherwise."""
    number = next(_NUMBERS)
    told = {
        "id": f"{number:032x}",
        "at": f"2026-11-25T12:00:00.{number:06d}Z",
        "result_kind": "none" if result is None else "json",
    }
    return RecordedRun(**{**told, "code": code, "result": result, **facts})


def key_of(code: str) -> str:
    program = program_of(code)
    return program.key if program else ""
