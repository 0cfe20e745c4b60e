"""Rejections of recorded runs of which no tool can be made."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import JsonValue

from alita_mcp.errors import UsageError
from alita_mcp.mining.comparison.likeness import alike
from alita_mcp.mining.comparison.normal_form import normal_form
from alita_mcp.runs.recorded_run import RecordedRun
from alita_mcp.synthesis.requests.grants import grants_of, unfit_grants
from alita_mcp.synthesis.requests.outcomes import Rejected, rejection
from alita_mcp.synthesis.requests.request import NEEDS_SHAPE, SynthesisRequest
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.comparison.compare import same_result
from alita_mcp.verification.findings import ContractError, failed, shown, shown_arguments
from alita_mcp.verification.static.credentials import credential_checks, holds_key

MAX_CALL = 20_000
"""Longest example that a run becomes, in characters of its JSON."""
NAMED = 3
BY_HAND = "Give runs of one program that computes something, or send code and tests."
_CORRECTED = (
    "If this test is right, send corrected code instead of from_run; if the code is, correct the test."
)
_SEEN = (
    "The code gives something else now than the run did: what that depends on (clock, chance, files, earlier "
    "steps) has to be an argument of the code."
)
TOO_LARGE = Rejected(
    stage="examples",
    reason=f"no run is small enough for an example: none has values of less than {MAX_CALL} characters.",
    fix="Run the code once with small values, and name that run.",
)


def unfit_runs(runs: Sequence[RecordedRun], request: SynthesisRequest) -> Rejected | None:
    """Returns why no tool can be made of these runs, whatever their code does."""
    if request.update and not request.name:
        reason = "update: the request names no tool that is to get a new version."
        return Rejected(stage="policy", reason=reason, fix="Send its name.")
    if not any(run.ok for run in runs):
        said = f"{runs[-1].error_type}: {runs[-1].error}".strip(": ")[:200] or runs[-1].status
        reason = f"from_run: all of these runs failed, the last one with {said}"
        return Rejected(
            stage="examples", reason=reason, fix="Run the code until it works, and name that run."
        )
    refused = unfit_grants(request) or next(filter(None, map(_secret, runs)), None)
    refused = refused or _torn(runs)
    impure = next((run for run in runs if not run.pure and not run.session), None)
    if refused is not None or impure is None or not grants_of(request).is_pure:
        return refused
    what = f"calls {', '.join(impure.tools[:5])}" if impure.tools else "was given rights"
    reason = f"from_run: run {impure.id} {what}, and this request names no needs."
    return Rejected(stage="policy", reason=reason, fix=f"Send the same needs. {NEEDS_SHAPE}")


def _secret(run: RecordedRun) -> Rejected | None:
    """The rejection of a run whose code or values hold a secret, or whose code cannot be read."""
    try:
        checks = credential_checks(run.code, parse_code(run.code))
    except ContractError as broken:
        checks = [broken.check]
    if not checks and holds_key(json.dumps([run.arguments, run.result, run.stdout], default=str)):
        checks = [
            failed("static", "its values hold a key", "Run it without: a tool's examples are read by others.")
        ]
    if not checks:
        return None
    found = rejection(checks[0])
    return found.model_copy(update={"reason": f"from_run: run {run.id}: {found.reason}"})


def _torn(runs: Sequence[RecordedRun]) -> Rejected | None:
    """The rejection of runs of the same code that gave different results for the same arguments."""
    first: dict[str, RecordedRun] = {}
    for run in runs:
        one = first.setdefault(json.dumps([run.code, run.arguments], sort_keys=True), run)
        if not same_result(_given_by(one), _given_by(run)):
            return Rejected(
                stage="determinism",
                reason=f"from_run: runs {one.id} and {run.id} gave different results for the same arguments.",
                case=shown_arguments(run.arguments),
                expected=shown(_given_by(one)),
                got=shown(_given_by(run)),
                fix=_SEEN,
            )
    return None


def _given_by(run: RecordedRun) -> JsonValue:
    """What came of a run, in a form that tells two outcomes apart."""
    if not run.ok:
        return {"raised": run.error_type or run.status}
    return run.stdout if run.result_kind == "none" else run.result


def different_programs(runs: Sequence[RecordedRun]) -> Rejected | None:
    """The rejection of runs of different programs; names those that are unlike the first."""
    try:
        first, *others = [normal_form(run.code) for run in runs]
    except UsageError:
        return None  # said in better words elsewhere
    ids = [run.id for run, form in zip(runs[1:], others, strict=True) if not alike(first, form)]
    if not ids:
        return None
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    reason = f"from_run: {', '.join(ids[:NAMED])}{more} ran another program than {runs[0].id}."
    return Rejected(
        stage="static", reason=reason, fix="Name runs of one program; make the others a tool of their own."
    )


def told_of_runs(rejected: Rejected, request: SynthesisRequest) -> Rejected:
    """Rewords a gate's rejection for a caller who sent runs instead of code and examples."""
    count = "a run" if len(request.from_run) == 1 else f"{len(request.from_run)} runs"
    update = {"reason": f"made of {count}: {rejected.reason}"}
    if rejected.case is not None and rejected.stage in ("examples", "determinism"):
        own = any(shown_arguments(each.arguments) == rejected.case for each in request.tests)
        update["fix"] = _CORRECTED if own else _SEEN
    return rejected.model_copy(update=update)
