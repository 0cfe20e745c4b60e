"""Marks of the examples that only recorded runs show and that no caller has confirmed yet."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from alita_mcp.library.versions.files import mark_of
from alita_mcp.values import Draft, Example, Recorded, StoredVersion
from alita_mcp.verification.comparison.compare import same_result
from alita_mcp.verification.examples.suite import own_examples


def recorded_of(run_ids: Iterable[str], examples: Iterable[Example] = ()) -> Recorded:
    """Record of the runs that a version was made of, and of the examples that only they show."""
    runs = sorted({hashlib.sha256(each.encode()).hexdigest()[:16] for each in run_ids})
    return Recorded(runs=tuple(runs), examples=tuple(dict.fromkeys(map(mark_of, examples))))


def confirmed_by(own: Sequence[Example], recorded: Recorded | None) -> Recorded | None:
    """Record without the examples that a caller sends: these are the caller's own from then on."""
    if recorded is None:
        return None
    marks = set(map(mark_of, own))
    left = tuple(mark for mark in recorded.examples if mark not in marks)
    return recorded.model_copy(update={"examples": left})


def superseded_by(
    own: Sequence[Example], examples: Sequence[Example], recorded: Recorded | None
) -> tuple[Example, ...]:
    """The examples but those recorded ones about whose calls a caller says otherwise: the code is the judge of both."""
    left = confirmed_by(own, recorded)
    marks = left.examples if left else ()
    return tuple(each for each in examples if mark_of(each) not in marks or not told_by(own, each))


def told_by(own: Sequence[Example], example: Example) -> bool:
    """Whether a caller's examples say what comes of the example's call."""
    return any(
        each.check is None and same_result(each.arguments, example.arguments, exact=True) for each in own
    )


def carried_marks(draft: Draft, replaced: StoredVersion, new: Sequence[Example]) -> Recorded | None:
    """Record of an update that keeps the replaced version's examples: no new version confirms them."""
    before = confirmed_by(own_examples(draft, draft.examples), replaced.report.recorded)
    now = draft.recorded
    if before is None or now is None:
        return before or (now and now.model_copy(update={"examples": _still(now, new)}))
    runs = tuple(sorted({*before.runs, *now.runs}))
    return Recorded(runs=runs, examples=tuple(dict.fromkeys((*before.examples, *_still(now, new)))))


def _still(recorded: Recorded, new: Sequence[Example]) -> tuple[str, ...]:
    """Marks of those that the version before does not have as examples of somebody's own."""
    marks = set(map(mark_of, new))
    return tuple(mark for mark in recorded.examples if mark in marks)
