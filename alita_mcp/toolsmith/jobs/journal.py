"""Journal of syntheses: how each ended, and what its models cost."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.library.private_text import holds_secret
from alita_mcp.models.roles import Models, Role
from alita_mcp.texts import clip
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Published, Rejected
from alita_mcp.toolsmith.requests.request import SynthesisRequest

EVENT = "synthesis"
JOURNALLED = {"status", "stage", "reason", "fix", "trust", "breaks", "kept"}
_OPTIONAL = ("fix", "breaks", "kept")
MAX_COMPARED = 1_000
"""Longest of the values that a gate compared, as JSON; longer ones are cut."""
WRITERS: tuple[Role, ...] = ("planner", "coder", "tester")
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
        self.detail = describe_outcome(outcome)
        if isinstance(outcome, Published | Exists):
            self.tool = outcome.tool
        if isinstance(outcome, Published):
            self.version = outcome.version


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """What may be kept and shown of an outcome: how a synthesis ended, and why; nothing that holds a secret."""
    fields = outcome.model_dump(mode="json", include=JOURNALLED)
    described = {name: value for name, value in fields.items() if value or name not in _OPTIONAL}
    if isinstance(outcome, Rejected):
        compared = outcome.model_dump(include={"case", "expected", "got"})
        texts = {name: json.dumps(value, default=str) for name, value in compared.items()}
        if outcome.case is not None and not holds_secret(" ".join(texts.values())):
            described |= {name: clip(text, MAX_COMPARED) for name, text in texts.items()}
    return described


def writers_of(models: Models) -> dict[str, str]:
    """Names and server addresses of planner, coder and tester; none for models that a client lends, or a script."""
    return {role: identity for role, identity in models.identities.items() if role in WRITERS}


@asynccontextmanager
async def journal_synthesis(
    library: Library,
    request: SynthesisRequest,
    models: Models | None,
    activity: str = "",
    *,
    pays: bool = True,
) -> AsyncIterator[SynthesisRecord]:
    """Journals the synthesis in the block once it is over, however it ends; `activity` is its id in the feed.

    Unless it `pays`, its models are on the account of a larger piece of work.
    """
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
        if models is not None and models.usage.calls:
            record.detail["usage"] = models.usage.model_dump(mode="json")
            if models.identities:
                record.detail["models"] = writers_of(models)
        if record.agreed is not None:
            record.detail |= {"agreed": record.agreed, **record.marks}
        record.detail |= request.client.journal_detail | ({"activity": activity} if activity else {})
        with anyio.move_on_after(PATIENCE_S, shield=True):
            await library.record(EVENT, record.tool, record.detail, record.version)
            if models is not None and pays:
                await library.quotas.add_model_tokens(request.client.owner, models.usage.tokens)
