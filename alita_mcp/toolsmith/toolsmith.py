"""Toolsmith: routes each synthesis request to the writer that serves it, and journals the outcome."""

from __future__ import annotations

from copy import copy

import anyio
import anyio.lowlevel

from alita_mcp.library.library import Library
from alita_mcp.models.roles import Models, RoleModels
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.context import Advice, SynthesisContext, Work
from alita_mcp.toolsmith.cross_check import CrossCheck
from alita_mcp.toolsmith.from_runs import FromRuns, is_script
from alita_mcp.toolsmith.jobs.journal import Ending, journalled, mark_request, writers_of
from alita_mcp.toolsmith.package_check import PackageCheck
from alita_mcp.toolsmith.pipeline import Pipeline
from alita_mcp.toolsmith.publishing import Admit, Publisher
from alita_mcp.toolsmith.requests.modes import PLANS
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Rejected
from alita_mcp.toolsmith.requests.request import SynthesisRequest, draft_of, unfit_grants, unfit_name
from alita_mcp.toolsmith.requests.template import ask_for_code, told_abilities
from alita_mcp.toolsmith.resubmission import raise_trust, same_tool
from alita_mcp.toolsmith.revision import Revision
from alita_mcp.toolsmith.track_record import raise_proven, read_agreed_before
from alita_mcp.values import Draft, Manifest, StoredVersion, VerificationReport


class Toolsmith:
    """Routes a request to what makes its tool: models, the caller's code, recorded runs, or a revision."""

    def __init__(
        self,
        library: Library,
        sandbox: Sandbox,
        settings: Settings,
        admit: Admit,
        models: RoleModels | None = None,
        advice: Advice | None = None,
    ) -> None:
        self._library = library
        self._sandbox = sandbox
        self._settings = settings
        self._models = models
        advised = advice or Advice()
        packages = PackageCheck(advised.research, sandbox)
        self._publisher = Publisher(library, sandbox, settings, packages, admit)
        self._context = SynthesisContext(library, sandbox, self._publisher, advised, packages)

    def using(self, models: RoleModels) -> Toolsmith:
        """The same toolsmith with its models on another account."""
        other = copy(self)
        other._models = models  # noqa: SLF001 - its own
        return other

    async def make(self, request: SynthesisRequest, on_stage: ReportStage) -> Outcome:
        """One synthesis from start to end, journalled; a failing sandbox is raised, a failing draft is an outcome."""
        if self._settings.policy == "locked":
            return Rejected(
                stage="policy",
                reason="This server takes no new tools: ALITA_POLICY is locked.",
                fix="Use the tools that search_capabilities finds.",
            )
        models = self._models.open_models() if self._models is not None else None
        async with journalled(self._library, request, models) as ending:
            ending.note(outcome := await self._make(request, on_stage, models, ending))
        if (
            models is not None and ending.agreed
        ):  # earlier tools that this synthesis proves can have their grants now
            for raised in await raise_proven(self._library, writers_of(models)):
                await self._publisher.unless_granted(raised.manifest, raised.report)
        return outcome

    async def _make(
        self,
        request: SynthesisRequest,
        on_stage: ReportStage,
        models: Models | None = None,
        ending: Ending | None = None,
    ) -> Outcome:
        if request.from_run:
            return await FromRuns(self._context, self._make).make(request, on_stage)
        plain = await anyio.to_thread.run_sync(is_script, request)
        if request.code.strip() and not plain:
            return await self._make_from_code(request, models, on_stage)
        if models is not None and not plain and request.description.strip():
            return self._refused(request) or await self._write(
                request, models, on_stage, ending or Ending(request)
            )
        await on_stage("search")
        text = f"{request.name} {request.description}".strip()
        similar = await self._library.similar(text)
        abilities = await told_abilities(self._sandbox)
        return ask_for_code(request, similar, abilities)

    async def _write(
        self, request: SynthesisRequest, models: Models, on_stage: ReportStage, ending: Ending
    ) -> Outcome:
        """Lets models write the tool."""
        plan = PLANS[request.mode or self._settings.synthesis_mode]
        before = await read_agreed_before(
            self._library, writers_of(models), mark_request(request.description)
        )
        writer = Revision if request.update else Pipeline
        work = Work(self._context, request, plan, models, on_stage, ending, before)
        return await writer(work).make()

    def _refused(self, request: SynthesisRequest) -> Exists | Rejected | None:
        """Why a request could never be published, known before any model is asked."""
        unfit = unfit_grants(request)
        if unfit is not None or not request.name:
            return unfit
        unnamed = unfit_name(request.name)
        standing = self._publisher.standing(request.name, update=request.update)
        return unnamed or (standing if isinstance(standing, Exists | Rejected) else None)

    async def _make_from_code(
        self, request: SynthesisRequest, models: Models | None, on_stage: ReportStage
    ) -> Outcome:
        draft = draft_of(request, has_testers=models is not None)
        if isinstance(draft, Rejected):
            return draft
        known = await same_tool(draft, self._library, update=request.update)
        if known is not None:
            return await self._resubmitted(draft, known, on_stage)
        if models is not None:
            mode = request.mode or self._settings.synthesis_mode
            return await CrossCheck(self._context, request, models, mode, on_stage).submit(draft)
        return await self._publisher.submit(
            draft, on_stage, update=request.update, breaks=request.breaks, made_by=request.made_by
        )

    async def _resubmitted(self, draft: Draft, known: StoredVersion, on_stage: ReportStage) -> Outcome:
        """More examples for the tool that is there; once it is verified, what it asks for can be granted."""
        outcome = await raise_trust(draft, known, self._library, self._sandbox, on_stage)
        if not isinstance(outcome, Exists) or outcome.trust == outcome.trust_before:
            return outcome
        raised = await self._library.read(outcome.tool, outcome.version)
        return await self._publisher.unless_granted(raised.manifest, raised.report) or outcome

    async def outcome_of(self, manifest: Manifest, report: VerificationReport) -> Outcome:
        """Outcome for a published version: created, or waiting for a person who grants what it asks for."""
        return await self._publisher.outcome_of(manifest, report)
