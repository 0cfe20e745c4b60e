"""`alita bench duplicates`: whether differential execution finds equal tools among pairs of programs.

Each pair is compared as the toolsmith compares a draft with a published tool: both run in the sandbox on the same
inputs, those of known examples and generated ones. The score of a pair is how far they agree beyond chance, halved
where they differ on an input of a size that examples show. Where nothing says what a program takes, its code does.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Job, Sandbox
from alita_mcp.settings import Settings, read_settings
from alita_mcp.synthesis.duplicates.behaviour import (
    MUTATED,
    ComparedTool,
    Comparison,
    DifferentialRun,
    combined,
    drawn_inputs,
)
from alita_mcp.values import Limits, Schema
from alita_mcp.verification.examples.judgement import ShownRange
from alita_mcp.verification.mutation.dictionary_inputs import (
    Scalar,
    constants_apart,
    constants_in,
    dictionary_inputs,
)
from alita_mcp.verification.mutation.mutated_inputs import mutated_inputs
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from benchmarks import separation
from benchmarks.duplicates.inputs import Inputs, as_examples, read_inputs, schemas_of
from benchmarks.duplicates.pairs import Pair, Program, read_pairs

GOAL_AUROC = 0.95
Drawn = dict[str, list[dict[str, Any]]]
"""By task and schema: inputs drawn by chance, which all pairs of a task share."""
LIMITS = Limits(wall_seconds=1.0, cpu_seconds=1.0)
SEED = 5
TRIED = 12
"""So many inputs of each schema that may be meant are run to see which one is."""
ENOUGH_ANSWERED = 0.5
"""A schema of whose inputs this share is answered is meant."""
FAR_MORE = 1.5
"""So many times as many answers must a less likely schema have."""


@dataclass(frozen=True)
class Scored:
    """One pair and the finding about it."""

    task: str
    same: bool
    score: float
    verdict: bool
    likeness: float
    alike: int = 0
    different: int = 0
    meant: int = 0
    one_refused: int = 0
    refused: int = 0
    lost: int = 0
    seconds: float = 0.0
    case: dict[str, Any] | None = None
    failed: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument(
        "--pairs", type=Path, required=True, metavar="FILE", help="JSON lines: task, a, b, label"
    )
    parser.add_argument(
        "--examples",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="example inputs of the tasks; JSON lines",
    )
    parser.add_argument("--sandbox", metavar="KIND", default="", help="default: as ALITA_SANDBOX says")
    parser.add_argument("--scores", type=Path, metavar="FILE", help="file for one JSON line a pair")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N pairs")
    parser.add_argument(
        "--quick", action="store_true", help="stop each pair at its first difference, as a synthesis"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The figures over all pairs.

    Raises:
        UsageError: a file is not what it should be.
        SandboxUnavailable: no sandbox isolates here.
    """
    pairs, known = read_pairs(options.pairs, options.limit), read_inputs(options.examples)
    settings = read_settings()
    if options.sandbox:
        settings = settings.model_copy(update={"sandbox": options.sandbox})
    kind, scored, seconds = anyio.run(partial(_measure, pairs, known, settings, whole=not options.quick))
    if options.scores:
        options.scores.write_text("".join(f"{json.dumps(asdict(each))}\n" for each in scored), "utf-8")
    return figures(scored) | {
        "sandbox": kind, "whole": not options.quick, "seconds": round(seconds, 1),
        "pairs_per_second": round(len(scored) / seconds, 2) if seconds else 0.0,
    }  # fmt: skip


def figures(scored: Sequence[Scored]) -> dict[str, Any]:
    """Quality of score and verdict at separating equal from different pairs."""
    same = [each for each in scored if each.same]
    called = [each for each in scored if each.verdict]
    right = sum(each.same for each in called)
    reached = separation.auroc([(each.score, each.same) for each in scored])
    by_text = separation.auroc([(each.likeness, each.same) for each in scored])
    return {
        "pairs": len(scored), "same": len(same), "failed": sum(bool(each.failed) for each in scored),
        "auroc": round(reached, 4), "auroc_text": round(by_text, 4),
        "called_same": len(called), "precision": round(right / len(called), 4) if called else 0.0,
        "recall": round(right / len(same), 4) if same else 0.0,
        "goal": {"auroc": GOAL_AUROC}, "met": reached >= GOAL_AUROC,
    }  # fmt: skip


def table(result: dict[str, Any]) -> str:
    """The figures as a reader wants them."""
    words = "met" if result["met"] else "NOT met"
    return "\n".join(
        [
            f"{result['pairs']} pairs, {result['same']} of them the same; {result['failed']} could not be compared",
            f"AUROC by behaviour {result['auroc']:.3f}, by text {result['auroc_text']:.3f}",
            f"called the same: {result['called_same']}",
            f"precision {result['precision']:.3f}, recall {result['recall']:.3f}",
            f"{result['pairs_per_second']} pairs a second in {result['sandbox']}",
            f"Goal: AUROC ≥ {GOAL_AUROC}: {words}.",
        ]
    )


async def _measure(
    pairs: Sequence[Pair], known: Inputs, settings: Settings, *, whole: bool
) -> tuple[str, list[Scored], float]:
    from alita_mcp.sandbox.choose import open_sandbox

    sandbox = await open_sandbox(settings)
    scored = []
    try:
        drawn: Drawn = {}
        begun = time.perf_counter()
        for number, pair in enumerate(pairs, start=1):
            scored.append(await score(pair, known, sandbox, drawn, whole=whole))
            sys.stderr.write(f"{number}/{len(pairs)} {pair.task}\n" if number % 25 == 0 else "")
        return sandbox.kind, scored, time.perf_counter() - begun
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()


async def score(pair: Pair, known: Inputs, sandbox: Sandbox, drawn: Drawn, *, whole: bool) -> Scored:
    """The result of comparing one pair; a pair that cannot be compared counts as different."""
    begun = time.perf_counter()
    try:
        found = await _compared(pair, known, sandbox, drawn, whole=whole)
    except SandboxError as failure:
        return Scored(
            pair.task, pair.same, 0.0, verdict=False, likeness=pair.likeness, failed=failure.message
        )
    counts, case = found.counts, found.difference
    return Scored(
        pair.task, pair.same, round(found.score, 4), verdict=found.is_same, likeness=pair.likeness,
        alike=found.alike, different=counts["different"], meant=found.meant, one_refused=counts["one refused"],
        refused=counts["refused"], lost=counts["lost"] + counts["one lost"],
        seconds=round(time.perf_counter() - begun, 3),
        case=case.arguments if case else None,
    )  # fmt: skip


async def _compared(pair: Pair, known: Inputs, sandbox: Sandbox, drawn: Drawn, *, whole: bool) -> Comparison:
    rehearsal = Rehearsal(sandbox)
    one, other = _compared_tool(pair.a, pair.a), _compared_tool(pair.b, pair.a)
    examples = as_examples(pair.a, known.get(pair.task, ()))
    constants = constants_in(pair.a.code, pair.b.code)
    schema = await _fitting(one, other, schemas_of(pair, examples), constants, rehearsal)
    shown = ShownRange(examples, schema)
    run = DifferentialRun(one, other, rehearsal, shown.covers)

    async def inputs(seed: int, told: Sequence[Scalar]) -> list[dict[str, Any]]:
        key = json.dumps([pair.task, schema, seed])
        if key not in drawn:
            drawn[key] = await drawn_inputs(schema, examples, seed)
        return combined(schema, examples, seed, told, drawn[key])

    await run.compare_on(await inputs(SEED, constants), whole=whole)
    if not examples and (whole or not run.found.is_over):
        answered = [seen.arguments for seen in run.found.seen if seen.kind in ("alike", "different")]
        await run.compare_on(mutated_inputs(schema, answered, SEED, MUTATED), whole=whole)
    if run.found.may_be_same:
        apart = constants_apart(pair.a.code, pair.b.code)
        await run.compare_on(await inputs(SEED + 1, apart), whole=whole)
    return await run.confirm()


async def _fitting(
    one: ComparedTool,
    other: ComparedTool,
    schemas: Sequence[Schema],
    constants: Sequence[Scalar],
    rehearsal: Rehearsal,
) -> Schema:
    """The schema of whose inputs both programs refuse the fewest; the first that they hardly refuse is taken."""
    best, most = schemas[0], 0
    for schema in schemas if len(schemas) > 1 else ():
        inputs = dictionary_inputs(schema, constants, SEED, TRIED)
        found = await DifferentialRun(one, other, rehearsal, lambda _: False).compare_on(inputs, whole=True)
        answered = found.alike + found.counts["different"]
        if answered > most * FAR_MORE:
            best, most = schema, answered
        if answered >= TRIED * ENOUGH_ANSWERED:
            break
    return best


def _compared_tool(program: Program, named: Program) -> ComparedTool:
    job = Job(code=program.code, function=program.function, arguments={}, limits=LIMITS)
    return ComparedTool(job, dict(zip(named.parameters, program.parameters, strict=False)))
