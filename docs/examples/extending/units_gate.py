"""Example of a verification gate: numbers whose names say seconds, metres or money must say the unit.

A gate is a function from a draft and its contract to checks; `verify_with_units` runs it after all others.
"""

from __future__ import annotations

import re

from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.values import Check, Draft, ToolContract
from alita_mcp.verification.findings import fail_check, pass_check
from alita_mcp.verification.verify import Verdict, verify

MEASURED = re.compile(r"\b(duration|timeout|delay|distance|length|height|weight|price|amount)\b")
UNIT = re.compile(
    r"\b(seconds?|minutes?|hours?|days?|met(er|re)s?|km|kg|grams?|euros?|USD|EUR|bytes?|any unit)\b"
)


def units_gate(draft: Draft, contract: ToolContract) -> list[Check]:
    """One soft check for each parameter without its unit, or one that passed."""
    checks = [
        fail_check("schema", f"{name} has no unit", f"Say the unit in the description of {name}.", hard=False)
        for name, schema in contract.input_schema["properties"].items()
        if schema.get("type") in ("integer", "number")
        and MEASURED.search(name.replace("_", " "))
        and not UNIT.search(f"{name.replace('_', ' ')} {schema.get('description', '')}")
    ]
    return checks or [pass_check("schema", f"{draft.name}: numbers say their units")]


async def verify_with_units(draft: Draft, sandbox: Sandbox) -> Verdict:
    """The verdict of all gates and of this one; a failed soft check makes a verified draft provisional."""
    verdict = await verify(draft, sandbox, _silent)
    if verdict.contract is None or verdict.report.trust == "rejected":
        return verdict
    checks = units_gate(draft, verdict.contract)
    report = verdict.report.model_copy(
        update={
            "checks": (*verdict.report.checks, *checks),
            "trust": verdict.report.trust if all(check.passed for check in checks) else "provisional",
        }
    )
    return verdict.model_copy(update={"report": report})


async def _silent(_stage: str) -> None:
    return None
