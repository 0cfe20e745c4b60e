"""Activity as the journal tells of it: what ended, here and in processes that nobody could listen to."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from pydantic import ValidationError

from alita_mcp.app.activity import COMMAND_LINE, Activity, Kind, show_detail, show_text
from alita_mcp.library.catalogue.use import FOUND_NOTHING, RAN_CODE
from alita_mcp.library.rows import JournalRow
from alita_mcp.owners import USER

_KINDS: dict[str, Kind] = {
    "called": "call", "sandbox failed": "call", FOUND_NOTHING: "search", RAN_CODE: "code", "synthesis": "synthesis",
}  # fmt: skip
_OUTCOMES = {"sandbox failed": "sandbox failed", FOUND_NOTHING: "none"}
_TEXTS = {"call": "message", "search": "query", "code": "error", "synthesis": "reason"}
"""The field of a row that is the text of its line."""


def activity_of(row: JournalRow) -> Activity | None:
    """What a row of the journal tells, under the id that the feed gave it.

    None for rows that are damaged, or tell of something else.
    """
    kind = _KINDS.get(row.event)
    if kind is None:
        return None
    fields = dict(row.detail)
    text = str(fields.pop(_TEXTS[kind], None) or "")
    with suppress(ValidationError, ValueError):
        return Activity(
            id=fields.get("activity") or f"journal-{row.id}",
            kind=kind,
            outcome=show_text(_OUTCOMES.get(row.event) or str(fields.get("status") or "failed")),
            client=show_text(str(fields.get("client") or COMMAND_LINE)),
            owner=str(fields.get("owner") or USER),
            tool=show_text(row.name or ""),
            text=show_text(text),
            time=datetime.fromisoformat(row.time),
            seconds=fields.get("seconds") or 0.0,
            detail=show_detail(fields),
        )
    return None
