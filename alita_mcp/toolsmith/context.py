"""Inputs of a synthesis: library, sandbox, gates, and advice from the web and recorded runs."""

from __future__ import annotations

from dataclasses import dataclass

from alita_mcp.library.library import Library
from alita_mcp.models.roles import Models
from alita_mcp.progress import ReportStage
from alita_mcp.research.web_agent import WebAgent
from alita_mcp.runs.history.store import RunStore
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.toolsmith.jobs.journal import SynthesisRecord
from alita_mcp.toolsmith.publishing import Publisher
from alita_mcp.toolsmith.requests.modes import Width
from alita_mcp.toolsmith.requests.request import SynthesisRequest


@dataclass(frozen=True)
class Advice:
    """Knowledge from elsewhere: the web, and recorded runs."""

    research: WebAgent | None = None
    """None: nothing is looked up, and the planner is not asked for open questions."""
    runs: RunStore | None = None


@dataclass(frozen=True)
class SynthesisContext:
    """What every synthesis of one server shares."""

    library: Library
    sandbox: Sandbox
    publisher: Publisher
    advice: Advice


@dataclass(frozen=True)
class Work:
    """Inputs of one synthesis by models."""

    context: SynthesisContext
    request: SynthesisRequest
    rounds: tuple[Width, ...]
    """How many candidates and suites may be drawn, round by round."""
    models: Models
    on_stage: ReportStage
    record: SynthesisRecord
    """Keeps whether candidates and suites agree fully."""
    agreed_before: tuple[bool, ...] | None = None
    """Whether the last syntheses of these models agreed fully, newest first; None for models that have no record."""
