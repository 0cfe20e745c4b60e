"""Inputs of one synthesis by models, passed between its parts as one value."""

from __future__ import annotations

from dataclasses import dataclass

from alita_mcp.models.roles import Models
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.context import SynthesisContext
from alita_mcp.toolsmith.jobs.journal import Ending
from alita_mcp.toolsmith.requests.modes import Plan
from alita_mcp.toolsmith.requests.request import SynthesisRequest


@dataclass(frozen=True)
class Work:
    """Inputs of one synthesis: context, request, plan, models and their track record, progress callback, journal."""

    context: SynthesisContext
    request: SynthesisRequest
    plan: Plan
    models: Models
    on_stage: ReportStage
    ending: Ending
    """Keeps whether candidates and suites agree fully."""
    agreed_before: tuple[bool, ...] | None = None
    """Whether the last syntheses of these models agreed fully, newest first; None for models that have no record."""
