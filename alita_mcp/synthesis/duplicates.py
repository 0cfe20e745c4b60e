"""Does a tool do this already? Same behaviour on the same examples, both ways; text never decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alita_mcp.errors import AlitaError, SandboxError
from alita_mcp.library.library import Library
from alita_mcp.sandbox.seam import Job, Sandbox
from alita_mcp.synthesis.outcomes import Exists
from alita_mcp.values import Draft, Example, Schema, StoredVersion, ToolContract
from alita_mcp.verification.compare import same_result

MIN_EXAMPLES = 2
"""One example alone fits too many tools: `double(2)` and `square(2)` agree."""


async def find_same_behaviour(
    draft: Draft, contract: ToolContract, names: Sequence[str], library: Library, sandbox: Sandbox
) -> Exists | None:
    """The first of the tools called `names` that behaves as the draft on the examples of both."""
    if len(_with_results(draft.examples)) < MIN_EXAMPLES or draft.packages or not draft.grants.is_pure:
        return None
    for name in names:
        try:
            known = await library.read(name)
        except AlitaError:
            continue
        renamed = _parameter_map(contract.input_schema, known.manifest.input_schema)
        if renamed is None or known.manifest.packages or not known.manifest.grants.is_pure:
            continue
        try:
            inputs = await _agree_both_ways(draft, known, renamed, sandbox)
        except SandboxError:
            continue
        if inputs:
            why = f"same results on {inputs} inputs"
            return Exists(tool=name, version=known.manifest.version, why=why)
    return None


async def find_serving(
    examples: Sequence[Example], names: Sequence[str], library: Library, sandbox: Sandbox
) -> Exists | None:
    """The first of the tools called `names` that does what the examples say; too few of them say nothing."""
    wanted = _with_results(examples)
    if len(wanted) < MIN_EXAMPLES or len(wanted) < len(examples):
        return None
    for name in names:
        try:
            known = await library.read(name)
            job = Job(
                code=known.code, function=known.manifest.name, arguments={}, limits=known.manifest.limits
            )
            same = {each: each for each in known.manifest.input_schema.get("properties", {})}
            pure = known.manifest.grants.is_pure and not known.manifest.packages
            if pure and await _all_hold(job, wanted, same, sandbox):
                why = f"it does what your {len(wanted)} examples say"
                return Exists(tool=name, version=known.manifest.version, why=why)
        except AlitaError:
            continue
    return None


def _with_results(examples: Sequence[Example]) -> list[Example]:
    return [example for example in examples if "expected" in example.outcome_fields]


def _parameter_map(new: Schema, known: Schema) -> dict[str, str] | None:
    """New parameter names to known ones where the types agree: by name, else by place; else None."""
    new_types, known_types = _types(new), _types(known)
    if new_types == known_types:
        return {name: name for name in new_types}
    if list(new_types.values()) == list(known_types.values()):
        return dict(zip(new_types, known_types, strict=True))
    return None


def _types(schema: Schema) -> dict[str, str]:
    numbers = {"integer": "number"}
    return {
        name: numbers.get(str(node.get("type")), str(node.get("type")))
        for name, node in schema.get("properties", {}).items()
    }


async def _agree_both_ways(
    draft: Draft, known: StoredVersion, renamed: Mapping[str, str], sandbox: Sandbox
) -> int:
    """How many inputs were compared; 0 when one differs."""
    mine, theirs = _with_results(draft.examples), _with_results(known.examples)
    back = {there: here for here, there in renamed.items()}
    known_job = Job(code=known.code, function=known.manifest.name, arguments={}, limits=known.manifest.limits)
    draft_job = Job(code=draft.code, function=draft.name, arguments={}, limits=draft.limits)
    if await _all_hold(known_job, mine, renamed, sandbox) and await _all_hold(
        draft_job, theirs, back, sandbox
    ):
        return len({repr(example.arguments) for example in (*mine, *theirs)})
    return 0


async def _all_hold(
    job: Job, examples: Sequence[Example], renamed: Mapping[str, str], sandbox: Sandbox
) -> bool:
    for example in examples:
        if not example.arguments.keys() <= renamed.keys():
            return False
        arguments: dict[str, Any] = {renamed[key]: value for key, value in example.arguments.items()}
        result = await sandbox.run(job.model_copy(update={"arguments": arguments}))
        if not result.ok or not same_result(example.expected, result.value, example.exact):
            return False
    return True
