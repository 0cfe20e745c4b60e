"""Journal entry of a synthesis: how it ended and what its models cost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.models.roles import Models, Role
from alita_mcp.synthesis.requests.outcomes import Created, Exists, NeedsApproval, Outcome
from alita_mcp.synthesis.requests.request import SynthesisRequest

EVENT = "synthesis"
JOURNALLED = {"status", "stage", "reason", "trust", "breaks", "kept"}
WRITERS: tuple[Role, ...] = ("coder", "tester")
"""Whose names are kept: what becomes of their work later counts for or against them."""
PATIENCE_S = 10.0
"""How long the end of a cancelled synthesis waits for the disk."""


class Ending:
    """End of a synthesis; failed, unless its outcome is noted."""

    def __init__(self, request: SynthesisRequest) -> None:
        self.tool = request.name or None
        self.version: int | None = None
        by_words = not request.code.strip() and not request.from_run
        self._complains = request.update and by_words and bool(request.description.strip())
        self.detail: dict[str, Any] = {"status": "failed"}

    def note(self, outcome: Outcome) -> None:
        """Keeps what the journal says of an outcome."""
        self.detail = outcome.model_dump(mode="json", include=JOURNALLED)
        for optional in ("breaks", "kept"):
            if not self.detail.get(optional):
                self.detail.pop(optional, None)
        if isinstance(outcome, Created | Exists | NeedsApproval):
            self.tool = outcome.tool
        if isinstance(outcome, Created | NeedsApproval):
            self.version = outcome.version
        if self._complains and isinstance(outcome, Created | NeedsApproval):
            self.detail["complaint"] = True  # the version before was found wrong by who uses it


@asynccontextmanager
async def journalled(
    library: Library, request: SynthesisRequest, models: Models | None
) -> AsyncIterator[Ending]:
    """Journals the synthesis in the block once it is over, however it ends."""
    ending = Ending(request)
    try:
        yield ending
    except anyio.get_cancelled_exc_class():
        ending.detail = {"status": "cancelled"}
        raise
    except AlitaError as failure:
        ending.detail = {"status": "failed", "reason": failure.message}
        raise
    finally:
        if models is not None and (models.usage.calls or models.usage.cached):
            ending.detail["usage"] = models.usage.model_dump(mode="json", exclude={"by_role"})
            if models.own:
                ending.detail["models"] = {role: models.role(role).name for role in WRITERS}
        if request.client:
            ending.detail["client"] = request.client
        with anyio.move_on_after(PATIENCE_S, shield=True):
            await library.record(EVENT, ending.tool, ending.detail, ending.version)
