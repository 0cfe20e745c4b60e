"""ruff's error rules over a tool's code: undefined names, misplaced statements, comparisons that never hold."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import anyio

from alita_mcp.values import Check
from alita_mcp.verification.findings import failed

RULES = "E9,F63,F7,F82,F821,F823"
WITHIN_S = 60.0
"""ruff needs milliseconds; this only bounds a machine that is out of breath."""


async def lint_checks(code: str, ruff: str | None = None) -> list[Check]:
    """What ruff calls an error. Without a working ruff the trust is lowered, and the report says why.

    `ruff` is the program to run, by default the one installed beside this package.
    """
    try:
        # cut in half, a start would leave a process that nobody knows
        with anyio.fail_after(WITHIN_S, shield=True):
            answer = await _run_ruff(ruff or _installed_ruff(), code)
    except (OSError, TimeoutError) as missing:
        return [_not_linted(str(missing) or "it did not answer in time")]
    try:
        found = json.loads(answer.stdout)
    except ValueError:
        return [_not_linted(f"exit status {answer.returncode}")]
    return [_finding(each) for each in found]


def _installed_ruff() -> str:
    from ruff.__main__ import find_ruff_bin  # type: ignore[import-untyped]

    return str(find_ruff_bin())


async def _run_ruff(program: str, code: str) -> subprocess.CompletedProcess[bytes]:
    return await anyio.run_process(
        [
            program, "check", "--isolated", "--no-cache", "--ignore-noqa", "--quiet",
            "--select", RULES, "--target-version", "py311", "--output-format", "json",
            "--stdin-filename", "tool.py", "-",
        ],
        input=code.encode(),
        check=False,
    )  # fmt: skip


def _finding(found: dict[str, Any]) -> Check:
    rule = found.get("code") or "syntax"
    line = (found.get("location") or {}).get("row")
    return failed("static", f"{found['message']} ({rule})", _fix_for(rule), line=line)


def _fix_for(rule: str) -> str:
    if rule in {"F821", "F822", "F823"}:
        return "Define or import the name before it is used."
    return "Correct this line."


def _not_linted(why: str) -> Check:
    return failed(
        "static", f"ruff could not read the code: {why}", "Install ruff, or simplify the code.", hard=False
    )
