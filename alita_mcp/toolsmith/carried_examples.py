"""Carries the examples of a replaced version over to its update, and rejects an update that breaks them.

All examples of the replaced version run against the new code first. Those that hold become examples of the new
version, so that the next update is held to them too; those that do not have to be named by the request.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.versions.files import mark_of, written_example
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.requests.outcomes import Broken, Rejected, rejection
from alita_mcp.values import Check, Draft, Example, Recorded, StoredVersion, ToolContract
from alita_mcp.verification.agreement import Prepared, prepare, run_row
from alita_mcp.verification.comparison import same_result
from alita_mcp.verification.examples.suite import expectation_of, own_examples
from alita_mcp.verification.findings import cut_arguments, fail_check
from alita_mcp.verification.json_schema import validate_arguments
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal


def make_record(run_ids: Iterable[str], examples: Iterable[Example] = ()) -> Recorded:
    """Record of the runs that a version was made of, and of the examples that only they show."""
    runs = sorted({hashlib.sha256(each.encode()).hexdigest()[:16] for each in run_ids})
    return Recorded(runs=tuple(runs), examples=tuple(dict.fromkeys(map(mark_of, examples))))


def without_confirmed(own: Sequence[Example], recorded: Recorded | None) -> Recorded | None:
    """Record without the examples that a caller sends: these are the caller's own from then on."""
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
    return any(
        each.check is None and same_result(each.arguments, example.arguments, exact=True) for each in own
    )


def combine_records(draft: Draft, replaced: StoredVersion, new: Sequence[Example]) -> Recorded | None:
    """Record of an update that keeps the replaced version's examples: no new version confirms them."""
    before = without_confirmed(own_examples(draft, draft.examples), replaced.report.recorded)
    now = draft.recorded
    if before is None or now is None:
        return before or (now and now.model_copy(update={"examples": _still(now, new)}))
    runs = tuple(sorted({*before.runs, *now.runs}))
    return Recorded(runs=runs, examples=tuple(dict.fromkeys((*before.examples, *_still(now, new)))))


def _still(recorded: Recorded, new: Sequence[Example]) -> tuple[str, ...]:
    """Marks of those that the version before does not have as examples of somebody's own."""
    marks = set(map(mark_of, new))
    return tuple(mark for mark in recorded.examples if mark in marks)


MAX_NAMED = 8_000
"""How many characters a rejection may spend on the cases that changed."""
_NOT_RUN = fail_check("examples", "not run, because another one ran out of time", "")
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Carried:
    """Draft with the examples of the version that it replaces, except those that no longer hold."""

    draft: Draft
    broken: tuple[Broken, ...] = ()


async def carry_over_examples(
    draft: Draft,
    replaced: StoredVersion,
    breaks: Sequence[Arguments],
    rehearsal: Rehearsal,
    on_stage: ReportStage,
) -> Carried | Rejected:
    """Holds a draft to the replaced version's examples; rejects it for the first broken one that is not named.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    version = f"{replaced.manifest.name} v{replaced.manifest.version}"
    for named in breaks:
        if not any(is_named(old, named) for old in replaced.examples):
            return Rejected(
                stage="examples",
                reason=f"breaks: {version} has no example with these arguments.",
                case=cut_arguments(named),
                fix="Name the arguments of its examples, as inspect_tool with source=true shows them.",
            )
    prepared = await prepare(draft, rehearsal, on_stage)
    kept_to = [old for old in replaced.examples if not is_named(old, *breaks)]
    given_up = [old for old in replaced.examples if is_named(old, *breaks)]
    changed = await _changed(prepared, kept_to, rehearsal)  # by themselves: one given up may run out of time
    if isinstance(changed, Rejected):
        return changed
    if changed:
        return _breaks_its_word(changed, version)
    broken = await _changed(prepared, given_up, rehearsal)
    if isinstance(broken, Rejected):
        return broken
    lost = {written_example(old) for old, _ in broken}
    held = [old for old in replaced.examples if written_example(old) not in lost]
    there = set(map(written_example, held))
    new = [example for example in draft.examples if written_example(example) not in there]
    recorded = combine_records(draft, replaced, new)
    whole = draft.model_copy(update={"examples": (*held, *new), "recorded": recorded})
    given = tuple(
        Broken(
            arguments=cut_arguments(old.arguments),
            expected=expectation_of(old) if check.expected is None else check.expected,
            got=check.got,
        )
        for old, check in broken
    )
    return Carried(whole, given)


async def _changed(
    prepared: Prepared, examples: Sequence[Example], rehearsal: Rehearsal
) -> list[tuple[Example, Check]] | Rejected:
    """Those examples that the draft does not meet, and how; a rejection where it cannot run at all."""
    if prepared.failure is not None or prepared.contract is None:
        return rejection(
            prepared.failure or fail_check("static", "the code declares no tool", "Write one function.")
        )
    misfits = [_misfit(example, prepared.contract) for example in examples]
    fitting = [example for example, misfit in zip(examples, misfits, strict=True) if misfit is None]
    ran, row = await run_row(prepared, fitting, rehearsal)
    if row is None:
        return rejection(ran.failure or fail_check("environment", "the draft cannot run", ""))
    found = iter(row.checks)
    checks = [misfit or next(found) or _NOT_RUN for misfit in misfits]
    return [(old, check) for old, check in zip(examples, checks, strict=True) if not check.passed]


def _misfit(example: Example, contract: ToolContract) -> Check | None:
    try:
        validate_arguments(contract.input_schema, example.arguments)
    except InvalidArguments as wrong:
        what = f"its arguments do not fit the new signature: {wrong.message}"
        seen = {"case": cut_arguments(example.arguments), "expected": expectation_of(example), "got": what}
        return fail_check("examples", what, "").model_copy(update=seen)
    return None


def _breaks_its_word(changed: Sequence[tuple[Example, Check]], version: str) -> Rejected:
    """The first case that changed, and the arguments of all, to be sent as `breaks` if they are meant."""
    seen = [(old, check) for old, check in changed if check is not _NOT_RUN]
    _, first = seen[0]
    count = "an example" if len(seen) == 1 else f"{len(seen)} examples"
    what = re.sub(r"^example \d+: ", "", first.message)
    return rejection(first).model_copy(
        update={
            "stage": "examples",
            "reason": f"{count} of {version} would no longer hold, first: {what}",
            "fix": "Mend the code; if this is meant, name the arguments of each in `breaks`, as listed here.",
            "breaks": tuple(_named(old.arguments for old, _ in seen)),
        }
    )


def _named(cases: Iterable[Arguments]) -> Iterator[Arguments]:
    """The first of the cases, as far as an answer has room for them."""
    room = MAX_NAMED
    for arguments in cases:
        room -= len(json.dumps(arguments))
        if room < 0:
            return
        yield arguments


def is_named(example: Example, *breaks: object) -> bool:
    """Whether an example has just the arguments of one of these."""
    return any(same_result(example.arguments, named, exact=True) for named in breaks)
