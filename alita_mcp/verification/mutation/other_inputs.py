"""Behaviour of a draft and its variants on inputs that no example shows."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import anyio

from alita_mcp.errors import InvalidArguments, SandboxRefused
from alita_mcp.sandbox.code_on_call import UNLOADABLE, on_many
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.values import Example
from alita_mcp.verification.comparison import bare_kinds_of, same_result
from alita_mcp.verification.examples.examples import Trial
from alita_mcp.verification.examples.trials import RehearsedDraft
from alita_mcp.verification.findings import json_key
from alita_mcp.verification.generated_inputs import constants_in, dictionary_inputs, mutate_inputs
from alita_mcp.verification.json_schema import check_arguments

Arguments = dict[str, Any]
ObservedCalls = Sequence[tuple[Arguments, RunResult]]
Behaviour = Any
"""A list that holds the value, or an object whose `raised` names the error's classes; None: it ended otherwise."""

MUTATED, DICTIONARY, DRAWN = 60, 80, 60
AT_A_TIME = 20
"""Inputs that are tried in one go before it is known that none of them ends the process."""
_SHARE_WITH_GRANTS = 4
"""With grants an input takes longer: the host is asked, and a folder is made for each call."""
ENOUGH = 10
"""A place in the code counts as tried when the behaviour on so many inputs depends on it."""
_SHARE_OF_TIME = 3
"""All inputs together take at most this part of a variant's time."""

Way = Callable[[str, Example], Job]
"""The job that runs an example on a variant of the code."""


class OtherInputs:
    """Inputs for all variants of one draft: mutated examples, its constants, and draws from its schema.

    A variant meets all of them in one process. Where calls in one process do something else than calls in processes
    of their own, none are used.
    """

    def __init__(
        self, subject: RehearsedDraft, trials: Sequence[Trial], seen: ObservedCalls, way: Way
    ) -> None:
        self._draft, self._way, self._rehearsal = subject.draft, way, subject.rehearsal
        shown = [(each.example.arguments, each.result) for each in trials if each.result is not None]
        self._fresh = {json_key(given): behaviour_of(result) for given, result in (*shown, *seen[:DRAWN])}
        # each once, in an order that the code itself draws, so that no place in it is special
        draft, schema = subject.draft, subject.contract.input_schema
        seed = int.from_bytes(hashlib.sha256(draft.code.encode()).digest()[:4], "big")
        share = 1 if draft.grants.is_pure else _SHARE_WITH_GRANTS
        known = [given for given, _ in shown]
        inputs = {json_key(each): each for each in (*known, *(given for given, _ in seen[: DRAWN // share]))}
        made = mutate_inputs(schema, known, seed, MUTATED // share)
        made += dictionary_inputs(schema, constants_in(draft.code), seed, DICTIONARY // share)
        for each in made:
            with suppress(InvalidArguments):
                check_arguments(schema, each)
                inputs[json_key(each)] = each
        draw = random.Random(seed)  # noqa: S311 - nothing here is secret
        self._inputs = draw.sample(list(inputs.values()), len(inputs))
        self._expected: list[Behaviour] | None = None
        self.count = 0
        """Number of inputs; 0 until they are first needed, and where none can be used."""
        self._is_ready = False
        self._preparing = anyio.Lock()

    async def inputs_that_differ(self, code: str) -> list[Arguments] | None:
        """The inputs on which a variant behaves differently, those of examples among them; None: its process ended.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        _, _, got = await self._run(code, self._inputs)
        if got is None or self._expected is None:
            return None
        both = zip(self._inputs, self._expected, got, strict=True)
        return [given for given, expected, behaviour in both if not alike(expected, behaviour)]

    async def is_tried(self, trap: str, enough: int = ENOUGH) -> bool:
        """Whether the behaviour on enough inputs depends on the position of the trap.

        Raises:
            SandboxError: the sandbox failed or refused.
        """
        differing = await self.inputs_that_differ(trap) if trap else []
        return differing is None or len(differing) >= min(enough, self.count)

    async def are_usable(self) -> bool:
        """Whether there are inputs, from which follows that nothing shows a mistake.

        Raises:
            SandboxError: the sandbox failed.
        """
        async with self._preparing:
            if not self._is_ready:
                with suppress(SandboxRefused):  # all at once; one call at a time it took
                    await self._try_inputs()
                self._is_ready = True
        return self._expected is not None

    async def _try_inputs(self) -> None:
        """Runs the code itself; inputs that end otherwise than with a value or an error are left out."""
        if "random" in self._draft.varies:
            return  # calls in one process draw other numbers
        kept: list[Arguments] = []
        left = 0.0
        for start in range(0, len(self._inputs), AT_A_TIME):
            part = self._inputs[start : start + AT_A_TIME]
            job, result, behaviours = await self._run(self._draft.code, part)
            left = left or job.limits.wall_seconds / _SHARE_OF_TIME
            left -= result.wall_seconds
            if behaviours is not None and left > 0:
                kept += part
        # where most inputs end the process, or one process for all gives other results, none are used
        if 2 * len(kept) < len(self._inputs):
            return
        _, _, got = await self._run(self._draft.code, kept)
        if got is None:
            return
        both = zip(kept, got, strict=True)
        if all(alike(self._fresh.get(json_key(given), behaviour), behaviour) for given, behaviour in both):
            self._inputs, self._expected, self.count = kept, got, len(got)

    async def _run(
        self, code: str, inputs: Sequence[Arguments]
    ) -> tuple[Job, RunResult, list[Behaviour] | None]:
        """The behaviour of a variant on inputs, all in one process; None where its process ended."""
        job = on_many(self._way(code, Example(arguments={}, expected=None)), inputs)
        result = await self._rehearsal.run(job)
        if not result.ok or not isinstance(result.value, list) or len(result.value) != len(inputs):
            return job, result, None
        behaviours = [
            {"raised": sorted({*each["raised"]} - {"object"})} if isinstance(each, dict) else each
            for each in result.value
        ]
        return job, result, behaviours


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
