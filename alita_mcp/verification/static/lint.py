"""Lint check: pyflakes' errors in a tool's code, such as undefined names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio.to_thread

from alita_mcp.values import Check
from alita_mcp.verification.findings import failed

WITHIN_S = 20.0
"""It needs a tenth of a second; this only bounds hostile code, and a machine that is out of breath."""
PROGRAM = Path(__file__).with_name("lint_program.py")


async def lint_checks(code: str, program: Path = PROGRAM) -> list[Check]:
    """Errors that pyflakes finds in a process of its own; a soft check where it cannot run."""
    try:
        answer = await anyio.to_thread.run_sync(_asked, code, program)
        found = json.loads(answer.stdout)
    except subprocess.TimeoutExpired:
        return [_not_linted(f"it did not answer within {WITHIN_S:g} s")]
    except (OSError, ValueError) as failure:
        return [_not_linted(str(failure))]
    return [_finding(each) for each in found]


def _asked(code: str, program: Path) -> subprocess.CompletedProcess[bytes]:
    """In a thread, which is patient with a program that ends before it has read the code."""
    return subprocess.run(
        [sys.executable, "-I", str(program)],
        input=code.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=WITHIN_S,
        check=False,
    )


def _finding(found: dict[str, Any]) -> Check:
    kind = found["kind"]
    undefined = "Define or import the name before it is used."
    fix = undefined if kind.startswith("Undefined") else "Correct this line."
    return failed("static", f"{found['message']} ({kind})", fix, line=found["line"])


def _not_linted(why: str) -> Check:
    return failed("static", f"pyflakes could not read the code: {why}", "Simplify the code.", hard=False)
