"""Detects an existing tool that fulfils the examples of a request, before any model writes anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.synthesis.duplicates.behaviour import ComparedTool, call_of
from alita_mcp.synthesis.duplicates.duplicates import lock_of
from alita_mcp.synthesis.requests.outcomes import Exists
from alita_mcp.synthesis.requests.signatures import Names, by_name_and_place, renamed
from alita_mcp.values import Example, Schema, StoredVersion
from alita_mcp.verification.comparison.compare import raised, same_result
from alita_mcp.verification.json_schema import validate_arguments
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

MIN_EXAMPLES = 2
"""One example alone fits too many tools: `double(2)` and `square(2)` agree."""

MAX_SECONDS = 20.0
"""How long all tools together may take; what is not looked at by then counts as another tool."""


async def find_serving(
    examples: Sequence[Example], names: Sequence[str], library: Library, rehearsal: Rehearsal
) -> Exists | None:
    """Returns the first of the tools called `names` that does what the examples say; too few examples find none."""
    with_results = sum("expected" in example.outcome_fields for example in examples)
    if with_results < MIN_EXAMPLES or any(example.check for example in examples):
        return None
    with anyio.move_on_after(MAX_SECONDS):
        for name in names:
            try:
                known = await library.read(name)
                steady = known.manifest.grants.is_pure and not known.manifest.varies
                way = await _serves(known, examples, library, rehearsal) if steady else None
            except AlitaError:
                continue
            if way is not None:
                why = f"it does what your {len(examples)} examples say{renamed(way)}"
                return Exists(tool=name, version=known.manifest.version, why=why)
    return None


@dataclass(frozen=True)
class Callee:
    """A published tool called by the parameter names of a request."""

    tool: ComparedTool
    rehearsal: Rehearsal

    async def fulfils(self, example: Example) -> bool:
        """Whether it gives what the example states, or raises it."""
        result = await self.rehearsal.run(self.tool.call(example.arguments))
        if example.raises is not None:
            return raised(example.raises, result)
        return result.ok and same_result(example.expected, result.value, example.exact)


async def callee_for(known: StoredVersion, way: Names, library: Library, rehearsal: Rehearsal) -> Callee:
    """Prepares a published tool to be called.

    Raises:
        SandboxError: its environment cannot be had here.
    """
    job = await call_of(known.draft, lock_of(known, library, rehearsal), rehearsal)
    return Callee(ComparedTool(job, way), rehearsal)


async def _serves(
    known: StoredVersion, examples: Sequence[Example], library: Library, rehearsal: Rehearsal
) -> Names | None:
    """How its parameters are called in the examples, when it does what they say."""
    way = _way_of(examples, known.manifest.input_schema)
    if way is None:
        return None
    callee = await callee_for(known, way, library, rehearsal)
    for example in examples:
        if not await callee.fulfils(example):
            return None
    return way


def _way_of(examples: Sequence[Example], known: Schema) -> Names | None:
    """The names in the examples to the tool's own: the same ones, else by place; types as the values have them."""
    longest = max((list(example.arguments) for example in examples), key=len)
    if any(not example.arguments.keys() <= {*longest} for example in examples):
        return None
    way = by_name_and_place(longest, list(known.get("properties", {})))
    if way is None:
        return None
    try:
        for example in examples:
            validate_arguments(known, {way[name]: value for name, value in example.arguments.items()})
    except AlitaError:
        return None
    return way
