"""Inputs of one synthesis by models, passed between its parts as one value."""

from __future__ import annotations

from dataclasses import dataclass

from alita_mcp.models.roles import Models
from alita_mcp.progress import ReportStage
from alita_mcp.synthesis.context import SynthesisContext
from alita_mcp.synthesis.requests.modes import Plan
from alita_mcp.synthesis.requests.request import SynthesisRequest
from alita_mcp.verification.agreement.record import Record


@dataclass(frozen=True)
class Work:
    """Inputs of one synthesis: context, request, plan, models, progress callback and model record."""

    context: SynthesisContext
    request: SynthesisRequest
    plan: Plan
    models: Models
    on_stage: ReportStage
    record: Record | None = None
    """What is known of the models; None: nothing was measured."""
