"""Inputs of one synthesis by models, passed between its parts as one value."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from alita_mcp.library.library import Library
from alita_mcp.models.roles import Models
from alita_mcp.progress import ReportStage
from alita_mcp.research.interface import WebAgent
from alita_mcp.runs.history.store import RunStore
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.toolsmith.jobs.journal import Ending
from alita_mcp.toolsmith.package_check import PackageCheck
from alita_mcp.toolsmith.requests.modes import Plan
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Rejected
from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.values import Draft
from alita_mcp.verification.verify import Verdict

Amend = Callable[[Draft, Verdict], Awaitable[tuple[Draft, Verdict]]]
"""Amends an accepted draft and its verdict before they are stored: more in the report, perhaps more examples."""


class Submission(Protocol):
    """Protocol for proving and publishing drafts; `Publisher` fills it."""

    def standing(self, name: str, *, update: bool) -> int | Exists | Rejected:
        """The version that a draft of this name would follow (0: a new name), or why it may not be published."""
        ...

    async def submit(
        self,
        draft: Draft,
        on_stage: ReportStage,
        *,
        update: bool,
        breaks: Sequence[dict[str, Any]] = (),
        amend: Amend | None = None,
        made_by: str = "",
    ) -> Outcome:
        """A draft through all gates and into the library; `breaks` as `SynthesisRequest` has them."""
        ...


@dataclass(frozen=True)
class Advice:
    """Knowledge from elsewhere: the web and a package index, recorded runs."""

    research: WebAgent | None = None
    """None: nothing is looked up, and the planner is not asked for open questions."""
    runs: RunStore | None = None


@dataclass(frozen=True)
class SynthesisContext:
    """Everything that one synthesis works with: library, sandbox, submission, advice and packages."""

    library: Library
    sandbox: Sandbox
    submission: Submission
    advice: Advice
    packages: PackageCheck


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
