"""Journal of syntheses: how each ended, and what its models cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from pydantic import ValidationError

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.models.roles import Models, Role
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Published
from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.values import Usage

EVENT = "synthesis"
JOURNALLED = {"status", "stage", "reason", "trust", "breaks", "kept"}
WRITERS: tuple[Role, ...] = ("coder", "tester")
"""Whose names and servers are kept: their record is counted by them."""
PATIENCE_S = 10.0
"""How long the end of a cancelled synthesis waits for the disk."""


class SynthesisRecord:
    """What the journal says of one synthesis; `failed`, unless its outcome is set."""

    def __init__(self, request: SynthesisRequest) -> None:
        self.tool = request.name or None
        self.version: int | None = None
        self.detail: dict[str, Any] = {"status": "failed"}
        self.agreed: bool | None = None
        """Whether candidates and suites agreed fully; None where they were not drawn."""
        self.marks: dict[str, str] = {}
        """What tells the request from others in the models' track record."""

    def set_outcome(self, outcome: Outcome) -> None:
        """Keeps what the journal says of an outcome."""
        self.detail = outcome.model_dump(mode="json", include=JOURNALLED)
        for optional in ("breaks", "kept"):
            if not self.detail.get(optional):
                self.detail.pop(optional, None)
        if isinstance(outcome, Published | Exists):
            self.tool = outcome.tool
        if isinstance(outcome, Published):
            self.version = outcome.version


def writers_of(models: Models) -> dict[str, str]:
    """Names and server addresses of coder and tester; none for models that a client lends, or a script."""
    return {role: identity for role, identity in models.identities.items() if role in WRITERS}


@asynccontextmanager
async def journal_synthesis(
    library: Library, request: SynthesisRequest, models: Models | None
) -> AsyncIterator[SynthesisRecord]:
    """Journals the synthesis in the block once it is over, however it ends."""
    record = SynthesisRecord(request)
    try:
        yield record
    except anyio.get_cancelled_exc_class():
        record.detail = {"status": "cancelled"}
        raise
    except AlitaError as failure:
        record.detail = {"status": "failed", "reason": failure.message}
        raise
    finally:
        if models is not None and (models.usage.calls or models.usage.cached):
            record.detail["usage"] = models.usage.model_dump(mode="json", exclude={"by_role"})
            if models.identities:
                record.detail["models"] = writers_of(models)
        if record.agreed is not None:
            record.detail |= {"agreed": record.agreed, **record.marks}
        record.detail |= request.client.journal_detail
        with anyio.move_on_after(PATIENCE_S, shield=True):
            await library.record(EVENT, record.tool, record.detail, record.version)


def usages_by_tool(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Usage]]:
    """What each tool cost, from journal rows with `name` and `detail`; an empty name stands for no tool.

    That includes attempts that were made under its name and published nothing.
    """
    found: defaultdict[str, list[Usage]] = defaultdict(list)
    for row in rows:
        if spent := (row.get("detail") or {}).get("usage"):
            with suppress(ValidationError):
                found[row.get("name") or ""].append(Usage.model_validate(spent))
    return dict(found)
