"""Tools from recorded runs of code, with the examples that the caller could confirm.

What a run gave is an example, and no evidence that it is right: what nobody has confirmed is marked as recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence

import anyio.to_thread

from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.library.versions.files import mark_of
from alita_mcp.mining.generalisation.generalise import generalise
from alita_mcp.mining.values import GeneralFunction, NotGeneral
from alita_mcp.progress import ReportStage
from alita_mcp.runs.recorded_run import RecordedRun
from alita_mcp.synthesis.context import SynthesisContext
from alita_mcp.synthesis.jobs.recorded import confirmed_by, recorded_of, told_by
from alita_mcp.synthesis.requests.drafting import draft_of, unfit_name
from alita_mcp.synthesis.requests.outcomes import Created, Exists, NeedsApproval, NeedsCode, Outcome, Rejected
from alita_mcp.synthesis.requests.request import SynthesisRequest, taken_from_code
from alita_mcp.synthesis.review.proposals import proposed
from alita_mcp.synthesis.scripts.run_scripts import as_tests, script_of
from alita_mcp.synthesis.scripts.unfit_runs import (
    BY_HAND,
    MAX_CALL,
    TOO_LARGE,
    different_programs,
    told_of_runs,
    unfit_runs,
)
from alita_mcp.values import Draft, Recorded, StoredVersion, VerificationReport
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

LAST_NUMBER = 20
"""So many tools may be called the same but for a number behind it."""
CONFIRM = "Or confirm the proposed ones."
_THERE = "it was made of these runs, and all its examples are confirmed; send update=true for a new version"
Make = Callable[[SynthesisRequest, ReportStage], Awaitable[Outcome]]
"""Outcome of a request with code: of the gates for a function, a template for a plain script."""


class FromRuns:
    """Makes tools of recorded runs; `make` takes them through the gates."""

    def __init__(self, context: SynthesisContext, make: Make) -> None:
        self._context = context
        self._runs = context.advice.runs
        self._make = make
        self._rehearsal = Rehearsal(context.sandbox, context.library.read)

    async def make(self, request: SynthesisRequest, on_stage: ReportStage) -> Outcome:
        """The outcome; a request for the tool that was made of these runs before brings that more examples.

        Raises:
            ToolNotFound: there is no such run.
            UsageError: the values of a run were not kept.
            SandboxError: the sandbox failed.
        """
        unfit = unfit_name(request.name) if request.name else None
        if unfit is not None:
            return unfit
        known = await self._known(request.name, request)
        if known is not None:
            return await self._confirmed(request, known, on_stage)
        runs = await self._read(request)
        refused = unfit_runs(runs, request)
        if refused is not None:
            return refused
        await on_stage("runs")
        found = await self._function(request, runs)
        if isinstance(found, NotGeneral):
            return await self._as_template(request, runs, found, on_stage)
        known = await self._known(found.name, request)
        if known is not None:
            return await self._confirmed(request, known, on_stage)
        return await self._general(request, runs, found, on_stage)

    async def _function(
        self, request: SynthesisRequest, runs: Sequence[RecordedRun]
    ) -> GeneralFunction | NotGeneral:
        """What the runs amount to, under a name that is theirs or free where the request gives none."""
        name = request.name
        for number in range(2, LAST_NUMBER + 2):
            found = await anyio.to_thread.run_sync(generalise, runs, name, request.description)
            if request.name or isinstance(found, NotGeneral):
                break
            standing = self._context.submission.standing(found.name, update=False)
            if standing == 0 or await self._known(found.name, request) is not None:
                break
            name = f"{re.sub(r'_[0-9]+$', '', found.name)[:37]}_{number}"
        return found

    async def _read(self, request: SynthesisRequest) -> list[RecordedRun]:
        if self._runs is None:
            raise UsageError("No runs of code are kept here.", hint="Send code and tests.")
        return [await self._runs.read(run_id) for run_id in dict.fromkeys(request.from_run)]

    async def _known(self, name: str, request: SynthesisRequest) -> StoredVersion | None:
        """The tool of this name if it was made of these very runs, which need not be kept any longer then."""
        try:
            known = None if request.update or not name else await self._context.library.read(name)
        except AlitaError:
            return None
        recorded = known.report.recorded if known else None
        return known if recorded and recorded.runs == recorded_of(request.from_run).runs else None

    async def _confirmed(
        self, request: SynthesisRequest, known: StoredVersion, on_stage: ReportStage
    ) -> Outcome:
        """More examples for the tool that is there; without any, what it still lacks."""
        before, recorded = known.draft, known.report.recorded
        marks = recorded.examples if recorded else ()
        seen = [
            each for each in known.examples if mark_of(each) in marks and not told_by(request.tests, each)
        ]
        again = {
            field: getattr(before, field) for field in ("name", "description", "code", "packages", "varies")
        }
        again |= {
            "from_run": (),
            "tests": (*request.tests, *seen),
            "recorded": confirmed_by(request.tests, recorded),
            **before.grants.model_dump(),
        }
        outcome: Outcome = Exists(tool=before.name, version=known.manifest.version, why=_THERE)
        if again["tests"]:
            outcome = await self._make(request.model_copy(update=again), on_stage)
        return await self._with_proposals(outcome, None, request, on_stage)

    async def _general(
        self,
        request: SynthesisRequest,
        runs: Sequence[RecordedRun],
        found: GeneralFunction,
        on_stage: ReportStage,
    ) -> Outcome:
        """The function through the gates, with the runs as examples where the caller does not say otherwise."""
        calls = [call for call in found.calls if len(json.dumps(call.as_json())) <= MAX_CALL]
        if not calls:
            return TOO_LARGE
        seen = tuple(call for call in calls if not told_by(request.tests, call))
        update = {
            "from_run": (),
            "code": found.code,
            "tests": (*request.tests, *seen),
            "recorded": recorded_of(request.from_run, seen),
            "packages": request.packages
            or tuple(dict.fromkeys(each for run in runs for each in run.packages)),
        }
        made = request.model_copy(update=update)
        made = made.model_copy(update=taken_from_code(made))
        outcome = await self._make(made, on_stage)
        return await self._told(outcome, made, request, on_stage)

    async def _as_template(
        self, request: SynthesisRequest, runs: list[RecordedRun], found: NotGeneral, on_stage: ReportStage
    ) -> Outcome:
        """The script as a template of the function for the caller to write, with the runs as tests."""
        refused = await anyio.to_thread.run_sync(different_programs, runs)
        if refused is not None or not found.writable:
            return refused or Rejected(
                stage="static", reason=f"No tool can be made of it: {found.why}", fix=BY_HAND
            )
        shown = [run for run in runs if run.ok]
        update = {"from_run": (), "code": script_of(shown[0]), "tests": ()}
        asked = await self._make(request.model_copy(update=update), on_stage)
        if not isinstance(asked, NeedsCode):
            return asked
        tests = [each.as_json() for each in request.tests] or as_tests(shown, asked.template["name"])
        return asked.model_copy(update={"template": {**asked.template, "tests": tests}, "why": found.why})

    async def _told(
        self, outcome: Outcome, made: SynthesisRequest, request: SynthesisRequest, on_stage: ReportStage
    ) -> Outcome:
        """The outcome as one of runs, and with what a caller could confirm."""
        if isinstance(outcome, Rejected):
            found = told_of_runs(outcome, request)
            return await self._with_proposals(found, draft_of(made), request, on_stage)
        tool = outcome.tool if isinstance(outcome, Created | NeedsApproval | Exists) else ""
        only_named_so = isinstance(outcome, Exists) and tool == made.name
        if self._runs is not None and tool and not only_named_so:
            await self._runs.record_made(request.from_run, tool)
        return await self._with_proposals(outcome, None, request, on_stage)

    async def _with_proposals(
        self,
        outcome: Outcome,
        draft: Draft | Rejected | None,
        request: SynthesisRequest,
        on_stage: ReportStage,
    ) -> Outcome:
        """The outcome with examples to confirm: of a draft that these prove too little of, or of a provisional tool."""
        report: VerificationReport | None = None
        if isinstance(outcome, Created | Exists):
            try:
                stored = await self._context.library.read(outcome.tool, outcome.version)
            except AlitaError:
                return outcome
            report = stored.report
            theirs = {*recorded_of(request.from_run).runs} <= {*(report.recorded or Recorded()).runs}
            draft = stored.draft if theirs and report.trust == "provisional" else None
        elif (
            not isinstance(outcome, Rejected) or outcome.case or outcome.stage not in ("examples", "mutation")
        ):
            return outcome
        if not isinstance(draft, Draft):
            return outcome
        await on_stage("proposals")
        examples = await proposed(draft, report, self._rehearsal, on_stage)
        update: dict[str, object] = {"proposed": examples}
        if isinstance(outcome, Rejected) and examples:
            update["fix"] = f"{outcome.fix} {CONFIRM}".strip()
        return outcome.model_copy(update=update)
