"""Repair of the arguments that models send to the fixed tools."""

from __future__ import annotations

import json
from typing import Any

from alita_mcp.errors import InvalidArguments
from alita_mcp.server.results.building import printable
from alita_mcp.server.tools.definitions import RESERVED_NAMES

_JSON_FIELDS = {
    "run_tool": ("arguments",),
    "run_code": ("arguments", "packages", "needs"),
    "synthesize_tool": ("tests", "use_when", "packages", "needs", "varies", "breaks"),
    "research_web": ("urls",),
}
"""Fields that models like to send as JSON text."""


def repair_arguments(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a fixed tool as they were meant: no nulls for what was left out, no JSON text for JSON.

    Those of other tools stay as they are.

    Raises:
        InvalidArguments: the text is not JSON.
    """
    if name not in RESERVED_NAMES:
        return arguments
    meant = {field: value for field, value in arguments.items() if value is not None}
    for field in _JSON_FIELDS.get(name, ()):
        if isinstance(meant.get(field), str):
            meant[field] = _parse_field(field, meant[field])
    if isinstance(run := meant.get("from_run"), str):
        meant["from_run"] = _parse_field("from_run", run) if run.lstrip().startswith("[") else [run]
    if name == "synthesize_tool" and "network" in meant and isinstance(meant.get("needs", {}), dict):
        # where it stood in definitions that a client may have kept
        meant["needs"] = {"network": meant.pop("network"), **meant.get("needs", {})}
    return meant


def _parse_field(field: str, text: str) -> Any:
    def refuse_constant(name: str) -> Any:
        raise ValueError(f"{name} is not a JSON number")

    if not text.strip():
        return {} if field in ("arguments", "needs") else []
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as unreadable:
        raise InvalidArguments(
            f"{field} is text that is not JSON: {printable(str(unreadable))}.",
            hint=f"Send {field} as JSON itself, not as text.",
        ) from unreadable
