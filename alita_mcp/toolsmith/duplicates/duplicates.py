"""Detection of an existing tool that does the same as a draft, or what a request's tests ask for."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.library.trust.trust import is_lower
from alita_mcp.library.words.text import likeness, words_of
from alita_mcp.toolsmith.duplicates.comparison import (
    Comparison,
    Names,
    by_name_and_place,
    describe_renaming,
    inputs_for,
    parameter_map,
    prepare_published_tool,
    prepare_tool,
    results_alike,
)
from alita_mcp.toolsmith.requests.outcomes import Exists, Lookalike
from alita_mcp.toolsmith.specification import Specification
from alita_mcp.values import Draft, Example, Schema, StoredVersion, Trust
from alita_mcp.verification.findings import brief
from alita_mcp.verification.json_schema import validate_arguments
from alita_mcp.verification.mutation.generated_inputs import constants_apart, constants_in
from alita_mcp.verification.properties.properties import ShownRange
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict

MAX_SECONDS = 20.0
"""How long all candidates together may take; what is not compared by then counts as another tool."""
LIKE_WORDS = 0.25
"""Share of common words from which on two tools are told apart in the answer."""


@dataclass(frozen=True)
class Proved:
    """Draft that passed its gates, with its verdict and trust."""

    draft: Draft
    verdict: Verdict
    trust: Trust
    """The last word on it, which agreement among candidates may lower."""

    @property
    def schemas(self) -> tuple[Schema, Schema]:
        """Of its arguments and of its result."""
        if self.verdict.contract is None:
            raise AssertionError("an accepted verdict carries a contract")
        return self.verdict.contract.input_schema, self.verdict.contract.output_schema


async def find_same(
    proved: Proved, names: Sequence[str], library: Library, rehearsal: Rehearsal
) -> Exists | tuple[Lookalike, ...]:
    """Runs a draft beside each of the tools called `names`; gives the first that behaves the same, or lookalikes.

    One that does the same on thinner evidence than the draft has does not serve: it would keep the better tool out.
    A tool that cannot be compared here (the sandbox lacks what it needs, or fails) counts as another one. Tools with
    grants are compared in rehearsal only, and only with tools that ask for the same.
    """
    similar: list[Lookalike] = []
    with anyio.move_on_after(MAX_SECONDS):
        for name in names:
            if name == proved.draft.name:
                continue
            try:
                known = await library.read(name)
                found = await _compare_with(proved, known, library, rehearsal)
            except AlitaError:
                continue
            if isinstance(found, Exists):
                return found
            similar += [found] if found else []
    return tuple(similar)


async def _compare_with(
    proved: Proved, known: StoredVersion, library: Library, rehearsal: Rehearsal
) -> Exists | Lookalike | None:
    """The tool that is there, how one that sounds alike differs, or None."""
    draft, manifest, (wanted, result) = proved.draft, known.manifest, proved.schemas
    if draft.varies or manifest.varies:
        return None  # equal results would be chance, and others prove nothing
    if manifest.grants != draft.grants or not results_alike(result, manifest.output_schema):
        return None
    way, sounds_alike = parameter_map(wanted, manifest.input_schema), _likeness(draft, known) >= LIKE_WORDS
    if way is None or not (draft.grants.is_pure or sounds_alike):
        return None  # what is made up for a rehearsal is the same for many a tool
    name, version = manifest.name, manifest.version
    found = await _compare(proved, known, way, library, rehearsal)
    if await found.confirm():
        where = "" if draft.grants.is_pure else " in rehearsal"
        why = f"same results on {found.alike} inputs{where}{describe_renaming(way)}"
        if not is_lower(manifest.trust, than=proved.trust):
            return Exists(tool=name, version=version, why=why)
        differs = (
            f"{name} gives the {why}, but is only {manifest.trust}: send this code again as {name} "
            "with update=true, or disable it"
        )
        return Lookalike(name=name, version=version, differs=differs)
    seen = found.difference
    if seen is None or not sounds_alike:
        return None
    differs = f"with {brief(seen.arguments)}: {draft.name} gives {seen.one}, {name} gives {seen.other}"
    return Lookalike(name=name, version=version, differs=differs)


async def _compare(
    proved: Proved, known: StoredVersion, way: Names, library: Library, rehearsal: Rehearsal
) -> Comparison:
    """Both on the examples of both, then on generated inputs; examples alone tell most tools apart."""
    draft, (wanted, _) = proved.draft, proved.schemas
    back = {there: here for here, there in way.items()}
    theirs = [
        Example(arguments={back[name]: value for name, value in example.arguments.items()}, expected=None)
        for example in known.examples
        if example.arguments.keys() <= back.keys()
    ]
    examples = [*draft.examples, *theirs]
    mine = await prepare_tool(draft, proved.verdict.lock, {name: name for name in way}, rehearsal)
    other = await prepare_published_tool(known, way, library, rehearsal)
    found = Comparison(mine, other, ShownRange(examples, wanted).covers)
    await found.compare_on([example.arguments for example in examples])
    if found.is_over:
        return found
    # the same two tools are compared on the same inputs, whenever that is
    codes = f"{draft.code}\0{known.code}".encode("utf-8", "replace")
    seed = int.from_bytes(hashlib.sha256(codes).digest()[:4])
    both = await anyio.to_thread.run_sync(constants_in, draft.code, known.code)
    await found.compare_on(await inputs_for(wanted, examples, seed, both))
    if found.is_same:  # where the programs differ, if anywhere, is where only one of them names something
        apart = await anyio.to_thread.run_sync(constants_apart, draft.code, known.code)
        await found.compare_on(await inputs_for(wanted, examples, seed + 1, apart))
    return found


def _likeness(draft: Draft, known: StoredVersion) -> float:
    """Of the words in names and descriptions: the share that both have."""
    one, other = (words_of(f"{each.name} {each.description}") for each in (draft, known.manifest))
    return likeness(one, other)


MIN_EXAMPLES = 2
"""One example alone fits too many tools: `double(2)` and `square(2)` agree."""
MIN_TESTS = 5
"""Fewer tests than these prove nothing, nor do any that all have one result."""


async def find_tool_meeting_examples(
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
        return _exists(known, f"it does what your {len(examples)} examples say{describe_renaming(way)}")

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


async def find_tool_passing_tests(
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
        return _exists(known, f"it passes {yours}{tests}{describe_renaming(way)}")

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
    tool = await prepare_published_tool(known, way, library, rehearsal)
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
