"""Activity as the journal tells of it: what ended, here and in processes that nobody could listen to."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from pydantic import ValidationError

from alita_mcp.app.activity import COMMAND_LINE, Activity, Kind, show_detail, show_text
from alita_mcp.library.catalogue.use import FOUND_NOTHING, RAN_CODE
from alita_mcp.library.rows import JournalRow

_KINDS: dict[str, Kind] = {
    "called": "call", "sandbox failed": "call", FOUND_NOTHING: "search", RAN_CODE: "code", "synthesis": "synthesis",
}  # fmt: skip
_OUTCOMES = {"sandbox failed": "sandbox failed", FOUND_NOTHING: "none"}
_TEXTS = {"call": "message", "search": "query", "code": "error", "synthesis": "reason", "change": "why"}
"""The field of a row that is the text of its line."""
_UNSHOWN = ("published", "created", "raised", "starter installed", "starter tools installed")
"""Events of which another row tells, or that belong to the library's first start."""


def activity_of(row: JournalRow) -> Activity | None:
    """What a row of the journal tells, under the id that the feed gave it.

    None for rows that are damaged, or that people need not see.
    """
    if row.event in _UNSHOWN:
        return None
    kind = _KINDS.get(row.event, "change")
    fields = dict(row.detail)
    text = str(fields.pop(_TEXTS[kind], None) or "")
    with suppress(ValidationError, ValueError):
        return Activity(
            id=fields.get("activity") or f"journal-{row.id}",
            kind=kind,
            outcome=show_text(_OUTCOMES.get(row.event) or str(fields.get("status") or row.event)),
            client=show_text(str(fields.get("client") or ("" if kind == "change" else COMMAND_LINE))),
            tool=show_text(row.name or ""),
            text=show_text(text),
            time=datetime.fromisoformat(row.time),
            seconds=fields.get("seconds") or 0.0,
            detail=show_detail(fields),
        )
    return None
