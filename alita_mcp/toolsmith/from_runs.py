"""Tools from recorded runs of code.

What a run gave is an example, and no evidence that it is right: what no caller has confirmed is marked as recorded.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import anyio.to_thread

from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.progress import ReportStage
from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.history.annotations import NoFunctionError
from alita_mcp.runs.history.function import RunFunction, function_of
from alita_mcp.toolsmith.carried_examples import is_decided_by, make_record
from alita_mcp.toolsmith.context import SynthesisContext
from alita_mcp.toolsmith.requests.outcomes import Exists, Outcome, Rejected
from alita_mcp.toolsmith.requests.request import (
    NEEDS_SHAPE,
    SynthesisRequest,
    grant_problem,
    grants_of,
    name_and_description_in_code,
    name_problem,
)
from alita_mcp.toolsmith.resubmission import with_code_of
from alita_mcp.verification.code.function import public_functions
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError


def is_script(request: SynthesisRequest) -> bool:
    """Whether the code does its work at the top level: it parses and defines no function that a tool could be."""
    try:
        tree = parse_code(request.code)
    except ContractError:
        return False
    return bool(tree.body) and not public_functions(tree)


MAX_CALL = 20_000
"""Longest example that a run becomes, in characters of its JSON."""
_BY_HAND = "Name runs of one program that differ in literals or arguments only, or send code and tests."
_SEEN = (
    "The code now gives another result than in its run. Make what the result depends on (clock, chance, files, earlier "
    "steps) an argument of the code."
)
Make = Callable[[SynthesisRequest, ReportStage], Awaitable[Outcome]]


async def make_from_runs(
    request: SynthesisRequest, on_stage: ReportStage, context: SynthesisContext, make: Make
) -> Outcome:
    """The outcome of a request for a tool of recorded runs, which `make` takes through the gates.

    A request for the tool that was made of these runs before brings that more examples.

    Raises:
        ToolNotFound: there is no such run.
        SandboxError: the sandbox failed.
    """
    unfit = name_problem(request.name) or grant_problem(request)
    if unfit is not None:
        return unfit
    published = None
    if not request.update:
        with suppress(AlitaError):
            published = await context.library.read(request.name)
    recorded = published.report.recorded if published else None
    if published and recorded and recorded.runs == make_record(request.from_run).runs:
        again = with_code_of(published, request)  # its runs need not be kept any longer
        return again if isinstance(again, Exists) else await make(again, on_stage)
    store = context.advice.runs
    if store is None:
        raise UsageError(
            "This server keeps no runs of code.", hint="Send code and tests instead of from_run."
        )
    await on_stage("runs")
    runs = [
        await anyio.to_thread.run_sync(store.find_run, each, request.client.owner)
        for each in dict.fromkeys(request.from_run)
    ]
    # No tool can be made of runs (1) that all failed, (2) that hold a secret, or (3) that used rights which the
    # request does not ask for.
    if not any(run.ok for run in runs):
        error = f"{runs[-1].error_type}: {runs[-1].error}".strip(": ")[:200] or runs[-1].status
        reason = f"from_run: all of these runs failed, the last one with {error}."
        fix = "Run the code until it works, then name that run."
        return Rejected(stage="examples", reason=reason, fix=fix)
    secret = next((run.id for run in runs if run.holds_secret), "")
    if secret:
        reason = f"from_run: run {secret} holds what looks like a key or a password."
        fix = "Run the code without it: a tool's examples can be read by others."
        return Rejected(stage="static", reason=reason, fix=fix)
    impure = next((run for run in runs if not run.pure and not run.session), None)
    if impure is not None and grants_of(request).is_pure:
        what = f"calls {', '.join(impure.tools[:5])}" if impure.tools else "was given rights"
        reason = f"from_run: run {impure.id} {what}, but the request has no needs."
        return Rejected(stage="policy", reason=reason, fix=f"Send the same needs. {NEEDS_SHAPE}")
    try:
        found = await anyio.to_thread.run_sync(function_of, runs, request.name, request.description)
    except NoFunctionError as none:
        return Rejected(stage="static", reason=f"from_run: {none.message}.", fix=_BY_HAND)
    return await _submit(request, runs, found, on_stage, make)


async def _submit(
    request: SynthesisRequest,
    runs: Sequence[RecordedRun],
    found: RunFunction,
    on_stage: ReportStage,
    make: Make,
) -> Outcome:
    """The function through the gates, with the runs as examples where the caller does not say otherwise."""
    calls = [call for call in found.calls if len(json.dumps(call.as_json())) <= MAX_CALL]
    seen = tuple(call for call in calls if not is_decided_by(request.tests, call))
    if not calls:
        reason = f"from_run: every run has more than {MAX_CALL:,} characters of arguments and result."
        return Rejected(stage="examples", reason=reason, fix="Name runs with smaller values.")
    packages = tuple(dict.fromkeys(each for run in runs for each in run.packages))
    update = {
        "from_run": (),
        "code": found.code,
        "tests": (*request.tests, *seen),
        "recorded": make_record(request.from_run, seen),
        "packages": request.packages or packages,
    }
    made = request.model_copy(update=update)
    outcome = await make(made.model_copy(update=name_and_description_in_code(made)), on_stage)
    if isinstance(outcome, Rejected):
        changes = {"reason": f"made of {len(runs)} runs: {outcome.reason}"}
        if outcome.stage in ("examples", "determinism") and outcome.case in [call.arguments for call in seen]:
            changes["fix"] = _SEEN
        outcome = outcome.model_copy(update=changes)
    return outcome
