"""Carries the examples of a replaced version over to its update, and rejects an update that breaks them.

All examples of the replaced version run against the new code first. Those that hold become examples of the new
version, so that the next update is held to them too; those that do not have to be named by the request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.versions.files import written_example
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.jobs.recorded import carried_marks
from alita_mcp.toolsmith.requests.outcomes import Broken, Rejected, rejection
from alita_mcp.values import Check, Draft, Example, StoredVersion, ToolContract
from alita_mcp.verification.agreement.matrix import Prepared, prepare, run_row
from alita_mcp.verification.comparison.compare import same_result
from alita_mcp.verification.examples.suite import wanted
from alita_mcp.verification.findings import failed, shown_arguments
from alita_mcp.verification.json_schema import validate_arguments
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

MAX_NAMED = 8_000
"""How many characters a rejection may spend on the cases that changed."""
_NOT_RUN = failed("examples", "not run, because another one ran out of time", "")
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Carried:
    """Draft with the examples of the version that it replaces, except those that no longer hold."""

    draft: Draft
    broken: tuple[Broken, ...] = ()


async def carried_over(
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
                case=shown_arguments(named),
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
    recorded = carried_marks(draft, replaced, new)
    whole = draft.model_copy(update={"examples": (*held, *new), "recorded": recorded})
    given = tuple(
        Broken(
            arguments=shown_arguments(old.arguments),
            expected=wanted(old) if check.expected is None else check.expected,
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
            prepared.failure or failed("static", "the code declares no tool", "Write one function.")
        )
    misfits = [_misfit(example, prepared.contract) for example in examples]
    fitting = [example for example, misfit in zip(examples, misfits, strict=True) if misfit is None]
    ran, row = await run_row(prepared, fitting, rehearsal)
    if row is None:
        return rejection(ran.failure or failed("environment", "the draft cannot run", ""))
    found = iter(row.checks)
    checks = [misfit or next(found) or _NOT_RUN for misfit in misfits]
    return [(old, check) for old, check in zip(examples, checks, strict=True) if not check.passed]


def _misfit(example: Example, contract: ToolContract) -> Check | None:
    try:
        validate_arguments(contract.input_schema, example.arguments)
    except InvalidArguments as wrong:
        what = f"its arguments do not fit the new signature: {wrong.message}"
        seen = {"case": shown_arguments(example.arguments), "expected": wanted(example), "got": what}
        return failed("examples", what, "").model_copy(update=seen)
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
