"""Versions as text for people: the evidence card, and the whole of a version for comparing two."""

from __future__ import annotations

import json
from collections.abc import Iterator

from alita_mcp.cli.library.card_view import Card, Section
from alita_mcp.cli.output import compact
from alita_mcp.library.grants.effective_grants import how_to_grant, in_words
from alita_mcp.library.rows import CatalogueEntry, Wording
from alita_mcp.library.trust.evidence import evidence_rows
from alita_mcp.values import Grants, Manifest, Schema, StoredVersion


def evidence_card(
    entry: CatalogueEntry,
    stored: StoredVersion,
    sandboxes: tuple[str, ...],
    granted: Grants | None,
    *,
    wordings: tuple[Wording, ...] = (),
    source: bool = False,
) -> Card:
    """What a tool takes, gives and was proved to do; `granted` is what it may do now, None: it waits for a person."""
    manifest = stored.manifest
    state = f"{entry.state}, pinned" if entry.pinned else entry.state
    others = ", ".join(f"v{version}" for version in entry.versions)
    used = f"{entry.calls} calls, {entry.failures} failures, last {entry.last_used or 'never'}; versions {others}"
    packages = f"; packages {', '.join(manifest.packages)}" if manifest.packages else ""
    sections = [
        Section("Takes", tuple(_parameters(manifest.input_schema)) or ("nothing",)),
        Section("Gives", (compact(_given(stored)),)),
        Section("Proved", rows=tuple(evidence_rows(stored.report, sandboxes))),
        Section("Needs", (f"{', '.join(in_words(manifest.grants)) or 'nothing but the sandbox'}{packages}",)),
        *_granted(manifest, granted),
        *_found_by(manifest, wordings),
        Section("Used", (used, f"made {manifest.created_at[:19]}, {manifest.digest}")),
    ]
    tail = [stored.code.rstrip("\n"), "", *(compact(example.as_json()) for example in stored.examples)]
    return Card(
        name=f"{manifest.name} v{manifest.version}",
        trust=manifest.trust,
        state=state,
        description=manifest.description,
        sections=tuple(sections),
        source="\n".join(tail) if source else "",
    )


def _granted(manifest: Manifest, granted: Grants | None) -> list[Section]:
    if manifest.grants.is_pure:
        return []
    if granted is None:
        return [Section("Granted", ("not yet, so it is not callable", how_to_grant(manifest)))]
    return [Section("Granted", in_words(granted))]


def _found_by(manifest: Manifest, wordings: tuple[Wording, ...]) -> list[Section]:
    """The requests that lead to a tool besides its name, description and parameters, told apart by origin."""
    rows = [("its author", text) for text in manifest.use_when]
    rows += [("learned from use" if each.learned else "others' requests", each.text) for each in wordings]
    return [Section("Found by", rows=tuple(rows))] if rows else []


def version_text(stored: StoredVersion) -> str:
    """All of a version that decides what it is, one thing a line, so that two can be compared."""
    manifest = stored.manifest.model_dump(mode="json", exclude={"version", "created_at", "digest"})
    parts = [json.dumps(manifest, ensure_ascii=False, indent=2)]
    parts += [compact(example.as_json()) for example in stored.examples]
    return "\n".join([*parts, stored.lock.text, stored.code])


def _parameters(schema: Schema) -> Iterator[str]:
    required = schema.get("required", [])
    for name, node in schema.get("properties", {}).items():
        kind = _type(node)
        default = f" = {compact(node['default'])}" if "default" in node else ""
        mark = "" if name in required or default else "?"
        said = f"  {node['description']}" if node.get("description") else ""
        yield f"{name}{mark}: {kind}{default}{said}"


def _type(node: Schema) -> str:
    if "enum" in node:
        return " | ".join(compact(choice) for choice in node["enum"])
    kind = str(node.get("type", "any"))
    return f"{kind} of {_type(node['items'])}" if kind == "array" and "items" in node else kind


def _given(stored: StoredVersion) -> Schema:
    schema = stored.manifest.output_schema
    inner: Schema = schema.get("properties", {}).get("result", schema)
    return inner if stored.manifest.wraps_result else schema
