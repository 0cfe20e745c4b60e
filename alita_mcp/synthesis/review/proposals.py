"""Example proposals: calls of a draft with what its code gives, for a caller to confirm.

First what is at an edge or raises, then what shows the mistakes that no example notices. The same draft is asked the
same. What its code gives is nobody's opinion of what is right: only a caller that sends it as a test makes it evidence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from alita_mcp.errors import SandboxError
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.synthesis.specification.values import fits
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Draft, Example, Limits, ToolContract, VerificationReport
from alita_mcp.verification.agreement.matrix import prepare, run_row
from alita_mcp.verification.comparison.compare import kinds_of
from alita_mcp.verification.findings import is_unicode
from alita_mcp.verification.mutation.mutated_inputs import mutated_inputs
from alita_mcp.verification.properties.properties import seed_of
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.static.credentials import holds_key

MAX_PROPOSED = 6
AT_THE_EDGE, NOTICING = 3, 3
"""So many of either kind; inputs near the examples fill up the rest."""
MAX_CHARACTERS = 200
"""Of one proposal: a reader has to judge it."""
TRIED = 12
"""So many inputs of each kind are tried."""
WALL_S = 2.0
_Arguments = dict[str, Any]


async def proposed(
    draft: Draft, report: VerificationReport | None, rehearsal: Rehearsal, on_stage: ReportStage
) -> tuple[dict[str, Any], ...]:
    """At most `MAX_PROPOSED` examples that the draft has not; none where its results are made up or vary."""
    if not draft.grants.is_pure or draft.varies:
        return ()
    limits = Limits.model_validate({**draft.limits.model_dump(), "wall_seconds": WALL_S})
    try:
        prepared = await prepare(draft.model_copy(update={"limits": limits}), rehearsal, on_stage)
        if prepared.failure is not None or prepared.contract is None:
            return ()
        kinds = list(_inputs(draft, prepared.contract, report))
        asked = [Example(arguments=each, expected=None) for kind in kinds for each in kind]
        _, row = await run_row(prepared, asked, rehearsal)
    except SandboxError:
        return ()  # what was published stays published
    results = iter(row.results if row else ())
    shown = [[_example(each, next(results, None)) for each in kind] for kind in kinds]
    fit = [[each for each in kind if each is not None and _is_fit(each)] for kind in shown]
    return tuple(_chosen(*fit))


def _inputs(
    draft: Draft, contract: ToolContract, report: VerificationReport | None
) -> Iterator[list[_Arguments]]:
    """At the edge, showing what no example notices, and near the examples; each once, none that an example shows."""
    known = [example.arguments for example in draft.examples]
    smallest = min(known, key=lambda each: len(json.dumps(each)), default={})
    unforeseen = (
        [each.case for each in report.checks if each.stage == "properties" and not each.passed]
        if report
        else []
    )
    survivors = report.mutation.survivors if report and report.mutation else ()
    seen = set(map(_text, known))
    for inputs in (
        (*(case for case in unforeseen if case), *_edges(smallest)),
        sorted(
            (each.shown_by for each in survivors if each.shown_by),
            key=lambda each: (len(_text(each)), _text(each)),
        ),
        mutated_inputs(contract.input_schema, known, seed_of(draft), TRIED),
    ):
        kind = {_text(each): each for each in inputs if _text(each) not in seen and fits(each, contract)}
        seen |= kind.keys()
        yield [each for text, each in kind.items() if len(text) <= MAX_CHARACTERS][:TRIED]


def _edges(arguments: _Arguments) -> Iterator[_Arguments]:
    """The arguments with one of them as empty or as small as its type has it, or left out."""
    for name, value in arguments.items():
        edges: tuple[Any, ...] = ()
        match value:
            case bool():
                edges = (not value,)
            case int():
                edges = (0, -1)
            case float():
                edges = (0.0, -1.0)
            case str():
                edges = ("", " ")
            case list():
                edges = ([], value[:1])
            case dict():
                edges = ({},)
        yield from ({**arguments, name: edge} for edge in edges)
        yield {other: kept for other, kept in arguments.items() if other != name}


def _example(asked: _Arguments, result: RunResult | None) -> dict[str, Any] | None:
    """The call and what came of it; None where that is neither a result nor an error of the code's own."""
    if result is None or not (result.ok or result.status == "error"):
        return None
    if result.ok:
        return {"arguments": asked, "expected": result.value}
    return {"arguments": asked, "raises": kinds_of(result)[0].removeprefix("builtins.")}


def _is_fit(example: dict[str, Any]) -> bool:
    """Whether it may stand in an answer: short, no secret, nothing that a reader does not see."""
    text = _text(example)
    return (
        len(text) <= MAX_CHARACTERS
        and is_unicode(example)
        and not holds_key(text)
        and not any(map(HIDDEN.search, _texts_in(example)))
    )


def _chosen(
    edges: Sequence[dict[str, Any]], noticing: Sequence[dict[str, Any]], near: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """A few of each kind, those with outcomes of their own first."""
    first = [*_varied(edges)[:AT_THE_EDGE], *noticing[:NOTICING]]
    return [*first, *_varied(near), *_varied(edges)[AT_THE_EDGE:]][:MAX_PROPOSED]


def _varied(examples: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Errors first, then results, then those that come to what another one of them does."""
    seen: set[str] = set()
    ranked = []
    for place, example in enumerate(examples):
        outcome = _text({**example, "arguments": None})
        ranked.append((outcome in seen, "raises" not in example, place))
        seen.add(outcome)
    return [examples[place] for *_, place in sorted(ranked)]


def _texts_in(value: Any) -> Iterator[str]:
    """All texts in a JSON value, names of fields of objects too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from _texts_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts_in(part)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
