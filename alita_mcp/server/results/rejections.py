"""Text of rejections and failed calls: everything needed to fix them, for models that see nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alita_mcp.server.results.building import MAX_ERROR_TEXT, as_json, printable
from alita_mcp.verification.comparison import difference

MAX_TRACE = 10
BEFORE = 150
"""So many characters of both values stand before their first difference."""
BESIDE = 120
"""More than what stands in a comparison beside the two values."""
LEAST = 24
"""A part of which only so few characters would fit is left out."""


def rejection_text(rejected: Mapping[str, Any]) -> str:
    """Stage, reason, comparison, case, trace and `fix`; the trace gives way first, the fix never."""
    head, fix = f"Rejected at {rejected['stage']}: ", f"Fix: {rejected['fix']}"
    room = max(1, MAX_ERROR_TEXT - len(head) - len(fix) - 1)
    left = room - min(len(rejected["reason"]), room * 2 // 5)
    lines: list[str] = []
    most = left * 3 // 5 - 1
    if "got" in rejected and most >= 2 * BESIDE:  # both values around their first difference
        found = difference(rejected.get("expected"), rejected["got"], (most - BESIDE) // 2, BEFORE)
        compared = f"xpected {found.expected}, got {found.got}."
        lines.append(f"At {found.where}: e{compared}" if found.where else f"E{compared}")
    for label, value in (("Case ", rejected.get("case")), ("breaks: ", rejected.get("breaks") or None)):
        most = (left - sum(len(line) + 1 for line in lines)) * 3 // 5 - 1
        if value is not None and most >= LEAST:
            lines.append(label + printable(as_json(value), most - len(label)))
    left -= sum(len(line) + 1 for line in lines)
    lines += _last_lines(rejected.get("trace") or (), left)
    reason = printable(rejected["reason"], room - sum(len(line) + 1 for line in lines))
    return "\n".join([head + reason, *lines, fix])


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
