"""Examples that carry over from version to version, and which of them only recorded runs show.

All examples of a replaced version run against the new code first. Those that hold become examples of the new version,
so that the next update is held to them too; those that do not hold have to be named by the request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.versions.files import canonical_example, mark_of
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.requests.outcomes import Broken, Rejected, rejection
from alita_mcp.values import Check, Draft, Example, Recorded, StoredVersion
from alita_mcp.verification.agreement import CANNOT_RUN, Prepared, prepare_draft, run_row
from alita_mcp.verification.comparison import same_result
from alita_mcp.verification.examples.suite import expectation_of, own_examples
from alita_mcp.verification.findings import cut_arguments, fail_check
from alita_mcp.verification.json_schema import check_arguments
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

MAX_NAMED = 20
"""So many of the cases that changed are named in a rejection."""
_NOT_RUN = fail_check("examples", "not run, because another one ran out of time", "")
Arguments = dict[str, Any]


@dataclass(frozen=True)
class CarriedExamples:
    """A draft with the examples of the version that it replaces, except those that no longer hold."""

    draft: Draft
    broken: tuple[Broken, ...] = ()


async def carry_over_examples(
    draft: Draft,
    replaced: StoredVersion,
    breaks: Sequence[Arguments],
    rehearsal: Rehearsal,
    on_stage: ReportStage,
) -> CarriedExamples | Rejected:
    """Holds a draft to the replaced version's examples; rejects it for the first broken one that `breaks` leaves out.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    version = f"{replaced.manifest.name} v{replaced.manifest.version}"
    for arguments in breaks:
        if not any(has_arguments(old, arguments) for old in replaced.examples):
            return Rejected(
                stage="examples",
                reason=f"breaks: {version} has no example with these arguments.",
                case=cut_arguments(arguments),
                fix="Name arguments of its examples; inspect_tool with source=true shows them.",
            )
    prepared = await prepare_draft(draft, rehearsal, on_stage)
    kept = [old for old in replaced.examples if not has_arguments(old, *breaks)]
    given_up = [old for old in replaced.examples if has_arguments(old, *breaks)]
    broken: list[tuple[Example, Check]] = []
    # those given up run by themselves: one of them may run out of time, which ends a row
    for examples in (kept, given_up):
        found = await _find_broken(prepared, examples, rehearsal)
        if isinstance(found, Rejected):
            return found
        if found and examples is kept:
            return _reject_broken(found, version)
        broken = found
    broken_texts = {canonical_example(old) for old, _ in broken}
    held = [old for old in replaced.examples if canonical_example(old) not in broken_texts]
    held_texts = set(map(canonical_example, held))
    new = [example for example in draft.examples if canonical_example(example) not in held_texts]
    whole = draft.model_copy(
        update={"examples": (*held, *new), "recorded": _combine_records(draft, replaced)}
    )
    shown = tuple(
        Broken(
            arguments=cut_arguments(old.arguments),
            expected=expectation_of(old) if check.expected is None else check.expected,
            got=check.got,
        )
        for old, check in broken
    )
    return CarriedExamples(whole, shown)


async def _find_broken(
    prepared: Prepared, examples: Sequence[Example], rehearsal: Rehearsal
) -> list[tuple[Example, Check]] | Rejected:
    """The examples that the draft does not meet, and how; a rejection where it cannot run at all."""
    if prepared.failure is not None or prepared.contract is None:
        return rejection(prepared.failure or CANNOT_RUN)
    checks: list[Check | None] = []
    fitting = []
    for example in examples:
        try:
            check_arguments(prepared.contract.input_schema, example.arguments)
        except InvalidArguments as misfit:
            what = f"its arguments do not fit the new signature: {misfit.message}"
            case, expected = cut_arguments(example.arguments), expectation_of(example)
            checks.append(fail_check("examples", what, "", case=case, expected=expected, got=what))
        else:
            checks.append(None)
            fitting.append(example)
    ran, row = await run_row(prepared, fitting, rehearsal)
    if row is None:
        return rejection(ran.failure or CANNOT_RUN)
    run_checks = iter(row.checks)
    pairs = [
        (old, check or next(run_checks) or _NOT_RUN) for old, check in zip(examples, checks, strict=True)
    ]
    return [(old, check) for old, check in pairs if not check.passed]


def _reject_broken(broken: Sequence[tuple[Example, Check]], version: str) -> Rejected:
    """The first case that changed, and the arguments of several, to be sent as `breaks`."""
    ran = [(old, check) for old, check in broken if check is not _NOT_RUN]
    _, first = ran[0]
    count = "an example" if len(ran) == 1 else f"{len(ran)} examples"
    what = re.sub(r"^example \d+: ", "", first.message)
    return rejection(first).model_copy(
        update={
            "stage": "examples",
            "reason": f"{count} of {version} would no longer hold, first: {what}",
            "fix": "Fix the code; if the change is meant, send the arguments listed here as `breaks`.",
            "breaks": tuple(old.arguments for old, _ in ran[:MAX_NAMED]),
        }
    )


def has_arguments(example: Example, *several: object) -> bool:
    """Whether an example has exactly one of these arguments."""
    return any(same_result(example.arguments, arguments, exact=True) for arguments in several)


def make_record(run_ids: Iterable[str], examples: Iterable[Example] = ()) -> Recorded:
    """The runs that a version was made of, and the examples that only they show."""
    runs = sorted({hashlib.sha256(each.encode()).hexdigest()[:16] for each in run_ids})
    return Recorded(runs=tuple(runs), examples=tuple(dict.fromkeys(map(mark_of, examples))))


def without_confirmed(own: Sequence[Example], recorded: Recorded | None) -> Recorded | None:
    """The record without the examples that a caller sends: these are the caller's own from then on."""
    if recorded is None:
        return None
    marks = set(map(mark_of, own))
    left = tuple(mark for mark in recorded.examples if mark not in marks)
    return recorded.model_copy(update={"examples": left})


def without_superseded(
    own: Sequence[Example], examples: Sequence[Example], recorded: Recorded | None
) -> tuple[Example, ...]:
    """The examples but those recorded ones about whose calls a caller says otherwise: the code is the judge of both."""
    left = without_confirmed(own, recorded)
    marks = left.examples if left else ()
    return tuple(each for each in examples if mark_of(each) not in marks or not is_decided_by(own, each))


def is_decided_by(own: Sequence[Example], example: Example) -> bool:
    """Whether a caller's examples say what comes of the example's call."""
    return any(each.check is None and has_arguments(each, example.arguments) for each in own)


def _combine_records(draft: Draft, replaced: StoredVersion) -> Recorded | None:
    """The record of an update that keeps the replaced version's examples: no new version confirms them."""
    records = [each for each in (replaced.report.recorded, draft.recorded) if each is not None]
    if not records:
        return None
    # what its caller sends, or somebody vouched for in the version before, is not merely recorded
    before = replaced.report.recorded.examples if replaced.report.recorded else ()
    own = set(map(mark_of, own_examples(draft, draft.examples)))
    own |= set(map(mark_of, replaced.examples)) - {*before}
    marks = dict.fromkeys(mark for each in records for mark in each.examples if mark not in own)
    runs = sorted({run for each in records for run in each.runs})
    return Recorded(runs=tuple(runs), examples=tuple(marks))
