"""Behaviour of a draft and its variants on inputs that no example shows."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio

from alita_mcp.errors import InvalidArguments, SandboxRefused
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.variants.code_on_call import UNLOADABLE, on_many
from alita_mcp.values import Draft, Example, Schema
from alita_mcp.verification.comparison.compare import bare_kinds_of, same_result
from alita_mcp.verification.examples.examples import Trial
from alita_mcp.verification.examples.trials import RehearsedDraft
from alita_mcp.verification.findings import sorted_json
from alita_mcp.verification.json_schema import validate_arguments
from alita_mcp.verification.mutation.dictionary_inputs import constants_in, dictionary_inputs
from alita_mcp.verification.mutation.mutated_inputs import mutated_inputs

Arguments = dict[str, Any]
ObservedCalls = Sequence[tuple[Arguments, RunResult]]
Behaviour = Any
"""A list that holds the value, or an object whose `raised` names the error's classes; None: it ended otherwise."""

MUTATED, DICTIONARY, DRAWN = 60, 80, 60
AT_A_TIME = 20
"""Inputs that are tried in one go before it is known that none of them ends the process."""
ONE_BY_ONE = 15
"""So many where each is a call of its own."""
_SHARE_WITH_GRANTS = 4
"""With grants an input takes longer: the host is asked, and a folder is made for each call."""
ENOUGH = 10
"""A place in the code counts as tried when the behaviour on so many inputs depends on it."""
_SHARE_OF_TIME = 3
"""All inputs together take at most this part of a variant's time."""
_LOOKED_AT = 3


Way = Callable[[str, Example], Job]
"""The job that runs an example on a variant of the code."""


@dataclass(frozen=True)
class Difference:
    """A difference between a variant and the code, with the arguments that show it where they are known."""

    arguments: Arguments | None = None


class OtherInputs:
    """Inputs for all variants of one draft: mutated examples, its constants, and draws from its schema."""

    def __init__(
        self, subject: RehearsedDraft, trials: Sequence[Trial], seen: ObservedCalls, way: Way
    ) -> None:
        self._draft, self._way, self._rehearsal = subject.draft, way, subject.rehearsal
        shown = [(each.example.arguments, each.result) for each in trials if each.result is not None]
        self._fresh = {sorted_json(given): behaviour_of(result) for given, result in (*shown, *seen[:DRAWN])}
        schema = subject.contract.input_schema
        self._inputs = _inputs_of(
            self._draft, schema, [each for each, _ in shown], [each for each, _ in seen]
        )
        self._expected: list[Behaviour] = []
        self._alone_too: dict[int, Behaviour] = {}
        self._texts: list[str] = []
        self._shown = {each.number: sorted_json(each.example.arguments) for each in trials}
        self._many = False
        self._is_ready = False
        self._preparing = anyio.Lock()

    @property
    def count(self) -> int:
        """Number of inputs; 0 until they are first needed."""
        return len(self._expected)

    async def left_by(self, code: str, trials: Sequence[Trial]) -> tuple[list[Trial], list[int] | None]:
        """The examples that may still notice a variant, and the result of `differing`.

        Where there are enough inputs, examples on which the variant does what the code does are left out.
        """
        differing = await self.differing(code) if await self.show_enough() else None
        if differing is None:
            return list(trials), None
        same = set(self._texts) - {self._texts[place] for place in differing}
        return [each for each in trials if self._shown.get(each.number) not in same], differing

    async def show_enough(self) -> bool:
        """Whether there are enough inputs to conclude that nothing shows a mistake.

        Not where each takes a call of its own: those are too few.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        await self._prepare()
        return self._many

    async def differing(self, code: str) -> list[int] | None:
        """Indices of the inputs on which a variant behaves differently; None: its process ended.

        Those of examples are among them; at most one where each takes a call of its own.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        await self._prepare()
        if not self._many:
            return await self._first_differing(code)
        got = await self._on_many(code, self._inputs)
        return None if got is None else self._places_differing(got)

    async def difference(self, code: str, differing: Sequence[int] | None) -> Difference | None:
        """The difference that these inputs show; None where there are none.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        for place in sorted(differing or (), key=lambda each: len(self._texts[each]))[:_LOOKED_AT]:
            given = self._inputs[place]
            if not alike(await self._itself_alone(place), await self._alone(code, given)):
                return Difference(given)
        return None if differing == [] else Difference()

    async def is_tried(self, trap: str, enough: int = ENOUGH) -> bool:
        """Whether the behaviour on enough inputs depends on the position of the trap.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        await self._prepare()
        if not trap or not self._many:
            return False
        got = await self._on_many(trap, self._inputs)
        return got is None or len(self._places_differing(got)) >= min(enough, self.count)

    async def _prepare(self) -> None:
        """Runs the code itself; inputs that end otherwise than with a value or an error are left out."""
        async with self._preparing:
            if self._is_ready:
                return
            with suppress(SandboxRefused):  # all at once; one call at a time it took
                self._many = await self._prepare_many()
            if not self._many:
                pairs = [(each, await self._known_or_alone(each)) for each in self._inputs[:ONE_BY_ONE]]
                kept = [(given, behaviour) for given, behaviour in pairs if behaviour is not None]
                self._inputs, self._expected = [each for each, _ in kept], [each for _, each in kept]
            self._texts = [sorted_json(each) for each in self._inputs]
            self._is_ready = True

    async def _prepare_many(self) -> bool:
        """Whether calls in one process do what calls in processes of their own do; they draw other random numbers."""
        if "random" in self._draft.varies:
            return False
        kept: list[Arguments] = []
        left = 0.0
        for start in range(0, len(self._inputs), AT_A_TIME):
            part = self._inputs[start : start + AT_A_TIME]
            job = self._job(self._draft.code, part)
            result = await self._rehearsal.run(job)
            left = left or job.limits.wall_seconds / _SHARE_OF_TIME
            left -= result.wall_seconds
            if _behaviours(result, len(part)) is not None and left > 0:
                kept += part
        got = await self._on_many(self._draft.code, kept) if 2 * len(kept) >= len(self._inputs) else None
        if got is None:
            return False
        fresh = [
            self._fresh.get(sorted_json(given), behaviour) for given, behaviour in zip(kept, got, strict=True)
        ]
        self._inputs, self._expected = kept, got
        return all(map(alike, fresh, got))

    def _job(self, code: str, inputs: Sequence[Arguments]) -> Job:
        return on_many(self._way(code, Example(arguments={}, expected=None)), inputs)

    async def _on_many(self, code: str, inputs: Sequence[Arguments]) -> list[Behaviour] | None:
        return _behaviours(await self._rehearsal.run(self._job(code, inputs)), len(inputs))

    async def _alone(self, code: str, given: Arguments) -> Behaviour:
        job = self._way(code, Example(arguments=given, expected=None))
        return behaviour_of(await self._rehearsal.run(job))

    async def _itself_alone(self, place: int) -> Behaviour:
        """What the code itself does with an input in a process of its own, which is asked once."""
        if place not in self._alone_too:
            self._alone_too[place] = await self._alone(self._draft.code, self._inputs[place])
        return self._alone_too[place]

    async def _known_or_alone(self, given: Arguments) -> Behaviour:
        known = self._fresh.get(sorted_json(given))
        if known is not None:
            return known
        try:
            return await self._alone(self._draft.code, given)
        except SandboxRefused:
            return None

    async def _first_differing(self, code: str) -> list[int]:
        for place, given in enumerate(self._inputs):
            if not alike(self._expected[place], await self._alone(code, given)):
                return [place]
        return []

    def _places_differing(self, got: Sequence[Behaviour]) -> list[int]:
        pairs = zip(self._expected, got, strict=True)
        return [place for place, pair in enumerate(pairs) if not alike(*pair)]


def behaviour_of(result: RunResult) -> Behaviour:
    """The behaviour that the result of one call shows."""
    if result.ok:
        return [result.value]
    if result.status == "error" and result.error_type != UNLOADABLE:
        return {"raised": sorted(bare_kinds_of(result))}
    return None


def alike(one: Behaviour, other: Behaviour) -> bool:
    """Whether two behaviours are the same value, or errors of which one derives from the other."""
    if isinstance(one, dict) and isinstance(other, dict):
        names, others = set(one["raised"]), set(other["raised"])
        return names <= others or others <= names
    return one is not None and other is not None and same_result(one, other)


def _behaviours(result: RunResult, count: int) -> list[Behaviour] | None:
    if not result.ok or not isinstance(result.value, list) or len(result.value) != count:
        return None
    return [
        {"raised": sorted({*each["raised"]} - {"object"})} if isinstance(each, dict) else each
        for each in result.value
    ]


def _inputs_of(
    draft: Draft, schema: Schema, shown: Sequence[Arguments], drawn: Sequence[Arguments]
) -> list[Arguments]:
    """Each once, in an order that the code itself draws, so that no place in it is special."""
    seed = int.from_bytes(hashlib.sha256(draft.code.encode()).digest()[:4], "big")
    share = 1 if draft.grants.is_pure else _SHARE_WITH_GRANTS
    made = mutated_inputs(schema, shown, seed, MUTATED // share)
    made += dictionary_inputs(schema, constants_in(draft.code), seed, DICTIONARY // share)
    inputs = {sorted_json(each): each for each in (*shown, *drawn[: DRAWN // share])}
    inputs |= {sorted_json(each): each for each in made if _fits(schema, each)}
    draw = random.Random(seed)  # noqa: S311 - nothing here is secret
    return draw.sample(list(inputs.values()), len(inputs))


def _fits(schema: Schema, arguments: Arguments) -> bool:
    try:
        validate_arguments(schema, arguments)
    except InvalidArguments:
        return False
    return True
