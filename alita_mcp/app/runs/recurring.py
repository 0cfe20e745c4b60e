"""Groups of similar programs among kept runs, and the tool that each would make; all of it blocks."""

from __future__ import annotations

import difflib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from pydantic import ValidationError

from alita_mcp.library.runs.code_runs import CodeRuns, Shape
from alita_mcp.library.runs.marks import KeptRun
from alita_mcp.mining.comparison.likeness import groups
from alita_mcp.mining.generalisation.generalise import generalise
from alita_mcp.mining.values import GeneralFunction, NormalForm, NotGeneral
from alita_mcp.runs.recorded_run import RecordedRun
from alita_mcp.values import Value

MAX_EXAMPLES = 10
"""A tool is proposed with so many runs, the newest with different inputs."""
MAX_PROGRAMS = 2_000
"""So many programs are compared, the newest ones."""
MAX_CHANGE = 200


class Recurring(Value):
    """Similar programs that ran often."""

    times: int
    """How often they ended well, and with how many different inputs."""
    inputs: int
    last: str
    clients: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    """Ids of the runs that a tool would be made of, in the order in which they ran."""
    signature: str = ""
    """Of the function that they amount to, where their values are kept."""
    examples: int = 0
    """How many different calls of it they show."""
    pure: bool = False
    why_not: str = ""
    """Why no function is shown."""
    tool: str = ""
    """A tool that was made of them already."""


class Mended(Value):
    """Error that similar programs ended with, and what helped."""

    error_type: str
    times: int
    run: str
    """A run that ended well after one that failed."""
    change: str = ""
    """What differed between the two, where their values are kept."""


def read_form(shape: Shape) -> NormalForm | None:
    """A kept shape as the normal form that it was; None where it is none of this version."""
    try:
        return NormalForm.model_validate(shape)
    except ValidationError:
        return None


def with_other_values(runs: Iterable[KeptRun]) -> list[KeptRun]:
    """Of runs, the newest first, those that count: one for each different input."""
    different: dict[str, KeptRun] = {}
    for kept in runs:
        if kept.counts:
            different.setdefault(kept.inputs, kept)
    return list(different.values())


def proposal(
    runs: Sequence[RecordedRun], digest_of: Mapping[str, str]
) -> tuple[list[RecordedRun], GeneralFunction | NotGeneral]:
    """What like runs, the newest first, amount to: all of them, else those of the newest one's very program.

    `digest_of` tells a run's program by the run's id.
    """
    newest = [run for run in runs if digest_of.get(run.id) == digest_of.get(runs[0].id)]
    found: GeneralFunction | NotGeneral = NotGeneral(why="there are no runs")
    for several in (runs, newest) if len(newest) < len(runs) else (runs,):
        shown = [*reversed(several)]
        found = generalise(shown)
        if isinstance(found, GeneralFunction) and found.parameters:
            return shown, found
    why = found.why if isinstance(found, NotGeneral) else "nothing differs between the runs"
    return [*reversed(runs)], NotGeneral(why=why)


def like_groups(runs: Sequence[KeptRun], shapes: Mapping[str, Shape]) -> list[list[KeptRun]]:
    """Runs of like programs together, each group the newest first."""
    by_program: defaultdict[str, list[KeptRun]] = defaultdict(list)
    for kept in runs:
        if kept.digest in by_program or len(by_program) < MAX_PROGRAMS:
            by_program[kept.digest].append(kept)
    forms = {digest: form for digest in by_program if (form := read_form(shapes.get(digest, {})))}
    digests = list(forms)
    together = groups([forms[digest] for digest in digests])
    members = [{digests[place] for place in places} for places in together]
    return [[kept for kept in runs if kept.digest in programs] for programs in members]


def find_recurring(runs: CodeRuns, at_least: int) -> tuple[list[Recurring], list[Mended]]:
    """What ran often, the most frequent first, and what failed and was mended."""
    grouped = like_groups(runs.all(), runs.shapes())
    made = runs.made()
    often = [_recurring(group, runs, made) for group in grouped if len(with_other_values(group)) >= at_least]
    mended = [each for group in grouped for each in _mended(group, runs)]
    return (
        sorted(often, key=lambda each: (each.inputs, each.times, each.last), reverse=True),
        sorted(mended, key=lambda each: each.times, reverse=True),
    )


def _recurring(group: Sequence[KeptRun], runs: CodeRuns, made: Mapping[str, str]) -> Recurring:
    counted = [kept for kept in group if kept.counts]
    different = with_other_values(counted)
    told = {
        "times": len(counted),
        "inputs": len(different),
        "last": counted[0].at,
        "clients": tuple(sorted({kept.client for kept in counted if kept.client}))[:MAX_EXAMPLES],
        "tool": next((made[kept.digest] for kept in counted if kept.digest in made), ""),
    }
    whole = runs.reachable([kept.id for kept in different[:MAX_EXAMPLES]], "")
    if not whole:
        return Recurring(**told, why_not="their values are not kept (ALITA_KEEP_VALUES)")
    shown, found = proposal(whole, {kept.id: kept.digest for kept in group})
    told |= {"runs": tuple(run.id for run in shown), "pure": all(run.pure for run in shown)}
    if isinstance(found, NotGeneral):
        return Recurring(**told, why_not=found.why)
    calls = {json.dumps(call.as_json(), sort_keys=True) for call in found.calls}
    return Recurring(**told, signature=found.signature, examples=len(calls))


def _mended(group: Sequence[KeptRun], runs: CodeRuns) -> list[Mended]:
    """For each kind of error in a group of like runs: how often, and the newest run that mended it."""
    times = Counter(kept.error_type for kept in group if kept.status != "ok" and kept.error_type)
    found: dict[str, tuple[KeptRun, KeptRun]] = {}
    for client in sorted({kept.client for kept in group}):
        own = [kept for kept in reversed(group) if kept.client == client]
        for failed, mended in pairwise(own):
            if failed.error_type in times and failed.status != "ok" and mended.status == "ok":
                found[failed.error_type] = (failed, mended)
    return [
        Mended(error_type=error, times=times[error], run=mended.id, change=_change(failed, mended, runs))
        for error, (failed, mended) in found.items()
    ]


def _change(failed: KeptRun, mended: KeptRun, runs: CodeRuns) -> str:
    whole = runs.reachable([failed.id, mended.id], "")
    if len(whole) < 2:
        return ""
    if whole[0].code == whole[1].code:
        return "other arguments"
    before, after = (each.code.splitlines() for each in whole)
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("---", "+++")]
    shown = [
        *[line for line in changed if line[0] == "-"][:1],
        *[line for line in changed if line[0] == "+"][:1],
    ]
    return " ".join(line[0] + " " + " ".join(line[1:].split()) for line in shown)[:MAX_CHANGE]
