"""Detection of an existing tool that does the same as a draft, or what a request's examples say."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.library.trust.trust import is_lower
from alita_mcp.library.words.text import likeness, words_of
from alita_mcp.toolsmith.duplicates.comparison import (
    Comparison,
    Names,
    inputs_for,
    parameter_map,
    prepare_tool,
    results_alike,
)
from alita_mcp.toolsmith.requests.outcomes import Exists
from alita_mcp.values import Draft, Example, Lock, Schema, StoredVersion
from alita_mcp.verification.generated_inputs import constants_apart
from alita_mcp.verification.properties import ShownRange
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict

MAX_SECONDS = 20.0
"""How long all candidates together may take; a tool that is not compared by then counts as another one."""
LIKE_WORDS = 0.25
"""Share of common words from which on two tools with grants are compared."""


async def find_same(
    draft: Draft, verdict: Verdict, names: Sequence[str], library: Library, rehearsal: Rehearsal
) -> Exists | None:
    """Runs a draft that passed its gates beside the tools called `names`: the first that is the same, if any is.

    A tool that does the same on thinner evidence than the draft is another one: it must not keep the better tool out.
    So is one that cannot be compared here (the sandbox lacks what it needs, or fails). Tools with grants are compared
    in rehearsal only, and only with tools that ask for the same.
    """
    with anyio.move_on_after(MAX_SECONDS):
        for name in names:
            if name == draft.name:
                continue
            try:
                found = await _compare_with(draft, verdict, await library.read(name), library, rehearsal)
            except AlitaError:
                continue
            if found is not None:
                return found
    return None


async def _compare_with(
    draft: Draft, verdict: Verdict, known: StoredVersion, library: Library, rehearsal: Rehearsal
) -> Exists | None:
    """The known tool where it is the same as the draft on evidence that is no thinner."""
    manifest, contract = known.manifest, verdict.contract
    if contract is None:
        raise AssertionError("an accepted verdict carries a contract")
    if is_lower(manifest.trust, than=verdict.report.trust):
        return None
    if draft.varies or manifest.varies:
        return None  # equal results would be chance, and others prove nothing
    if manifest.grants != draft.grants or not results_alike(contract.output_schema, manifest.output_schema):
        return None
    names = parameter_map(contract.input_schema, manifest.input_schema)
    words = [words_of(f"{each.name} {each.description}") for each in (draft, manifest)]
    if names is None or not (draft.grants.is_pure or likeness(*words) >= LIKE_WORDS):
        return None  # the stand-ins of a rehearsal give many tools the same results
    comparison = await _compare(draft, verdict.lock, contract.input_schema, known, names, library, rehearsal)
    if not comparison.is_same:
        return None
    where = "" if draft.grants.is_pure else " in rehearsal"
    renamed = ", ".join(f"{there} is your {here}" for here, there in names.items() if here != there)
    why = f"same results on {comparison.alike} inputs{where}{f'; its {renamed}' if renamed else ''}"
    return Exists(tool=manifest.name, version=manifest.version, why=why)


async def _compare(
    draft: Draft,
    lock: Lock | None,
    schema: Schema,
    known: StoredVersion,
    names: Names,
    library: Library,
    rehearsal: Rehearsal,
) -> Comparison:
    """Compares both on the examples of both, then on generated inputs; examples alone tell most tools apart."""
    back = {there: here for here, there in names.items()}
    theirs = [
        Example(arguments={back[name]: value for name, value in example.arguments.items()}, expected=None)
        for example in known.examples
        if example.arguments.keys() <= back.keys()
    ]
    examples = [*draft.examples, *theirs]
    mine = await prepare_tool(draft, lock, {name: name for name in names}, rehearsal)
    # the other has the packages that it was locked to in this kind of sandbox
    manifest = known.manifest
    known_lock = library.tools.lock_in(manifest.name, manifest.version, rehearsal.sandbox.kind) or known.lock
    other = await prepare_tool(known.draft, known_lock, names, rehearsal)
    comparison = Comparison(mine, other, ShownRange(examples, schema).covers)
    await comparison.compare_on([example.arguments for example in examples])
    if comparison.is_over:
        return comparison
    # the same two tools are compared on the same inputs at any time
    codes = f"{draft.code}\0{known.code}".encode("utf-8", "replace")
    seed = int.from_bytes(hashlib.sha256(codes).digest()[:4])
    # the programs differ, if anywhere, where only one of them names something
    apart = await anyio.to_thread.run_sync(constants_apart, draft.code, known.code)
    await comparison.compare_on(inputs_for(schema, examples, seed, apart))
    return comparison
