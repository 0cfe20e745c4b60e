"""Text of rejections and failed calls: everything needed to fix them, for models that see nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alita_mcp.server.results.building import MAX_ERROR_TEXT, as_json, printable
from alita_mcp.texts import clip
from alita_mcp.verification.comparison import difference

MAX_TRACE = 10
BEFORE = 150
"""So many characters of both values stand before their first difference."""
MAX_REASON = 500
MAX_VALUE = 250
"""Of each side of a comparison, a case, and the arguments that break a promise."""


def rejection_text(rejected: Mapping[str, Any]) -> str:
    """Stage, reason, comparison, case, trace and `fix`; the trace gives way first, the fix never."""
    fix = f"Fix: {rejected['fix']}"
    lines = [f"Rejected at {rejected['stage']}: {printable(rejected['reason'], MAX_REASON)}"]
    if "got" in rejected:  # both values around their first difference
        found = difference(rejected.get("expected"), rejected["got"], MAX_VALUE, BEFORE)
        compared = f"xpected {found.expected}, got {found.got}."
        lines.append(f"At {found.where}: e{compared}" if found.where else f"E{compared}")
    for label, value in (("Case ", rejected.get("case")), ("breaks: ", rejected.get("breaks") or None)):
        if value is not None:
            lines.append(label + printable(as_json(value), MAX_VALUE))
    room = max(1, MAX_ERROR_TEXT - len(fix) - 1)
    lines += _last_lines(rejected.get("trace") or (), room - len("\n".join(lines)) - 1)
    return clip("\n".join(lines), room) + f"\n{fix}"


def failure_text(what: str, trace: Sequence[str], limits: str = "") -> str:
    """Why a call failed: what was raised and where, and the limits of the call where they matter."""
    room = MAX_ERROR_TEXT - len(limits) - 1
    lines = _last_lines(trace, max(room * 2 // 5, room - len(what) - 1))
    what = printable(what, room - sum(len(line) + 1 for line in lines))
    return "\n".join(filter(None, (what, *lines, limits)))


def _last_lines(trace: Sequence[str], room: int) -> list[str]:
    """The last lines of a trace that fit, where the error was raised."""
    kept: list[str] = []
    for line in reversed(trace[-MAX_TRACE:]):
        text = printable(line, MAX_ERROR_TEXT)
        room -= len(text) + 1
        if room < 0:
            break
        kept.insert(0, text)
    return kept
