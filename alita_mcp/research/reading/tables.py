"""Conversion of a page's tables to rows of `|`, with spanning cells repeated."""

from __future__ import annotations

from itertools import islice
from typing import Any

MOST_CELLS = 1_000_000
MOST_COLUMNS = 200
MAX_CELL = 2_000
MAX_SPAN = 200
_BLOCKS = (
    "table",
    "form",
    "article",
    "section",
    "nav",
    "header",
    "footer",
    "main",
    "aside",
    "h1",
    "h2",
    "textarea",
)
"""What no cell of data holds."""
_BREAKS = ("br", "p", "div", "li", "img", "ul", "ol")


def holds_data(table: Any) -> bool:
    """Whether a table holds data, and is not used for layout."""
    if (table.get("role") or "").lower() in ("presentation", "none"):
        return False
    if next(table.iterdescendants(*_BLOCKS), None) is not None:
        return False
    rows = [_cells(row) for row in islice(table.iter("tr"), 50)]
    filled = [cells for cells in rows if any(_words(cell) for cell in cells)]
    if not filled:
        return False
    if next(table.iterdescendants("th", "caption"), None) is not None:
        return True
    wide = [cells for cells in filled if len(cells) > 1]
    longest = max((len(_words(cell)) for cells in filled for cell in cells), default=0)
    return len(wide) >= 2 and longest <= MAX_CELL // 2


def table_text(table: Any) -> str:
    """The table as Markdown rows, its caption before them."""
    _part_words(table)
    rows, left = _grid(table)
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    caption = next((_words(found) for found in table.iter("caption")), "")
    lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in rows]
    if left:
        lines.append(f"({left:,} more rows are not shown)")
    rule = "|" + " --- |" * width
    return "\n".join([*([caption, ""] if caption else []), lines[0], rule, *lines[1:]])


def _grid(table: Any) -> tuple[list[list[str]], int]:
    """The rows with their spans filled, and how many were too many."""
    reaching: dict[int, tuple[int, str]] = {}
    """Cells of rows above: by column, for how many more rows, and their words."""
    grid: list[list[str]] = []
    count, rows = 0, _rows(table)
    for place, row in enumerate(rows):
        if count > MOST_CELLS:
            return grid, len(rows) - place
        cells = _row_cells(row, reaching)
        count += len(cells)
        if any(cells):
            grid.append(cells)
    return grid, 0


def _row_cells(row: Any, reaching: dict[int, tuple[int, str]]) -> list[str]:
    cells: list[str] = []
    for cell in _cells(row):
        _fill(cells, reaching)
        words, rows = _words(cell), _span(cell, "rowspan")
        for _column in range(min(_span(cell, "colspan"), MOST_COLUMNS - len(cells))):
            if rows > 1:
                reaching[len(cells)] = (rows - 1, words)
            cells.append(words)
    _fill(cells, reaching)
    return cells


def _fill(cells: list[str], reaching: dict[int, tuple[int, str]]) -> None:
    """Adds the cells of rows above that reach into the next columns."""
    while (found := reaching.get(len(cells))) is not None:
        left, words = found
        if left > 1:
            reaching[len(cells)] = (left - 1, words)
        else:
            del reaching[len(cells)]
        cells.append(words)


def _rows(table: Any) -> list[Any]:
    """The rows, those of the head first and those of the foot last, wherever they are written."""
    places = {"thead": 0, "tfoot": 2}
    parents = [(row.getparent(), row) for row in table.iter("tr")]
    ordered = sorted(parents, key=lambda pair: 1 if pair[0] is None else places.get(pair[0].tag, 1))
    return [row for _, row in ordered]


def _cells(row: Any) -> list[Any]:
    return [cell for cell in row if cell.tag in ("td", "th")]


def _span(cell: Any, name: str) -> int:
    said = (cell.get(name) or "").strip()
    return min(max(int(said), 1), MAX_SPAN) if said.isascii() and said.isdigit() and len(said) < 6 else 1


def _words(cell: Any) -> str:
    """The words of a cell in one line."""
    return " ".join("".join(cell.itertext()).split()).replace("|", "\\|")[:MAX_CELL]


def _part_words(table: Any) -> None:
    """Puts spaces where lines and blocks end, and the words of pictures into the text."""
    for element in table.iter(*_BREAKS):
        shown = f" {element.get('alt') or ''} " if element.tag == "img" else " "
        element.tail = f"{shown}{element.tail or ''}"
        element.text = f" {element.text}" if element.text else None
