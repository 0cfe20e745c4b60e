"""Delimited text to records, by the rules of RFC 4180."""

from __future__ import annotations

_DELIMITERS = (",", ";", "\t", "|")


def csv_to_records(text: str, delimiter: str = "", header: bool = True) -> list[dict[str, str]]:
    """Reads CSV text into one record a row; quotes, line breaks inside cells and a BOM understood.

    Args:
        text: CSV text.
        delimiter: Found when empty.
        header: The first row names the columns; else column_1, column_2…

    Returns:
        The rows in order, each a mapping from column to cell; empty lines are skipped, a column named twice gets
        a number.

    Raises:
        ValueError: A quoted cell is never closed or goes on after its quote, a row has more or fewer cells than
            the first, or the delimiter is no single character.
    """
    if len(delimiter) > 1 or delimiter in ('"', "\n", "\r"):
        raise ValueError("the delimiter must be one character, neither a quote nor a line break")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    rows = _rows(text, delimiter or _guessed(text))
    if not rows:
        return []
    columns = _columns(rows[0]) if header else [f"column_{number + 1}" for number in range(len(rows[0]))]
    records: list[dict[str, str]] = []
    for number, row in enumerate(rows):
        if len(row) != len(columns):
            raise ValueError(f"row {number + 1} has {len(row)} cells, the first has {len(columns)}")
        if number > 0 or not header:
            records.append(dict(zip(columns, row)))
    return records


def _guessed(text: str) -> str:
    counts = {candidate: 0 for candidate in _DELIMITERS}
    quoted = False
    for character in text:
        if character == '"':
            quoted = not quoted
        elif character == "\n" and not quoted:
            break
        elif not quoted and character in counts:
            counts[character] += 1
    best = max(_DELIMITERS, key=lambda candidate: counts[candidate])
    return best if counts[best] else ","


def _rows(text: str, delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    at = 0
    while at < len(text):
        row, at = _row(text, at, delimiter)
        if row != [""]:
            rows.append(row)
    return rows


def _row(text: str, at: int, delimiter: str) -> tuple[list[str], int]:
    row: list[str] = []
    line_end = _found(text, "\n", at, len(text))
    while True:
        if text.startswith('"', at):
            cell, at = _quoted(text, at, delimiter)
            line_end = _found(text, "\n", at, len(text))
        else:
            end = _found(text, delimiter, at, line_end)
            cell, at = text[at:end], end
        row.append(cell)
        at += 1
        if at > line_end:
            return row, at


def _found(text: str, wanted: str, start: int, end: int) -> int:
    place = text.find(wanted, start, end)
    return end if place < 0 else place


def _quoted(text: str, at: int, delimiter: str) -> tuple[str, int]:
    parts: list[str] = []
    start = at + 1
    while True:
        end = text.find('"', start)
        if end < 0:
            raise ValueError("a quoted cell is never closed")
        parts.append(text[start:end])
        if not text.startswith('"', end + 1):
            break
        parts.append('"')
        start = end + 2
    at = end + 1
    if at < len(text) and text[at] not in (delimiter, "\n"):
        raise ValueError(f"{text[at]!r} follows a closing quote")
    return "".join(parts), at


def _columns(names: list[str]) -> list[str]:
    columns: list[str] = []
    for place, name in enumerate(names):
        plain = name.strip() or f"column_{place + 1}"
        unique, number = plain, 2
        while unique in columns:
            unique, number = f"{plain}_{number}", number + 1
        columns.append(unique)
    return columns
