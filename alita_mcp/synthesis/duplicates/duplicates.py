"""Detects an existing tool with the same behaviour by differential execution; text only selects which tools to run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.library.trust.trust import is_lower
from alita_mcp.library.words.text import likeness, words_of
from alita_mcp.synthesis.duplicates.behaviour import (
    ComparedTool,
    Comparison,
    DifferentialRun,
    call_of,
    inputs_for,
)
from alita_mcp.synthesis.requests.outcomes import Exists, Lookalike
from alita_mcp.synthesis.requests.signatures import Names, parameter_maps, renamed, results_alike
from alita_mcp.values import Draft, Example, Lock, Schema, StoredVersion, Trust
from alita_mcp.verification.examples.judgement import ShownRange
from alita_mcp.verification.findings import brief
from alita_mcp.verification.mutation.dictionary_inputs import constants_apart, constants_in
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict

MAX_SECONDS = 20.0
"""How long all candidates together may take; what is not compared by then counts as another tool."""
LIKE_WORDS = 0.25
"""Share of common words from which on two tools are told apart in the answer."""


@dataclass(frozen=True)
class Compared:
    """Result of comparing a draft with similar tools."""

    serving: Exists | None = None
    similar: tuple[Lookalike, ...] = ()
    """Tools that sound alike and can be called alike: what they do otherwise, or on what thinner evidence the same."""


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


async def compared(proved: Proved, names: Sequence[str], library: Library, rehearsal: Rehearsal) -> Compared:
    """Runs a draft beside each of the tools called `names`; the first that behaves the same serves already.

    One that does the same on thinner evidence than the draft has does not: it would keep the better tool out.

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
                found = await _compare_pair(proved, known, library, rehearsal)
            except AlitaError:
                continue
            if isinstance(found, Exists) and is_lower(known.manifest.trust, than=proved.trust):
                found = _on_thin_evidence(known, found)
            if isinstance(found, Exists):
                return Compared(found)
            similar += [found] if found else []
    return Compared(None, tuple(similar))


async def _compare_pair(
    proved: Proved, known: StoredVersion, library: Library, rehearsal: Rehearsal
) -> Exists | Lookalike | None:
    draft, (wanted, result) = proved.draft, proved.schemas
    if draft.varies or known.manifest.varies:
        return None  # equal results would be chance, and others prove nothing
    if known.manifest.grants != draft.grants or not results_alike(result, known.manifest.output_schema):
        return None
    if not draft.grants.is_pure and _likeness(draft, known) < LIKE_WORDS:
        return None  # what is made up for a rehearsal is the same for many a tool
    difference: Lookalike | None = None
    for way in parameter_maps(wanted, known.manifest.input_schema):
        found = await _compare(proved, known, way, library, rehearsal)
        if found.is_same:
            where = "" if draft.grants.is_pure else " in rehearsal"
            why = f"same results on {found.alike} inputs{where}{renamed(way)}"
            return Exists(tool=known.manifest.name, version=known.manifest.version, why=why)
        difference = difference or _perhaps_same(known, found) or _lookalike(draft, known, found)
    return difference


async def _compare(
    proved: Proved, known: StoredVersion, way: Names, library: Library, rehearsal: Rehearsal
) -> Comparison:
    """Both on the examples of both, then on generated inputs; examples alone tell most tools apart."""
    draft, (wanted, _) = proved.draft, proved.schemas
    back = {there: here for here, there in way.items()}
    theirs = [
        _as_asked(example, back) for example in known.examples if example.arguments.keys() <= back.keys()
    ]
    examples = [*draft.examples, *theirs]
    is_shown = ShownRange(examples, wanted).covers
    mine = await call_of(draft, proved.verdict.lock, rehearsal)
    other = await call_of(known.draft, lock_of(known, library, rehearsal), rehearsal)
    pair = DifferentialRun(
        ComparedTool(mine, {name: name for name in way}), ComparedTool(other, way), rehearsal, is_shown
    )
    found = await pair.compare_on([example.arguments for example in examples])
    if found.is_over:
        return found
    seed = _seed(draft, known)
    both = await anyio.to_thread.run_sync(constants_in, draft.code, known.code)
    found = await pair.compare_on(await inputs_for(wanted, examples, seed, both))
    if found.may_be_same:  # where the programs differ, if anywhere, is where only one of them names something
        apart = await anyio.to_thread.run_sync(constants_apart, draft.code, known.code)
        await pair.compare_on(await inputs_for(wanted, examples, seed + 1, apart))
    return await pair.confirm()


def _perhaps_same(known: StoredVersion, found: Comparison) -> Lookalike | None:
    """What is told of a tool that agrees wherever both have a result, while only one has for much of the rest."""
    if not found.may_be_same:
        return None
    name, alone = known.manifest.name, [each for each in found.seen if each.kind == "one refused"]
    where = f"on {len(alone)} others one of the two has none, as with {brief(alone[0].arguments)}"
    differs = f"{name} is perhaps the same: equal results on {found.alike} inputs, but {where}"
    return Lookalike(name=name, version=known.manifest.version, differs=differs)


def _on_thin_evidence(known: StoredVersion, found: Exists) -> Lookalike:
    name, trust = known.manifest.name, known.manifest.trust
    differs = (
        f"{name} gives the {found.why}, but is only {trust}: send this code again as {name} with update=true"
    )
    return Lookalike(name=name, version=found.version, differs=f"{differs}, or disable it")


def _lookalike(draft: Draft, known: StoredVersion, found: Comparison) -> Lookalike | None:
    """How a tool differs that sounds like the draft; None where their words are others."""
    seen, name = found.difference, known.manifest.name
    if seen is None or _likeness(draft, known) < LIKE_WORDS:
        return None
    case = brief(seen.arguments)
    differs = f"with {case}: {draft.name} gives {seen.one}, {name} gives {seen.other}"
    return Lookalike(name=name, version=known.manifest.version, differs=differs)


def _likeness(draft: Draft, known: StoredVersion) -> float:
    """Of the words in names and descriptions: the share that both have."""
    one, other = (words_of(f"{each.name} {each.description}") for each in (draft, known.manifest))
    return likeness(one, other)


def _as_asked(example: Example, back: Names) -> Example:
    return Example(arguments={back[name]: value for name, value in example.arguments.items()}, expected=None)


def _seed(draft: Draft, known: StoredVersion) -> int:
    """The same two tools are compared on the same inputs, whenever that is."""
    return int.from_bytes(
        hashlib.sha256(f"{draft.code}\0{known.code}".encode("utf-8", "replace")).digest()[:4]
    )


def lock_of(known: StoredVersion, library: Library, rehearsal: Rehearsal) -> Lock:
    """The packages that a tool has in this kind of sandbox."""
    manifest = known.manifest
    return library.tools.lock_in(manifest.name, manifest.version, rehearsal.sandbox.kind) or known.lock
