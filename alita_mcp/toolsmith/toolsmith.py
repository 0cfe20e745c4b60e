"""Toolsmith: takes each synthesis request to what makes its tool, and journals the outcome."""

from __future__ import annotations

from contextlib import suppress

import anyio
import anyio.lowlevel
import anyio.to_thread

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.models.roles import Models, RoleModels
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.context import Advice, SynthesisContext, Work
from alita_mcp.toolsmith.from_runs import is_script, make_from_runs
from alita_mcp.toolsmith.jobs.journal import SynthesisRecord, journal_synthesis, writers_of
from alita_mcp.toolsmith.pipeline import write_tool
from alita_mcp.toolsmith.publishing import Admit, Publisher
from alita_mcp.toolsmith.requests.modes import ROUNDS
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Rejected
from alita_mcp.toolsmith.requests.request import SynthesisRequest, grant_problem, make_draft, name_problem
from alita_mcp.toolsmith.requests.template import ask_for_code, describe_abilities
from alita_mcp.toolsmith.resubmission import find_same_tool, raise_trust, with_code_of
from alita_mcp.toolsmith.track_record import raise_proven, read_agreed_before
from alita_mcp.values import Manifest, VerificationReport


class Toolsmith:
    """Makes tools of requests: by models, from the caller's code, or from recorded runs."""

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
        self._admit, self._advice = admit, advice
        advice = advice or Advice()
        self._publisher = Publisher(library, sandbox, settings, admit)
        self._context = SynthesisContext(library, sandbox, self._publisher, advice)

    async def make(
        self,
        request: SynthesisRequest,
        on_stage: ReportStage,
        models: RoleModels | None = None,
        activity: str = "",
    ) -> Outcome:
        """The outcome of one request, which is journalled; a draft that fails a gate is an outcome too.

        Args:
            request: What to make.
            on_stage: Hears the name of each stage.
            models: The models to use instead of this toolsmith's own, for example on another budget.
            activity: Its id in the feed of activity, for the journal.

        Raises:
            SandboxError: the sandbox failed.
            ModelError: the models wrote nothing that could be tried.
        """
        library = self._library.seen_by(request.client.owner)
        if library is not self._library:
            of_owner = Toolsmith(
                library, self._sandbox, self._settings, self._admit, self._models, self._advice
            )
            return await of_owner.make(request, on_stage, models, activity)
        if self._settings.policy == "locked":
            return Rejected(
                stage="policy",
                reason="This server takes no new tools: ALITA_POLICY is locked.",
                fix="Use the tools that search_capabilities finds.",
            )
        role_models = models or self._models
        opened = role_models.open_models() if role_models is not None else None
        pays = models is None
        async with journal_synthesis(self._library, request, opened, activity, pays=pays) as record:
            outcome = await self._make(request, on_stage, opened, record)
            record.set_outcome(outcome)
        if opened is not None and record.agreed:
            # this agreement may prove earlier tools of the same models, which can then have their grants
            for proven in await raise_proven(self._library, writers_of(opened), request.client.owner):
                await self._publisher.settle_grants(proven.manifest, proven.report)
        return outcome

    async def _make(
        self,
        request: SynthesisRequest,
        on_stage: ReportStage,
        models: Models | None = None,
        record: SynthesisRecord | None = None,
    ) -> Outcome:
        # A tool is made (1) of recorded runs, (2) of the caller's code, perhaps that of a published tool to which it
        # sends tests, or (3) by models. (4) Without any of these, for a script, or for an update, the caller is asked
        # for a function.
        if request.from_run:
            return await make_from_runs(request, on_stage, self._context, self._make)
        if request.name and (problem := name_problem(request.name)):
            return problem
        words = request.code.strip() or request.description.strip()
        if request.name and request.tests and not (words or request.update):
            with suppress(AlitaError):  # more tests for the tool of this name, if there is one
                again = with_code_of(await self._library.read(request.name), request)
                request = request if isinstance(again, Exists) else again
        code_is_script = await anyio.to_thread.run_sync(is_script, request)
        if request.code.strip() and not code_is_script:
            return await self._make_from_code(request, on_stage)
        is_new = bool(request.description.strip()) and not (code_is_script or request.update)
        if models is not None and is_new:
            return await self._write_with_models(
                request, models, on_stage, record or SynthesisRecord(request)
            )
        await on_stage("search")
        similar = await self._library.similar(f"{request.name} {request.description}".strip())
        return ask_for_code(request, similar, await describe_abilities(self._sandbox))

    async def _write_with_models(
        self, request: SynthesisRequest, models: Models, on_stage: ReportStage, record: SynthesisRecord
    ) -> Outcome:
        """Lets models write the tool, unless it could never be published."""
        problem = grant_problem(request)
        if problem is not None:
            return problem
        if request.name:
            follows = self._publisher.version_to_follow(request.name, update=False)
            if not isinstance(follows, int):
                return follows
        rounds = ROUNDS[request.mode or self._settings.synthesis_mode]
        agreed_before = await read_agreed_before(
            self._library, writers_of(models), request.description, request.client.owner
        )
        work = Work(self._context, request, rounds, models, on_stage, record, agreed_before)
        return await write_tool(work)

    async def _make_from_code(self, request: SynthesisRequest, on_stage: ReportStage) -> Outcome:
        draft = await anyio.to_thread.run_sync(make_draft, request)  # it parses the code
        if isinstance(draft, Rejected):
            return draft
        published = await find_same_tool(draft, self._library, update=request.update)
        if published is not None:
            outcome = await raise_trust(
                draft, published, self._library, self._sandbox, on_stage, made_by=request.made_by
            )
            if not isinstance(outcome, Exists) or outcome.trust == outcome.trust_before:
                return outcome
            # once it is verified, it can have the grants that it asks for
            raised = await self._library.read(outcome.tool, outcome.version)
            return await self._publisher.settle_grants(raised.manifest, raised.report) or outcome
        return await self._publisher.submit(
            draft, on_stage, update=request.update, breaks=request.breaks, request=request
        )

    async def outcome_of(self, manifest: Manifest, report: VerificationReport) -> Outcome:
        """The outcome for a published version: created, or waiting for a person to grant what it asks for."""
        return await self._publisher.outcome_of(manifest, report)
