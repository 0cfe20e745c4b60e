"""Differential execution of two tools on the same inputs, and the comparison of what they did."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import anyio

from alita_mcp.sandbox.interface import Environment, Job, RunResult
from alita_mcp.synthesis.writing.candidate_sampler import side_by_side
from alita_mcp.values import Draft, Example, Lock, Schema
from alita_mcp.verification.comparison.compare import same_result
from alita_mcp.verification.comparison.result_words import result_word
from alita_mcp.verification.examples.clock_and_seed import SECOND_CLOCK_OFFSET_S
from alita_mcp.verification.examples.trials import failure_in_words
from alita_mcp.verification.findings import brief, encodable
from alita_mcp.verification.mutation.dictionary_inputs import Scalar, dictionary_inputs
from alita_mcp.verification.mutation.mutated_inputs import mutated_inputs
from alita_mcp.verification.properties.input_source import NoInputs, input_source
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

Arguments = dict[str, Any]
Kind = Literal["alike", "different", "refused", "one refused", "one lost", "lost"]
"""Of an input: the same value, two values, two errors, a value and an error, a value and an end that says nothing (out
of time or memory, a dead process), or no value at all."""

INPUTS = 48
"""How many are generated, besides those of the examples."""
MUTATED = 40
"""How many are made by changing those of the examples."""
DICTIONARY = 32
"""How many are made of what stands in the code of both."""
CALL_SECONDS = 2.0
MAX_SECONDS = 10.0
ENOUGH_LOST = 3
"""After so many inputs that one or both never end on (out of time or memory, a dead process) the comparison ends."""
ALL_LOST = 8
"""After so many it ends even where all is to be seen."""
MIN_ALIKE = 8
"""Fewer equal results prove nothing, unless the tools take no more inputs than that."""
MAX_ONE_REFUSED = 0.05
"""Of the inputs with equal results: so many more may be refused by one tool alone, beyond what examples show."""
MAYBE_ONE_REFUSED = 0.25
"""The same for two that are perhaps one tool; only who knows what is asked can tell."""
LIGHTLY = 0.25
"""The weight of an input that one tool alone refuses or does not end on: perhaps nobody asks that."""
SHOWN = 60
"""So many characters of a result are shown."""
AGAIN = 4
"""So many inputs are tried once more, under another clock and hash seed."""


@dataclass(frozen=True)
class ComparedTool:
    """A tool to compare: its call without arguments, and its own names for the parameters."""

    job: Job
    names: Mapping[str, str]

    def call(self, arguments: Arguments, *, again: bool = False) -> Job:
        """The call with these arguments; `again` with another hash seed and another clock."""
        own = {self.names[name]: value for name, value in arguments.items()}
        limits = self.job.limits
        quick = {
            "wall_seconds": min(limits.wall_seconds, CALL_SECONDS),
            "cpu_seconds": min(limits.cpu_seconds, CALL_SECONDS),
        }
        changed: dict[str, Any] = {"arguments": own, "limits": limits.model_copy(update=quick)}
        if again:
            changed["clock_offset_s"] = SECOND_CLOCK_OFFSET_S
        return self.job.model_copy(update=changed)


@dataclass(frozen=True)
class Observation:
    """The results of both tools for one input."""

    arguments: Arguments
    kind: Kind
    word: str
    other_word: str
    """What each did, as one word that is the same for the same behaviour."""
    one: str
    other: str
    """What each did, for a reader."""


@dataclass
class Comparison:
    """The observations so far; `is_same` is the verdict."""

    expected: int = 0
    """How many inputs there were to look at."""
    seen: list[Observation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    difference: Observation | None = None
    """The first input that shows that the two are not the same."""
    meant: int = 0
    """How many differences are on inputs of a size that examples show."""
    confirmed: int = 0
    """How many inputs gave equal results under another clock and hash seed too."""
    changeable: bool = False
    """Whether equal results were chance: under another clock and hash seed they were not equal."""

    def note(self, seen: Observation, *, shown: bool) -> None:
        """One input more; `shown`: it is of a size that examples show, so that what is done with it is meant."""
        self.seen.append(seen)
        self.counts[seen.kind] += 1
        if seen.kind == "different" or (seen.kind == "one refused" and shown):
            self.difference = self.difference or seen
            self.meant += shown

    @property
    def alike(self) -> int:
        """On how many inputs both gave the same result."""
        return self.counts["alike"]

    @property
    def lost(self) -> int:
        """On how many inputs one or both had no end that says anything."""
        return self.counts["lost"] + self.counts["one lost"]

    @property
    def is_over(self) -> bool:
        """Whether more inputs cannot make the two the same any more.

        Where both are lost on an input nothing is learned; where one is, it may be slower, or another tool.
        """
        return self.difference is not None or self.counts["one lost"] >= ENOUGH_LOST

    @property
    def is_same(self) -> bool:
        """Whether enough was seen, and all of it the same."""
        return self._is_alike(MAX_ONE_REFUSED)

    @property
    def may_be_same(self) -> bool:
        """Whether what was seen is the same, but one of the two has no result for much of it."""
        return self._is_alike(MAYBE_ONE_REFUSED)

    def _is_alike(self, most_refused: float) -> bool:
        if self.is_over or self.changeable or not self.alike:
            return False
        results = {each.word for each in self.seen if each.kind == "alike"}
        varied = len(results) > 1 or self.expected == 1
        enough = self.alike >= min(MIN_ALIKE, self.expected)
        return varied and enough and self.counts["one refused"] <= max(1, self.alike * most_refused)

    @property
    def score(self) -> float:
        """Likeness from 0 to 1: equal results beyond chance, halved where they differ on what is meant.

        Two that say no to nearly everything agree by chance; this is Cohen's kappa, with inputs that one of the two
        alone has no result for counted lightly. A half where nothing was learned.
        """
        valued = [each for each in self.seen if each.kind in ("alike", "different")]
        untold = (self.counts["one refused"] + self.counts["one lost"]) * LIGHTLY
        if not valued:
            return 0.5 if not untold else 0.0
        one, other = Counter(each.word for each in valued), Counter(each.other_word for each in valued)
        chance = sum(one[word] * other[word] for word in one) / len(valued) ** 2
        share = self.alike / (len(valued) + untold)
        beyond = (share - chance) / (1 - chance) if chance < 1 else share / 2
        return max(0.0, beyond) / (2 if self.meant else 1)


async def inputs_for(
    schema: Schema, examples: Sequence[Example], seed: int, constants: Sequence[Scalar] = ()
) -> list[Arguments]:
    """Inputs to compare two tools on, each once; `constants` are those in the code of both."""
    return combined(schema, examples, seed, constants, await drawn_inputs(schema, examples, seed))


async def drawn_inputs(schema: Schema, examples: Sequence[Example], seed: int) -> list[Arguments]:
    """Inputs that are drawn by chance, from schema and examples alone."""
    if not schema["properties"]:
        return [{}]
    async with input_source(schema, examples, seed, INPUTS) as source:
        try:
            return await source.draw()
        except NoInputs:
            return []


def combined(
    schema: Schema,
    examples: Sequence[Example],
    seed: int,
    constants: Sequence[Scalar],
    drawn: Sequence[Arguments],
) -> list[Arguments]:
    """The examples' arguments, what is made of the code's constants, what is near either, then the drawn ones."""
    shown = [example.arguments for example in examples]
    from_code = dictionary_inputs(schema, constants, seed, DICTIONARY) if schema["properties"] else []
    mutated = mutated_inputs(schema, shown, seed, MUTATED)
    return list({_text_of(each): each for each in (*shown, *mutated, *from_code, *drawn)}.values())


class DifferentialRun:
    """Differential execution of two tools; observations accumulate over its calls."""

    def __init__(
        self,
        one: ComparedTool,
        other: ComparedTool,
        rehearsal: Rehearsal,
        is_shown: Callable[[Arguments], bool],
    ) -> None:
        """`is_shown` says of an input whether it is of a size that examples show: an error counts there."""
        self._one, self._other, self._rehearsal, self._is_shown = one, other, rehearsal, is_shown
        self.found = Comparison()

    async def compare_on(self, inputs: Sequence[Arguments], *, whole: bool = False) -> Comparison:
        """Runs both tools on these inputs, until a difference shows (`whole`: to the end) or time is up.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        known = {_text_of(each.arguments) for each in self.found.seen}
        new = {_text_of(each): each for each in inputs}
        ahead = [each for text, each in new.items() if text not in known]
        self.found.expected += len(ahead)

        async def look(arguments: Arguments) -> bool:
            mine, theirs = await self._both(arguments, again=False)
            kind, word = kind_of(mine, theirs), result_word(mine)
            other_word = word if kind == "alike" else result_word(theirs)
            seen = Observation(arguments, kind, word, other_word, in_words(mine), in_words(theirs))
            self.found.note(seen, shown=self._is_shown(arguments))
            if whole:
                return self.found.lost < ALL_LOST
            return not self.found.is_over and self.found.lost < ENOUGH_LOST

        await _each(ahead, look)
        return self.found

    async def confirm(self) -> Comparison:
        """Repeats some inputs under another clock and hash seed, when both were the same so far.

        Raises:
            SandboxError: as `compare_on`.
        """
        if not self.found.is_same:
            return self.found
        steady = [each.arguments for each in self.found.seen if each.kind == "alike"][:AGAIN]

        async def look_again(arguments: Arguments) -> bool:
            kind = kind_of(*await self._both(arguments, again=True))
            self.found.confirmed += kind == "alike"
            self.found.changeable = self.found.changeable or kind in ("different", "one refused")
            return not self.found.changeable

        # where there are hardly any inputs, each several times: a coin falls on the same side now and then
        await _each(steady * (AGAIN if len(steady) < AGAIN else 1), look_again)
        self.found.changeable = self.found.changeable or not self.found.confirmed
        return self.found

    async def _both(self, arguments: Arguments, *, again: bool) -> tuple[RunResult, RunResult]:
        """Side by side, one input at a time: so each of the two keeps to one worker, and few are started."""

        async def run(tool: ComparedTool) -> RunResult:
            return await self._rehearsal.run(tool.call(arguments, again=again))

        return await side_by_side(partial(run, self._one), partial(run, self._other))


async def call_of(draft: Draft, lock: Lock | None, rehearsal: Rehearsal) -> Job:
    """A call of a tool, still without arguments, in the environment that it needs.

    Raises:
        SandboxError: the environment cannot be had here.
    """
    environment: Environment | None = None
    if lock is not None and lock.requirements:
        environment = await rehearsal.sandbox.prepare(lock, _silent)
    return Job(
        code=draft.code, function=draft.name, arguments={}, environment=environment, limits=draft.limits,
        grants=draft.grants,
    )  # fmt: skip


async def _silent(_line: str) -> None:
    return None


def _text_of(arguments: Arguments) -> str:
    return json.dumps(arguments, sort_keys=True)


async def _each(inputs: Iterable[Arguments], look: Callable[[Arguments], Awaitable[bool]]) -> None:
    """One after the other, until all are done, time is up, or `look` answers that it is enough."""
    with anyio.move_on_after(MAX_SECONDS):
        for arguments in inputs:
            if not await look(arguments):
                return


def in_words(result: RunResult) -> str:
    """An outcome for a reader, cut short."""
    return brief(result.value, SHOWN) if result.ok else brief_text(failure_in_words(result))


def brief_text(text: str) -> str:
    """Cut as values are."""
    return encodable(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def kind_of(mine: RunResult, theirs: RunResult) -> Kind:
    """Kind of the pair of outcomes of one input."""
    if mine.ok and theirs.ok:
        return "alike" if same_result(mine.value, theirs.value) else "different"
    if {mine.status, theirs.status} <= {"ok", "error"}:
        return "one refused" if mine.ok or theirs.ok else "refused"
    return "one lost" if mine.ok or theirs.ok else "lost"
