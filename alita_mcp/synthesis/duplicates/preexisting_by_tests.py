"""Detects an existing tool that passes the tests written for a request, before any code is written.

A tool that could be called in place of the specified one is run on suites that were written blind to it. It serves when
it fulfils all of the caller's own examples, every test of most suites, and nearly all of the rest: a suite may be wrong
here and there. What is not recognised here is looked at again, with the code at hand, before it is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.synthesis.duplicates.preexisting_by_examples import Callee, callee_for
from alita_mcp.synthesis.requests.outcomes import Exists
from alita_mcp.synthesis.requests.signatures import parameter_maps, renamed, results_alike
from alita_mcp.synthesis.specification.values import Specification
from alita_mcp.values import Example, StoredVersion, ToolContract
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

MIN_TESTS = 5
"""Fewer tests than these prove nothing, nor do any that all have one result."""
MOST_SUITES = 0.5
"""More than this share of the suites must be fulfilled to the last test."""
NEARLY_ALL = 0.8
"""So much of each other suite must hold."""
MAX_SECONDS = 20.0
"""How long all tools together may take; what is not looked at by then counts as another tool."""


@dataclass(frozen=True)
class Asked:
    """Requirements on a tool: the caller's own examples, and suites written for the specification."""

    specification: Specification
    own: Sequence[Example]
    suites: Sequence[Sequence[Example]]


async def rivals_of(specification: Specification, library: Library) -> tuple[str, ...]:
    """Names the tools with similar words that could be called in place of the specified one."""
    words = " ".join((specification.name, specification.description, *specification.use_when))
    contract, fitting = specification.contract(), []
    for name in await library.similar(words):
        try:
            known = await library.read(name)
        except AlitaError:
            continue
        if name != specification.name and _could_serve(known, contract):
            fitting.append(name)
    return tuple(fitting)


def _could_serve(known: StoredVersion, contract: ToolContract) -> bool:
    manifest = known.manifest
    if (
        manifest.varies
        or not manifest.grants.is_pure
        or not results_alike(contract.output_schema, manifest.output_schema)
    ):
        return False
    return bool(parameter_maps(contract.input_schema, manifest.input_schema))


async def find_passing(
    asked: Asked, names: Sequence[str], library: Library, rehearsal: Rehearsal
) -> Exists | None:
    """Returns the first of the tools called `names` that passes the tests; one that cannot run here does not."""
    suites = [[each for each in suite if each.check is None] for suite in asked.suites]
    if not _prove_something([*asked.own, *(each for suite in suites for each in suite)]):
        return None
    with anyio.move_on_after(MAX_SECONDS):
        for name in names:
            try:
                found = await _passing(asked, suites, await library.read(name), library, rehearsal)
            except AlitaError:
                continue
            if found is not None:
                return found
    return None


def _prove_something(tests: Sequence[Example]) -> bool:
    results = {repr(each.expected) for each in tests if "expected" in each.outcome_fields}
    return len(tests) >= MIN_TESTS and len(results) > 1


async def _passing(
    asked: Asked,
    suites: Sequence[Sequence[Example]],
    known: StoredVersion,
    library: Library,
    rehearsal: Rehearsal,
) -> Exists | None:
    manifest, contract = known.manifest, asked.specification.contract()
    for way in parameter_maps(contract.input_schema, manifest.input_schema):
        callee = await callee_for(known, way, library, rehearsal)
        own = [each for each in asked.own if each.check is None]
        if await _passes(callee, own) < len(own):
            continue
        passed = [await _passes(callee, suite) for suite in suites]
        if _is_served(passed, suites):
            tests = f"{sum(passed)} of {sum(map(len, suites))} tests that were written for this request"
            yours = f"your {len(own)} examples and " if own else ""
            why = f"it passes {yours}{tests}{renamed(way)}"
            return Exists(tool=manifest.name, version=manifest.version, why=why)
    return None


async def _passes(callee: Callee, suite: Sequence[Example]) -> int:
    """How many tests hold; no more are run once too few can."""
    held = 0
    for number, test in enumerate(suite, start=1):
        held += await callee.fulfils(test)
        if number - held > len(suite) * (1 - NEARLY_ALL):
            break
    return held


def _is_served(passed: Sequence[int], suites: Sequence[Sequence[Example]]) -> bool:
    sizes = [len(suite) for suite in suites]
    whole = sum(held == size for held, size in zip(passed, sizes, strict=True))
    nearly = all(held >= size * NEARLY_ALL for held, size in zip(passed, sizes, strict=True))
    return nearly and whole > len(suites) * MOST_SUITES
