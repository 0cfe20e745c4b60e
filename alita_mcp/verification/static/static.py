"""Static gate: checks code, wording and packages of a draft without running it."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio.to_thread

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.values import Check, Draft, ToolContract
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.code.names import names_of
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError, fail_check, pass_check
from alita_mcp.verification.static.credentials import credential_checks
from alita_mcp.verification.static.imports import import_checks, missing_checks, package_checks
from alita_mcp.verification.static.needs import needs_checks
from alita_mcp.verification.static.run_text import run_text_checks
from alita_mcp.verification.static.wording import wording_checks

WITHIN_S = 20.0
"""It needs a tenth of a second; this only bounds hostile code, and a machine that is out of breath."""
_SHOWN_TOGETHER = 4
"""Failures that the first one names."""
PROGRAM = Path(__file__).with_name("lint_program.py")


async def lint_checks(code: str, program: Path = PROGRAM) -> list[Check]:
    """Errors that pyflakes finds in a process of its own; a soft check where it cannot run."""
    try:
        # a thread is patient with a program that ends before it has read the code
        run = partial(
            subprocess.run,
            [sys.executable, "-I", str(program)],
            input=code.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=WITHIN_S,
            check=False,
        )
        answer = await anyio.to_thread.run_sync(run)
        found = json.loads(answer.stdout)
    except subprocess.TimeoutExpired:
        problem = f"it did not answer within {WITHIN_S:g} s"
    except (OSError, ValueError) as failure:
        problem = str(failure)
    else:
        define = "Define or import the name before it is used."
        return [
            fail_check(
                "static",
                f"{each['message']} ({each['kind']})",
                define if each["kind"].startswith("Undefined") else "Fix this line.",
                line=each["line"],
            )
            for each in found
        ]
    message = f"pyflakes could not read the code: {problem}"
    return [fail_check("static", message, "Simplify the code.", hard=False)]


async def static_gate(
    draft: Draft, sandbox: Sandbox | None = None
) -> tuple[list[Check], ToolContract | None]:
    """Checks of the code, the wording and the packages, and the contract when there is one.

    With a sandbox, what the code needs and the sandbox lacks is a failure too. All failures are found in one go and the
    first names the others, so that one repair can fix them all.
    """
    checks, contract = await anyio.to_thread.run_sync(_read_draft, draft)
    if sandbox is not None:
        with suppress(ContractError, SandboxError):  # reported already, or by the gate that runs the code
            tree = await anyio.to_thread.run_sync(parse_code, draft.code)
            abilities = await sandbox.abilities()
            checks += await anyio.to_thread.run_sync(missing_checks, tree, abilities)
    if contract is None:
        return _join_failures(checks), None
    checks += await lint_checks(draft.code)
    if any(check.hard for check in checks):
        return _join_failures(checks), contract
    return [*checks, pass_check("static", "contract, imports, wording and lint")], contract


def _read_draft(draft: Draft) -> tuple[list[Check], ToolContract | None]:
    """What our own readers say; in a thread, for some read each name of the code many times."""
    try:
        contract = read_contract(draft.code, draft.name, draft.description)
        tree = parse_code(draft.code)
    except ContractError as broken:
        return [broken.check], None
    names, checks = names_of(tree), package_checks(draft.packages)
    if not checks:
        checks += import_checks(draft, contract, tree)
    checks += credential_checks(draft.code, tree)
    checks += run_text_checks(tree, names)
    checks += needs_checks(draft, tree, names)
    checks += wording_checks(draft, contract)
    return checks, contract


def _join_failures(checks: list[Check]) -> list[Check]:
    """The first failure also names the next few."""
    first, *others = sorted(checks, key=lambda check: not check.hard)
    if not others:
        return [first]
    also = "; ".join(f"{check.message} ({check.fix.rstrip('.')})" for check in others[: _SHOWN_TOGETHER - 1])
    more = len(others) - (_SHOWN_TOGETHER - 1)
    tail = f"; and {more} more" if more > 0 else ""
    return [first.model_copy(update={"fix": f"{first.fix} Also: {also}{tail}."}), *others]
