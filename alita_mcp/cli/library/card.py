"""The evidence card of a tool: what it takes, gives and was proved to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_mcp.cli.output import columns, compact_json, quote_lines, terminal_columns
from alita_mcp.library.grants.effective_grants import how_to_grant, in_words
from alita_mcp.library.trust.evidence import evidence_rows
from alita_mcp.library.versions.differences import compare_versions
from alita_mcp.unseen import code_rows

if TYPE_CHECKING:
    from alita_mcp.library.rows import CatalogueEntry
    from alita_mcp.values import Grants, Schema, StoredVersion


def evidence_card(
    entry: CatalogueEntry,
    stored: StoredVersion,
    sandboxes: tuple[str, ...],
    granted: Grants | None,
) -> str:
    """The card of one version; `granted` is what it may do now, None where a person has to approve it first."""
    manifest = stored.manifest
    output_schema = manifest.output_schema
    if manifest.wraps_result:
        output_schema = output_schema.get("properties", {}).get("result", output_schema)
    packages = f"; packages {', '.join(manifest.packages)}" if manifest.packages else ""
    versions = "versions " + ", ".join(f"v{version}" for version in entry.versions)
    sections: dict[str, list[tuple[str, ...]]] = {
        "Takes": describe_parameters(manifest.input_schema) or [("nothing",)],
        "Gives": [(compact_json(output_schema),)],
        "Proved": [*evidence_rows(stored.report, sandboxes)],
        "Needs": [(f"{', '.join(in_words(manifest.grants)) or 'nothing but the sandbox'}{packages}",)],
        "Granted": [(right,) for right in in_words(granted)] if granted is not None else [
            ("not yet, so it is not callable",), (how_to_grant(manifest),)
        ],
        "Found by": [(text,) for text in manifest.use_when],
        "Used": [
            (f"{entry.calls} calls, {entry.failures} failures, last {entry.last_used or 'never'}; {versions}",),
            (f"made {manifest.created_at[:19]}, {manifest.digest}",),
        ],
    }  # fmt: skip
    if manifest.grants.is_pure:
        del sections["Granted"]
    state = f"{entry.state}, pinned" if entry.pinned else entry.state
    lines = [f"{manifest.name} v{manifest.version}  {manifest.trust}, {state}"]
    lines += [quote_lines(manifest.description), ""]
    for heading, rows in sections.items():
        # Strangers wrote some of the cells: none may begin a line of its own.
        body = columns([[" ".join(cell.splitlines()) for cell in row] for row in rows])
        lines += [heading, *(f"  {line}" for line in body.splitlines())] if rows else []
    return "\n".join(lines)


def difference_rows(old: StoredVersion | None, new: StoredVersion, was: str, now: str) -> list[str]:
    """How two versions differ, as rows that fit the terminal; one that goes on with the line above begins with `↪`."""
    columns_of_row = terminal_columns() - 1
    rows = []
    for line in compare_versions(old, new, was, now):
        first, *others = code_rows(line[1:], columns_of_row)
        rows += [line[0] + first, *(f"↪{row}" for row in others)]
    return rows


def describe_parameters(schema: Schema) -> list[tuple[str, ...]]:
    """A line for each parameter of a tool, as in `times: integer = 1  How often`."""
    required = schema.get("required", [])
    lines: list[tuple[str, ...]] = []
    for name, node in schema.get("properties", {}).items():
        default = f" = {compact_json(node['default'])}" if "default" in node else ""
        mark = "" if name in required or default else "?"
        description = f"  {node['description']}" if node.get("description") else ""
        lines.append((f"{name}{mark}: {type_name(node)}{default}{description}",))
    return lines


def type_name(node: Schema) -> str:
    """A schema in a word or a few, as in `array of integer`."""
    if "enum" in node:
        return " | ".join(compact_json(choice) for choice in node["enum"])
    kind = str(node.get("type", "any"))
    return f"{kind} of {type_name(node['items'])}" if kind == "array" and "items" in node else kind
