"""A card for people: headed sections in, plain lines or a coloured table for a terminal out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alita_mcp.cli.output import columns, printable, quoted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_STYLES = {"verified": "bold green", "provisional": "bold yellow", "rejected": "bold red"}
_TELLING = {"failed": "red", "soft failure": "yellow"}


@dataclass(frozen=True)
class Section:
    """A heading, and lines or labelled rows under it."""

    heading: str
    lines: tuple[str, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Card:
    """All that is shown of one version."""

    name: str
    trust: str
    state: str
    description: str
    sections: tuple[Section, ...]
    source: str = ""


def plain(card: Card) -> str:
    """The card where no terminal is."""
    lines = [f"{card.name}  {card.trust}, {card.state}", quoted(card.description), ""]
    for section in card.sections:
        rows = [(label, _one_line(said)) for label, said in section.rows]
        body = [*map(_one_line, section.lines), *columns(rows).splitlines()]
        lines += [section.heading, *(f"  {line}" for line in body)]
    return "\n".join([*lines, "", card.source] if card.source else lines)


def draw(card: Card, console: Console) -> None:
    """The card on a terminal; strangers wrote some of it, so that no markup is read and no control passes."""
    from rich.text import Text

    head = Text.assemble(
        (printable(card.name), "bold"), "  ", (card.trust, _STYLES.get(card.trust, "")), f", {card.state}"
    )
    console.print(head, Text(printable(quoted(card.description))), "", sep="\n")
    for section in card.sections:
        console.print(Text(section.heading, "bold"))
        for line in section.lines:
            console.print(Text(f"  {printable(_one_line(line))}"))
        if section.rows:
            console.print(_table(section))
    if card.source:
        console.print(Text(f"\n{printable(card.source)}"))


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _table(section: Section) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for label, said in section.rows:
        found = next((style for word, style in _TELLING.items() if said.startswith(word)), "")
        style = _STYLES.get(said, found)
        table.add_row(Text(f"  {label}", "dim"), Text(printable(_one_line(said)), style))
    return table
