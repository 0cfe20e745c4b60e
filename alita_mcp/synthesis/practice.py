"""Update of the model records with the evidence of a finished synthesis."""

from __future__ import annotations

import logging

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.models.roles import Models
from alita_mcp.synthesis.context import SynthesisContext
from alita_mcp.synthesis.model_records.records import Practice
from alita_mcp.synthesis.requests.outcomes import Created, NeedsApproval, Outcome
from alita_mcp.values import Agreement

MAJORITY = 2
"""A test that contradicts one candidate alone proves nothing of either."""
PATIENCE_S = 10.0
_log = logging.getLogger(__name__)


async def practised(context: SynthesisContext, models: Models, outcome: Outcome) -> None:
    """Counts a published version for the models that wrote it; a failure to count is logged only."""
    if not models.own or not isinstance(outcome, Created | NeedsApproval):
        return
    with anyio.move_on_after(PATIENCE_S, shield=True):  # the version is published: its asker is to hear of it
        try:
            stored = await context.library.read(outcome.tool, outcome.version)
            if stored.report.agreement is None:
                return
            coder, tester = models.role("coder").name, models.role("tester").name
            await context.records.practise(coder, tester, practice_of(stored.report.agreement))
        except AlitaError as failure:
            _log.warning("What a synthesis showed of its models is not kept: %s", failure)


def practice_of(agreement: Agreement) -> Practice:
    """Tests kept and dropped where a majority decided that, and whether the first try was good enough."""
    decided = round(agreement.share * agreement.candidates) >= MAJORITY
    return Practice(
        kept=len(agreement.kept) if decided else 0,
        dropped=len(agreement.dropped) if decided else 0,
        first_time=agreement.repairs == 0 and agreement.attempts == 1,
    )
