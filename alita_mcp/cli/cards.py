"""Versions as text for people: the evidence card, and the whole of a version for comparing two."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from alita_mcp.cli.output import compact
from alita_mcp.library.permits import how_to_grant, in_words
from alita_mcp.values import CatalogueEntry, Check, Grants, Manifest, Schema, StoredVersion


def evidence_card(
    entry: CatalogueEntry,
    stored: StoredVersion,
    sandboxes: tuple[str, ...],
    granted: Grants | None,
    *,
    source: bool = False,
) -> str:
    """What a tool takes, gives and was proved to do; `granted` is what it may do now, None: it waits for a person."""
    manifest, report = stored.manifest, stored.report
    state = f"{entry.state}, pinned" if entry.pinned else entry.state
    others = ", ".join(f"v{version}" for version in entry.versions)
    lines = [
        f"{manifest.name} v{manifest.version}  {manifest.trust}, {state}",
        manifest.description,
        "",
        "Takes",
        *(_parameters(manifest.input_schema) or ["  nothing"]),
        "Gives",
        f"  {compact(_given(stored))}",
        "Proved",
        f"  {_summary(stored, sandboxes)}",
        *(f"  {line}" for line in _findings(report.checks)),
        "Needs",
        f"  {', '.join(in_words(manifest.grants)) or 'nothing but the sandbox'}"
        + (f"; packages {', '.join(manifest.packages)}" if manifest.packages else ""),
        *_granted(manifest, granted),
        "Used",
        f"  {entry.calls} calls, {entry.failures} failures, last {entry.last_used or 'never'}; versions {others}",
        f"  made {manifest.created_at[:19]}, {manifest.digest}",
    ]
    if source:
        lines += [
            "",
            stored.code.rstrip("\n"),
            "",
            *(compact(example.as_json()) for example in stored.examples),
        ]
    return "\n".join(lines)


def _granted(manifest: Manifest, granted: Grants | None) -> list[str]:
    if manifest.grants.is_pure:
        return []
    if granted is None:
        return ["Granted", "  not yet, so it is not callable", f"  {how_to_grant(manifest)}"]
    return ["Granted", f"  {', '.join(in_words(granted))}"]


def _summary(stored: StoredVersion, sandboxes: tuple[str, ...]) -> str:
    report = stored.report
    repeated = "deterministic" if stored.manifest.deterministic else "not deterministic"
    where = ", ".join(sandboxes) or "no sandbox yet"
    return f"{report.examples_passed} of {report.examples_total} examples pass; {repeated}; gates passed in {where}"


def version_text(stored: StoredVersion) -> str:
    """All of a version that decides what it is, one thing a line, so that two can be compared."""
    manifest = stored.manifest.model_dump(mode="json", exclude={"version", "created_at", "digest"})
    parts = [json.dumps(manifest, ensure_ascii=False, indent=2)]
    parts += [compact(example.as_json()) for example in stored.examples]
    return "\n".join([*parts, stored.lock.text, stored.code])


def _parameters(schema: Schema) -> list[str]:
    return list(_parameter_lines(schema))


def _parameter_lines(schema: Schema) -> Iterator[str]:
    required = schema.get("required", [])
    for name, node in schema.get("properties", {}).items():
        kind = _type(node)
        default = f" = {compact(node['default'])}" if "default" in node else ""
        mark = "" if name in required or default else "?"
        said = f"  {node['description']}" if node.get("description") else ""
        yield f"  {name}{mark}: {kind}{default}{said}"


def _type(node: Schema) -> str:
    if "enum" in node:
        return " | ".join(compact(choice) for choice in node["enum"])
    kind = str(node.get("type", "any"))
    return f"{kind} of {_type(node['items'])}" if kind == "array" and "items" in node else kind


def _given(stored: StoredVersion) -> Schema:
    schema = stored.manifest.output_schema
    result: Schema = (
        schema.get("properties", {}).get("result", schema) if stored.manifest.wraps_result else schema
    )
    return result


def _findings(checks: tuple[Check, ...]) -> Iterator[str]:
    """One line a stage that passed, one line for each check that did not."""
    for stage, group in groupby(checks, key=lambda check: check.stage):
        found = list(group)
        failed = [check for check in found if not check.passed]
        if not failed:
            yield f"✓ {stage}: {found[0].message if len(found) == 1 else f'{len(found)} checks'}"
        for check in failed:
            yield f"{'✗' if check.hard else '!'} {stage}: {check.message}"
