"""Detection of an existing tool that serves a request, before any code is written.

It has to fulfil the caller's own examples, or these and a suite of tests that was written blind to it. What is not
recognised here is looked at again, with the code at hand, before it is published.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.toolsmith.duplicates.comparison import published_tool
from alita_mcp.toolsmith.requests.outcomes import Exists
from alita_mcp.toolsmith.requests.signatures import (
    Names,
    by_name_and_place,
    parameter_map,
    renamed,
    results_alike,
)
from alita_mcp.toolsmith.specification.values import Specification
from alita_mcp.values import Example, Schema, StoredVersion
from alita_mcp.verification.json_schema import validate_arguments
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

MIN_EXAMPLES = 2
"""One example alone fits too many tools: `double(2)` and `square(2)` agree."""
MIN_TESTS = 5
"""Fewer tests than these prove nothing, nor do any that all have one result."""
MAX_SECONDS = 20.0
"""How long all tools together may take; what is not looked at by then counts as another tool."""


async def find_fulfilling(
    examples: Sequence[Example], names: Sequence[str], library: Library, rehearsal: Rehearsal
) -> Exists | None:
    """Returns the first of the tools called `names` that does what the examples say; too few examples find none."""
    with_results = sum("expected" in example.outcome_fields for example in examples)
    if with_results < MIN_EXAMPLES or any(example.check for example in examples):
        return None

    async def serve(known: StoredVersion) -> Exists | None:
        way = _way_of(examples, known.manifest.input_schema) if _is_steady(known) else None
        if way is None or not await _fulfils(known, way, examples, library, rehearsal):
            return None
        return _exists(known, f"it does what your {len(examples)} examples say{renamed(way)}")

    return await _first(serve, names, library)


async def find_rivals(specification: Specification, library: Library) -> tuple[str, ...]:
    """Names the tools with similar words that could be called in place of the specified one."""
    words = " ".join((specification.name, specification.description, *specification.use_when))
    contract, fitting = specification.contract(), []
    for name in await library.similar(words):
        try:
            known = await library.read(name)
        except AlitaError:
            continue
        results = results_alike(contract.output_schema, known.manifest.output_schema)
        way = parameter_map(contract.input_schema, known.manifest.input_schema)
        if name != specification.name and _is_steady(known) and results and way is not None:
            fitting.append(name)
    return tuple(fitting)


async def find_passing(
    specification: Specification,
    own: Sequence[Example],
    suite: Sequence[Example],
    names: Sequence[str],
    library: Library,
    rehearsal: Rehearsal,
) -> Exists | None:
    """Returns the first of the tools called `names` that passes all tests of a suite and the caller's own examples."""
    own, suite = ([each for each in tests if each.check is None] for tests in (own, suite))
    results = {repr(each.expected) for each in (*own, *suite) if "expected" in each.outcome_fields}
    if not suite or len(own) + len(suite) < MIN_TESTS or len(results) < MIN_EXAMPLES:
        return None

    async def serve(known: StoredVersion) -> Exists | None:
        way = parameter_map(specification.contract().input_schema, known.manifest.input_schema)
        if way is None or not await _fulfils(known, way, [*own, *suite], library, rehearsal):
            return None
        yours = f"your {len(own)} examples and " if own else ""
        tests = f"{len(suite)} tests that were written for this request"
        return _exists(known, f"it passes {yours}{tests}{renamed(way)}")

    return await _first(serve, names, library)


async def _first(
    serve: Callable[[StoredVersion], Awaitable[Exists | None]], names: Sequence[str], library: Library
) -> Exists | None:
    """The first tool that serves; one that cannot be read or run here does not."""
    with anyio.move_on_after(MAX_SECONDS):
        for name in names:
            try:
                found = await serve(await library.read(name))
            except AlitaError:
                continue
            if found is not None:
                return found
    return None


async def _fulfils(
    known: StoredVersion, way: Names, tests: Sequence[Example], library: Library, rehearsal: Rehearsal
) -> bool:
    tool = await published_tool(known, way, library, rehearsal)
    for test in tests:
        if not await tool.fulfils(test):
            return False
    return True


def _is_steady(known: StoredVersion) -> bool:
    return known.manifest.grants.is_pure and not known.manifest.varies


def _exists(known: StoredVersion, why: str) -> Exists:
    return Exists(tool=known.manifest.name, version=known.manifest.version, why=why)


def _way_of(examples: Sequence[Example], known: Schema) -> Names | None:
    """The names in the examples to the tool's own: the same ones, else by place; types as the values have them."""
    longest = max((list(example.arguments) for example in examples), key=len)
    if any(not example.arguments.keys() <= {*longest} for example in examples):
        return None
    way = by_name_and_place(longest, list(known.get("properties", {})))
    if way is None:
        return None
    for example in examples:
        validate_arguments(known, {way[name]: value for name, value in example.arguments.items()})
    return way
