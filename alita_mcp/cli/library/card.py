"""The evidence card of a tool: what it takes, gives and was proved to do, as plain lines or a coloured table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from alita_mcp.cli.output import columns, compact_json, printable, quote_lines
from alita_mcp.library.grants.effective_grants import how_to_grant, in_words
from alita_mcp.library.trust.evidence import evidence_rows

if TYPE_CHECKING:
    from rich.console import Console

    from alita_mcp.library.rows import CatalogueEntry, Wording
    from alita_mcp.values import Grants, Schema, StoredVersion

_STYLES = {
    "verified": "bold green", "provisional": "bold yellow", "rejected": "bold red",
    "failed": "red", "soft failure": "yellow",
}  # fmt: skip
"""What a value begins with → how it is coloured."""


class Section(NamedTuple):
    """A heading, and lines or labelled rows under it."""

    heading: str
    lines: tuple[str, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()


class Card(NamedTuple):
    """All that is shown of one version."""

    name: str
    trust: str
    state: str
    description: str
    sections: tuple[Section, ...]
    source: str = ""

    def as_text(self) -> str:
        """The card where no terminal is."""
        lines = [f"{self.name}  {self.trust}, {self.state}", quote_lines(self.description), ""]
        for section in self.sections:
            rows = [(label, join_lines(value)) for label, value in section.rows]
            body = [*map(join_lines, section.lines), *columns(rows).splitlines()]
            lines += [section.heading, *(f"  {line}" for line in body)]
        return "\n".join([*lines, "", self.source] if self.source else lines)

    def draw(self, console: Console) -> None:
        """Prints the card on a terminal; strangers wrote some of it, so no markup is read and no control passes."""
        from rich.table import Table
        from rich.text import Text

        trust = Text(self.trust, style_of(self.trust))
        console.print(Text.assemble((printable(self.name), "bold"), "  ", trust, f", {self.state}"))
        console.print(Text(printable(quote_lines(self.description))), "", sep="\n")
        for section in self.sections:
            console.print(Text(section.heading, "bold"))
            for line in section.lines:
                console.print(Text(f"  {printable(join_lines(line))}"))
            table = Table.grid(padding=(0, 2))
            for label, value in section.rows:
                table.add_row(Text(f"  {label}", "dim"), Text(printable(join_lines(value)), style_of(value)))
            if section.rows:
                console.print(table)
        if self.source:
            console.print(Text(f"\n{printable(self.source)}"))


def style_of(value: str) -> str:
    """The colour of a value; empty for most."""
    return next((style for begin, style in _STYLES.items() if value.startswith(begin)), "")


def join_lines(text: str) -> str:
    """The text as one line."""
    return " ".join(text.splitlines())


def evidence_card(
    entry: CatalogueEntry,
    stored: StoredVersion,
    sandboxes: tuple[str, ...],
    granted: Grants | None,
    *,
    wordings: tuple[Wording, ...] = (),
    source: bool = False,
) -> Card:
    """The card of one version; `granted` is what it may do now, None where a person has to approve it first."""
    manifest = stored.manifest
    output_schema = manifest.output_schema
    if manifest.wraps_result:
        output_schema = output_schema.get("properties", {}).get("result", output_schema)
    packages = f"; packages {', '.join(manifest.packages)}" if manifest.packages else ""
    sections = [
        Section("Takes", tuple(describe_parameters(manifest.input_schema)) or ("nothing",)),
        Section("Gives", (compact_json(output_schema),)),
        Section("Proved", rows=tuple(evidence_rows(stored.report, sandboxes))),
        Section("Needs", (f"{', '.join(in_words(manifest.grants)) or 'nothing but the sandbox'}{packages}",)),
    ]
    if not manifest.grants.is_pure and granted is None:
        sections.append(Section("Granted", ("not yet, so it is not callable", how_to_grant(manifest))))
    elif not manifest.grants.is_pure and granted is not None:
        sections.append(Section("Granted", in_words(granted)))
    found_by = [("its author", text) for text in manifest.use_when]
    found_by += [("learned from use" if each.learned else "others' requests", each.text) for each in wordings]
    if found_by:
        sections.append(Section("Found by", rows=tuple(found_by)))
    versions = ", ".join(f"v{version}" for version in entry.versions)
    used = f"{entry.calls} calls, {entry.failures} failures, last {entry.last_used or 'never'}; versions {versions}"
    sections.append(Section("Used", (used, f"made {manifest.created_at[:19]}, {manifest.digest}")))
    tail = [stored.code.rstrip("\n"), "", *(compact_json(example.as_json()) for example in stored.examples)]
    return Card(
        name=f"{manifest.name} v{manifest.version}",
        trust=manifest.trust,
        state=f"{entry.state}, pinned" if entry.pinned else entry.state,
        description=manifest.description,
        sections=tuple(sections),
        source="\n".join(tail) if source else "",
    )


def version_text(stored: StoredVersion) -> str:
    """All of a version that decides what it is, one thing a line, so that two versions can be compared."""
    manifest = stored.manifest.model_dump(mode="json", exclude={"version", "created_at", "digest"})
    parts = [json.dumps(manifest, ensure_ascii=False, indent=2)]
    parts += [compact_json(example.as_json()) for example in stored.examples]
    return "\n".join([*parts, stored.lock.text, stored.code])


def describe_parameters(schema: Schema) -> Iterator[str]:
    """A line for each parameter of a tool, as in `times: integer = 1  How often`."""
    required = schema.get("required", [])
    for name, node in schema.get("properties", {}).items():
        default = f" = {compact_json(node['default'])}" if "default" in node else ""
        mark = "" if name in required or default else "?"
        description = f"  {node['description']}" if node.get("description") else ""
        yield f"{name}{mark}: {type_name(node)}{default}{description}"


def type_name(node: Schema) -> str:
    """A schema in a word or a few, as in `array of integer`."""
    if "enum" in node:
        return " | ".join(compact_json(choice) for choice in node["enum"])
    kind = str(node.get("type", "any"))
    return f"{kind} of {type_name(node['items'])}" if kind == "array" and "items" in node else kind
