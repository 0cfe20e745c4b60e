"""Differential execution of two tools on the same inputs, and the comparison of what they did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio

from alita_mcp.library.library import Library
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.toolsmith.writing.candidate_sampler import side_by_side
from alita_mcp.values import Draft, Example, Lock, Schema, StoredVersion
from alita_mcp.verification.comparison import matches_error, same_result
from alita_mcp.verification.examples.trials import SECOND_CLOCK_OFFSET_S, describe_failure
from alita_mcp.verification.findings import brief, encodable, json_key
from alita_mcp.verification.mutation.generated_inputs import Scalar, dictionary_inputs, mutate_inputs
from alita_mcp.verification.properties.input_source import NoInputs, input_source
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

Names = Mapping[str, str]
"""A tool's parameter names to those of another tool."""


def parameter_map(wanted: Schema, known: Schema) -> Names | None:
    """How to call the `known` tool with the arguments of the `wanted` one: by name, then by place; None: not at all.

    The known tool must take all that the wanted one takes, and need nothing more.
    """
    parts, known_parts = wanted.get("properties", {}), known.get("properties", {})
    way = by_name_and_place(list(parts), list(known_parts))
    return way if way is not None and _fits(way, wanted, known) else None


def takes(known: Schema, wanted: Schema) -> bool:
    """Whether every value of the `wanted` schema is one of the `known` schema too."""
    kind, asked = str(known.get("type")), str(wanted.get("type"))
    if kind != asked and (kind, asked) != ("number", "integer"):
        return False
    if "enum" in known and not {*wanted.get("enum", (None,))} <= {*known["enum"]}:
        return False
    if kind == "array":
        return takes(known.get("items", {}), wanted.get("items", {}))
    return kind != "object" or _takes_object(known, wanted)


def results_alike(one: Schema, other: Schema) -> bool:
    """Whether two result schemas are of the same shape; whole numbers and others are one kind."""
    return bool(_shape(one) == _shape(other))


def describe_renaming(way: Names) -> str:
    """In words: which parameters have other names there."""
    other = [f"{there} is your {here}" for here, there in way.items() if here != there]
    return f"; its {', '.join(other)}" if other else ""


def _takes_object(known: Schema, wanted: Schema) -> bool:
    values, asked = known.get("additionalProperties"), wanted.get("additionalProperties")
    if isinstance(values, dict) or isinstance(asked, dict):
        return isinstance(values, dict) and isinstance(asked, dict) and takes(values, asked)
    parts, asked_parts = known.get("properties", {}), wanted.get("properties", {})
    same = {name: name for name in asked_parts}
    return asked_parts.keys() <= parts.keys() and _fits(same, wanted, known)


def _fits(way: Names, wanted: Schema, known: Schema) -> bool:
    """Whether each parameter is taken as the other tool's, and none that the other tool needs may be missing."""
    parts, known_parts = wanted.get("properties", {}), known.get("properties", {})
    always = {way[name] for name in wanted.get("required", ())}
    return set(known.get("required", ())) <= always and all(
        takes(known_parts[way[name]], part) for name, part in parts.items()
    )


def by_name_and_place(wanted: Sequence[str], known: Sequence[str]) -> dict[str, str] | None:
    """Parameters of one name are the same; the others in the order in which they stand. None: there are too few."""
    same = {name: name for name in wanted if name in known}
    left = [name for name in wanted if name not in same]
    free = [name for name in known if name not in same]
    return same | dict(zip(left, free, strict=False)) if len(left) <= len(free) else None


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
SHOWN = 60
"""So many characters of a result are shown."""
AGAIN = 4
"""So many inputs are tried once more, under another clock and hash seed."""


@dataclass(frozen=True)
class ComparedTool:
    """A tool to compare: its call without arguments, and its own names for the parameters."""

    job: Job
    names: Names
    rehearsal: Rehearsal

    async def run(self, arguments: Arguments, *, again: bool = False) -> RunResult:
        """The result for these arguments; `again` with another hash seed and another clock.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        limits = self.job.limits
        quick = {
            "wall_seconds": min(limits.wall_seconds, CALL_SECONDS),
            "cpu_seconds": min(limits.cpu_seconds, CALL_SECONDS),
        }
        changed: dict[str, Any] = {
            "arguments": {self.names[name]: value for name, value in arguments.items()},
            "limits": limits.model_copy(update=quick),
            "clock_offset_s": SECOND_CLOCK_OFFSET_S if again else 0,
        }
        return await self.rehearsal.run(self.job.model_copy(update=changed))

    async def fulfils(self, example: Example) -> bool:
        """Whether it gives what the example states, or raises it.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        result = await self.run(example.arguments)
        if example.raises is not None:
            return matches_error(example.raises, result)
        return result.ok and same_result(example.expected, result.value, example.exact)


async def prepare_tool(draft: Draft, lock: Lock | None, names: Names, rehearsal: Rehearsal) -> ComparedTool:
    """A tool in the environment that it needs.

    Raises:
        SandboxError: the environment cannot be had here.
    """

    async def silent(_line: str) -> None:
        return None

    environment = None
    if lock is not None and lock.requirements:
        environment = await rehearsal.sandbox.prepare(lock, silent)
    job = Job(
        code=draft.code, function=draft.name, arguments={}, environment=environment, limits=draft.limits,
        grants=draft.grants,
    )  # fmt: skip
    return ComparedTool(job, names, rehearsal)


async def prepare_published_tool(
    known: StoredVersion, names: Names, library: Library, rehearsal: Rehearsal
) -> ComparedTool:
    """A published tool with the packages that it has in this kind of sandbox; errors as `tool_of`."""
    manifest = known.manifest
    lock = library.tools.lock_in(manifest.name, manifest.version, rehearsal.sandbox.kind) or known.lock
    return await prepare_tool(known.draft, lock, names, rehearsal)


@dataclass(frozen=True)
class Difference:
    """An input that tells two tools apart, and what each did, in a few words."""

    arguments: Arguments
    one: str
    other: str


class Comparison:
    """Comparison of two tools; what was seen accumulates over the calls of `compare_on`."""

    def __init__(self, one: ComparedTool, other: ComparedTool, is_shown: Callable[[Arguments], bool]) -> None:
        """`is_shown` says of an input whether it is of a size that examples show: an error counts there."""
        self._one, self._other, self._is_shown = one, other, is_shown
        self._looked_at: set[str] = set()
        self._expected = 0
        self._alike: list[Arguments] = []
        self._results: set[str] = set()
        self.refused_by_one = 0
        """How many inputs one tool alone refuses."""
        self.lost = 0
        """How many inputs one or both have no end for that says anything."""
        self.difference: Difference | None = None
        """The first input that shows that the two are not the same."""

    @property
    def alike(self) -> int:
        """On how many inputs both gave the same result."""
        return len(self._alike)

    @property
    def is_over(self) -> bool:
        """Whether more inputs cannot make the two the same any more."""
        return self.difference is not None or self.lost >= ENOUGH_LOST

    @property
    def is_same(self) -> bool:
        """Whether enough was seen, and all of it the same."""
        varied = len(self._results) > 1 or self._expected == 1
        enough = self.alike >= min(MIN_ALIKE, self._expected)
        few_refused = self.refused_by_one <= max(1, self.alike * MAX_ONE_REFUSED)
        return not self.is_over and self.alike > 0 and varied and enough and few_refused

    async def compare_on(self, inputs: Sequence[Arguments]) -> None:
        """Runs both tools on inputs that they did not meet yet, until a difference shows or time is up.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        ahead = {text: each for each in inputs if (text := json_key(each)) not in self._looked_at}
        self._expected += len(ahead)
        with anyio.move_on_after(MAX_SECONDS):
            for text, arguments in ahead.items():
                self._note(arguments, *await self._run_both(arguments))
                self._looked_at.add(text)
                if self.is_over:
                    return

    async def confirm(self) -> bool:
        """Whether the two are the same, also under another clock and hash seed.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        steady, confirmed = self._alike[:AGAIN] if self.is_same else [], 0
        # where there are hardly any inputs, each several times: a coin falls on the same side now and then
        with anyio.move_on_after(MAX_SECONDS):
            for arguments in steady * (AGAIN if len(steady) < AGAIN else 1):
                mine, theirs = await self._run_both(arguments, again=True)
                if mine.ok and theirs.ok and same_result(mine.value, theirs.value):
                    confirmed += 1
                elif {mine.status, theirs.status} <= {"ok", "error"} and (mine.ok or theirs.ok):
                    return False
        return confirmed > 0

    def _note(self, arguments: Arguments, mine: RunResult, theirs: RunResult) -> None:
        # on an input both give (1) the same value or (2) two values, (3) one alone refuses, (4) both refuse, which
        # says nothing, or (5) one or both have no end that says anything
        differs = False
        if mine.ok and theirs.ok:
            differs = not same_result(mine.value, theirs.value)
            if not differs:
                self._alike.append(arguments)
                self._results.add(json_key(mine.value))
        elif not {mine.status, theirs.status} <= {"ok", "error"}:
            self.lost += 1
        elif mine.ok or theirs.ok:
            self.refused_by_one += 1
            differs = self._is_shown(arguments)
        if differs:
            self.difference = Difference(arguments, _in_words(mine), _in_words(theirs))

    async def _run_both(self, arguments: Arguments, *, again: bool = False) -> tuple[RunResult, RunResult]:
        """Side by side, one input at a time: so each of the two keeps to one worker, and few are started."""
        return await side_by_side(
            partial(self._one.run, arguments, again=again), partial(self._other.run, arguments, again=again)
        )


async def inputs_for(
    schema: Schema, examples: Sequence[Example], seed: int, constants: Sequence[Scalar] = ()
) -> list[Arguments]:
    """Inputs to compare two tools on, each once, the examples' first; `constants` are those in the code of both."""
    if not schema["properties"]:
        return [{}]
    shown = [example.arguments for example in examples]
    made = mutate_inputs(schema, shown, seed, MUTATED)
    made += dictionary_inputs(schema, constants, seed, DICTIONARY)
    async with input_source(schema, examples, seed, DRAWN) as source:
        with suppress(NoInputs):
            made += await source.draw()
    return list({json_key(each): each for each in (*shown, *made)}.values())


def _in_words(result: RunResult) -> str:
    text = brief(result.value, SHOWN) if result.ok else encodable(describe_failure(result))
    return text if len(text) <= SHOWN + 1 else f"{text[:SHOWN]}…"
