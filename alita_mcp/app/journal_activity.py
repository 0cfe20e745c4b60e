"""Activity as the journal tells of it: what ended, here and in processes that nobody could listen to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from alita_mcp.app.activity import Activity, Kind, name_client, shown_detail, shown_text
from alita_mcp.library.catalogue.use import FOUND_NOTHING, RAN_CODE
from alita_mcp.library.rows import JournalRow
from alita_mcp.owners import USER, ClientIdentity
from alita_mcp.toolsmith.jobs.journal import EVENT

_KINDS: dict[str, Kind] = {
    "called": "call", "sandbox failed": "call", FOUND_NOTHING: "search", RAN_CODE: "code", EVENT: "synthesis",
}  # fmt: skip
_UNSHOWN = ("published", "created", "raised")
"""Events of which another row tells: that of the synthesis, or of the library's first start."""
_ID = re.compile(r"[\w-]{1,64}")


def activity_of(row: JournalRow) -> Activity | None:
    """What a row of the journal tells, under the id that the feed gave it; None for rows that people need not see.

    A row that is damaged is none of these.
    """
    if row.event in _UNSHOWN:
        return None
    kind = _KINDS.get(row.event, "change")
    fields = dict(row.detail)
    owner = str(fields.get("owner") or USER)
    identity = ClientIdentity(client=str(fields.get("client") or ""), owner=owner)
    known, seconds, status = (fields.get(name) for name in ("activity", "seconds", "status"))
    text = ""
    if kind == "search":
        outcome, text = "none", str(fields.pop("query", ""))
    elif row.event == "sandbox failed":
        outcome, text = row.event, str(fields.pop("message", ""))
    elif kind == "change":
        outcome = row.event
    else:
        outcome = str(status or "failed")
    if kind == "synthesis":
        words = words_of_outcome(fields)
        text, fields = words["text"], words["detail"]
    with suppress(ValidationError):
        return Activity(
            id=known if isinstance(known, str) and _ID.fullmatch(known) else f"journal-{row.id}",
            kind=kind,
            phase="ended",
            outcome=shown_text(outcome),
            client=name_client(identity) if identity.client or owner == USER else f"{owner}'s client",
            tool=shown_text(row.name or ""),
            text=shown_text(text),
            time=row.time,
            seconds=seconds if isinstance(seconds, int | float) else 0.0,
            detail=shown_detail(fields),
        )
    return None


def words_of_outcome(described: Mapping[str, Any]) -> dict[str, Any]:
    """The line and the detail of a synthesis, from what `describe_outcome` says of it."""
    detail = {name: value for name, value in described.items() if name != "reason"}
    return {"text": str(described.get("reason") or ""), "detail": detail}
