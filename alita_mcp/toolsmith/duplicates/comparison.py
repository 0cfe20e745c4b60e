"""Differential execution of two tools on the same inputs, and the comparison of what they did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from alita_mcp.progress import ignore_stage
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.values import Draft, Example, Lock, Schema
from alita_mcp.verification.comparison import same_result
from alita_mcp.verification.examples.trials import run_jobs
from alita_mcp.verification.findings import json_key
from alita_mcp.verification.generated_inputs import (
    Scalar,
    dictionary_inputs,
    draw_inputs,
    mutate_inputs,
)
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

Names = Mapping[str, str]
"""A tool's parameter names to those of another tool."""


def parameter_map(wanted: Schema, known: Schema) -> Names | None:
    """How to call the `known` tool with the arguments of the `wanted` one: by name, then by place; None: not at all.

    The known tool must take all that the wanted one takes, and need nothing more.
    """
    parts, known_parts = wanted.get("properties", {}), known.get("properties", {})
    same = {name: name for name in parts if name in known_parts}
    left = [name for name in parts if name not in same]
    free = [name for name in known_parts if name not in same]
    names = same | dict(zip(left, free, strict=False))
    return names if len(left) <= len(free) and _fits(names, wanted, known) else None


def takes(known: Schema, wanted: Schema) -> bool:
    """Whether every value of the `wanted` schema is one of the `known` schema too."""
    kind, wanted_kind = str(known.get("type")), str(wanted.get("type"))
    if kind != wanted_kind and (kind, wanted_kind) != ("number", "integer"):
        return False
    if "enum" in known and not {*wanted.get("enum", (None,))} <= {*known["enum"]}:
        return False
    if kind == "array":
        return takes(known.get("items", {}), wanted.get("items", {}))
    if kind != "object":
        return True
    # An object has (1) free keys, whose values must be taken, or (2) fixed ones, each of which must be.
    values, wanted_values = known.get("additionalProperties"), wanted.get("additionalProperties")
    if isinstance(values, dict) and isinstance(wanted_values, dict):
        return takes(values, wanted_values)
    if isinstance(values, dict) or isinstance(wanted_values, dict):
        return False
    same = {name: name for name in wanted.get("properties", {})}
    return same.keys() <= known.get("properties", {}).keys() and _fits(same, wanted, known)


def results_alike(one: Schema, other: Schema) -> bool:
    """Whether two result schemas are of the same shape; whole numbers and others are one kind."""
    return bool(_shape(one) == _shape(other))


def _fits(names: Names, wanted: Schema, known: Schema) -> bool:
    """Whether each parameter is taken as the other tool's, and none that the other tool needs may be missing."""
    parts, known_parts = wanted.get("properties", {}), known.get("properties", {})
    always_sent = {names[name] for name in wanted.get("required", ())}
    return set(known.get("required", ())) <= always_sent and all(
        takes(known_parts[names[name]], part) for name, part in parts.items()
    )


def _shape(schema: Schema) -> Any:
    match schema.get("type"):
        case "integer":
            return "number"
        case "array":
            return ["array", _shape(schema.get("items", {}))]
        case "object":
            values = schema.get("additionalProperties")
            parts = {name: _shape(part) for name, part in sorted(schema.get("properties", {}).items())}
            return ["object", parts, _shape(values) if isinstance(values, dict) else None]
        case other:
            return other


Arguments = dict[str, Any]

DRAWN, MUTATED, DICTIONARY = 48, 40, 32
"""Inputs besides those of examples: drawn from the schema, near the examples, made of what stands in both codes."""
CALL_SECONDS = 2.0
MAX_SECONDS = 10.0
ENOUGH_LOST = 3
"""After so many inputs that one or both never end on (out of time or memory, a dead process) the comparison ends."""
MIN_ALIKE = 8
"""Fewer equal results prove nothing, unless the tools take no more inputs than that."""
MAX_ONE_REFUSED = 0.05
"""Of the inputs with equal results: so many more may be refused by one tool alone, beyond what examples show."""


@dataclass(frozen=True)
class ComparedTool:
    """A tool to compare: its call without arguments, and its own names for the parameters."""

    job: Job
    names: Names
    rehearsal: Rehearsal

    def job_for(self, arguments: Arguments) -> Job:
        """The call with these arguments."""
        limits = self.job.limits
        short = {
            "wall_seconds": min(limits.wall_seconds, CALL_SECONDS),
            "cpu_seconds": min(limits.cpu_seconds, CALL_SECONDS),
        }
        changes: dict[str, Any] = {
            "arguments": {self.names[name]: value for name, value in arguments.items()},
            "limits": limits.model_copy(update=short),
        }
        return self.job.model_copy(update=changes)


async def prepare_tool(draft: Draft, lock: Lock | None, names: Names, rehearsal: Rehearsal) -> ComparedTool:
    """A tool in the environment that it needs.

    Raises:
        SandboxError: the environment cannot be had here.
    """
    environment = None
    if lock is not None and lock.requirements:
        environment = await rehearsal.sandbox.prepare(lock, ignore_stage)
    job = Job(
        code=draft.code, function=draft.name, arguments={}, environment=environment, limits=draft.limits,
        grants=draft.grants,
    )  # fmt: skip
    return ComparedTool(job, names, rehearsal)


class Comparison:
    """Comparison of two tools; what was seen accumulates over the calls of `compare_on`."""

    def __init__(self, one: ComparedTool, other: ComparedTool, is_shown: Callable[[Arguments], bool]) -> None:
        """`is_shown` says of an input whether it is of a size that examples show: an error counts there."""
        self._one, self._other, self._is_shown = one, other, is_shown
        self._looked_at: set[str] = set()
        self._expected = 0
        self.alike = 0
        """On how many inputs both gave the same result."""
        self._results: set[str] = set()
        self.refused_by_one = 0
        """How many inputs one tool alone refuses."""
        self.lost = 0
        """On how many inputs one or both ran out of time or memory, or died."""
        self.differs = False
        """Whether an input showed that the two are not the same."""

    @property
    def is_over(self) -> bool:
        """Whether more inputs cannot make the two the same any more."""
        return self.differs or self.lost >= ENOUGH_LOST

    @property
    def is_same(self) -> bool:
        """Whether enough was seen, and all of it the same."""
        # equal constants prove nothing, unless there is only one input; nor do few inputs, or many that one refuses
        varied = len(self._results) > 1 or self._expected == 1
        enough = self.alike >= min(MIN_ALIKE, self._expected)
        few_refused = self.refused_by_one <= max(1, self.alike * MAX_ONE_REFUSED)
        return not self.is_over and self.alike > 0 and varied and enough and few_refused

    async def compare_on(self, inputs: Sequence[Arguments]) -> None:
        """Runs both tools on inputs that are new to them, until a difference shows or time is up.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        ahead = {text: each for each in inputs if (text := json_key(each)) not in self._looked_at}
        self._expected += len(ahead)
        with anyio.move_on_after(MAX_SECONDS):
            for text, arguments in ahead.items():
                mine, theirs = await self._run_both(arguments)
                # Both give (1) the same value or (2) two values, (3) one alone refuses, (4) both refuse, which says
                # nothing, or (5) one or both do not end properly.
                if mine.ok and theirs.ok:
                    self.differs = not same_result(mine.value, theirs.value)
                    if not self.differs:
                        self.alike += 1
                        self._results.add(json_key(mine.value))
                elif not {mine.status, theirs.status} <= {"ok", "error"}:
                    self.lost += 1
                elif mine.ok or theirs.ok:
                    self.refused_by_one += 1
                    self.differs = self._is_shown(arguments)
                self._looked_at.add(text)
                if self.is_over:
                    return

    async def _run_both(self, arguments: Arguments) -> tuple[RunResult, RunResult]:
        """Side by side, one input at a time: each tool keeps to one worker, and few are started."""
        jobs = [tool.job_for(arguments) for tool in (self._one, self._other)]
        mine, theirs = await run_jobs(self._one.rehearsal, jobs)
        cut_short = RunResult(status="timeout")  # where one runs out of time, the other is not waited for
        return mine or cut_short, theirs or cut_short


def inputs_for(
    schema: Schema, examples: Sequence[Example], seed: int, constants: Sequence[Scalar] = ()
) -> list[Arguments]:
    """Inputs to compare two tools on, each once, the examples' first; `constants` are those in the code of both."""
    if not schema["properties"]:
        return [{}]
    shown = [example.arguments for example in examples]
    made = mutate_inputs(schema, shown, seed, MUTATED)
    made += dictionary_inputs(schema, constants, seed, DICTIONARY)
    made += draw_inputs(schema, examples, seed, DRAWN)
    return list({json_key(each): each for each in (*shown, *made)}.values())
