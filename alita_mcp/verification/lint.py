"""pyflakes' errors in a tool's code: undefined names, misplaced statements, comparisons that never hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.values import Check
from alita_mcp.verification.findings import failed

WITHIN_S = 20.0
"""It needs a tenth of a second; this only bounds hostile code, and a machine that is out of breath."""
PROGRAM = Path(__file__).with_name("lint_program.py")


async def lint_checks(code: str, program: Path = PROGRAM) -> list[Check]:
    """What pyflakes calls an error, found in a process of its own; where it cannot be asked the trust is lowered."""
    try:
        with anyio.fail_after(
            WITHIN_S, shield=True
        ):  # cut in half, a start would leave a process that nobody knows
            answer = await anyio.run_process(
                [sys.executable, "-I", str(program)],
                input=code.encode(),
                stderr=subprocess.DEVNULL,
                check=False,
            )
        found = json.loads(answer.stdout)
    except TimeoutError:
        return [_not_linted(f"it did not answer within {WITHIN_S:g} s")]
    except (OSError, ValueError) as failure:
        return [_not_linted(str(failure))]
    return [_finding(each) for each in found]


def _finding(found: dict[str, Any]) -> Check:
    kind = found["kind"]
    fix = (
        "Define or import the name before it is used."
        if kind.startswith("Undefined")
        else "Correct this line."
    )
    return failed("static", f"{found['message']} ({kind})", fix, line=found["line"])


def _not_linted(why: str) -> Check:
    return failed("static", f"pyflakes could not read the code: {why}", "Simplify the code.", hard=False)
