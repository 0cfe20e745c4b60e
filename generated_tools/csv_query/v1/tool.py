"""Questions to a table: filter, group, sort and cut, with exact decimal arithmetic."""

from __future__ import annotations

import re
from typing import Literal, NotRequired, TypedDict

_DELIMITERS = (",", ";", "\t", "|")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_PLACES = 12


class Condition(TypedDict):
    column: str
    test: Literal["=", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "ends_with", "empty", "not_empty"]
    value: NotRequired[str]


class Aggregate(TypedDict):
    function: Literal["count", "sum", "mean", "median", "min", "max", "distinct"]
    column: NotRequired[str]
    name: NotRequired[str]


class Answer(TypedDict):
    columns: list[str]
    rows: list[dict[str, str]]
    matched: int
    total: int


def csv_query(
    text: str = "",
    rows: list[dict[str, str]] | None = None,
    select: list[str] | None = None,
    where: list[Condition] | None = None,
    group_by: list[str] | None = None,
    aggregates: list[Aggregate] | None = None,
    order_by: list[str] | None = None,
    offset: int = 0,
    limit: int = 1000,
    delimiter: str = "",
) -> Answer:
    """Filters, groups, aggregates, sorts and selects rows of CSV text, like SQL SELECT; decimals exact.

    Cells that read as decimal numbers compare and add up as exact numbers, all others as text (dates such as
    2026-03-01 sort rightly). Empty cells count in no aggregate but `count` without a column, and sort last.

    Args:
        text: CSV with a header row.
        rows: Instead of text.
        select: Columns of the answer.
        where: All must hold.
        group_by: Columns; one row a group.
        aggregates: Of each group or all rows; name is sum_amount etc. by default.
        order_by: Columns; "-amount" sorts downwards.
        offset: Rows to skip.
        limit: Up to 10000.
        delimiter: Found when empty.

    Returns:
        The columns, the rows with all cells as text, how many rows met the conditions, and how many there were.

    Raises:
        ValueError: The CSV is broken, a column is unknown, a number is needed and a cell holds none, or the
            arguments contradict one another.
    """
    if offset < 0 or limit < 0 or limit > 10_000:
        raise ValueError("offset must not be negative and limit must be between 0 and 10,000")
    columns, records = _table(text, rows, delimiter)
    kept = [row for row in records if _meets_all(row, where or [], columns)]
    matched = len(kept)
    if aggregates or group_by:
        columns, kept = _grouped(kept, group_by or [], aggregates or [], columns)
    for key in reversed(order_by or []):
        kept = _sorted(kept, key, columns)
    shown = select if select is not None else columns
    for column in shown:
        _known(column, columns)
    if len(set(shown)) != len(shown):
        raise ValueError("select names a column twice")
    cut = [{column: row[column] for column in shown} for row in kept[offset : offset + limit]]
    return {"columns": list(shown), "rows": cut, "matched": matched, "total": len(records)}


def _table(
    text: str, rows: list[dict[str, str]] | None, delimiter: str
) -> tuple[list[str], list[dict[str, str]]]:
    if rows is not None:
        if text:
            raise ValueError("give text or rows, not both")
        columns: list[str] = []
        for row in rows:
            for column in row:
                if column not in columns:
                    columns.append(column)
        return columns, [{column: row.get(column, "") for column in columns} for row in rows]
    if len(delimiter) > 1 or delimiter in ('"', "\n", "\r"):
        raise ValueError("the delimiter must be one character, neither a quote nor a line break")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    table = _rows(text, delimiter or _guessed(text))
    if not table:
        raise ValueError("there is no table: give text or rows")
    columns = _named(table[0])
    for number, cells in enumerate(table):
        if len(cells) != len(columns):
            raise ValueError(f"row {number + 1} has {len(cells)} cells, the first has {len(columns)}")
    return columns, [dict(zip(columns, cells)) for cells in table[1:]]


def _known(column: str, columns: list[str]) -> str:
    if column not in columns:
        raise ValueError(f"there is no column {column!r}; there are {', '.join(columns[:30])}")
    return column


def _meets_all(row: dict[str, str], conditions: list[Condition], columns: list[str]) -> bool:
    return all(_meets(row[_known(each["column"], columns)], each) for each in conditions)


def _meets(cell: str, condition: Condition) -> bool:
    test = condition["test"]
    if test in ("empty", "not_empty"):
        return (not cell.strip()) == (test == "empty")
    if "value" not in condition:
        raise ValueError(f"the test {test} needs a value")
    value = condition["value"]
    low, part = cell.lower(), value.lower()
    if test == "contains":
        return part in low
    if test == "starts_with":
        return low.startswith(part)
    if test == "ends_with":
        return low.endswith(part)
    order = _compared(cell, value)
    if test == "=":
        return order == 0
    if test == "!=":
        return order != 0
    if not cell.strip():
        return False
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[test]


def _compared(one: str, other: str) -> int:
    left, right = _number(one), _number(other)
    if left is not None and right is not None:
        first, second, _ = _aligned(left, right)
        return (first > second) - (first < second)
    return (one > other) - (one < other)


def _number(cell: str) -> tuple[int, int] | None:
    """A decimal number as an integer and how many of its digits are decimal places."""
    plain = cell.strip()
    if len(plain) > 100 or _NUMBER.fullmatch(plain) is None:
        return None
    whole, _, places = plain.partition(".")
    return int(whole + places), len(places)


def _aligned(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int, int]:
    places = max(left[1], right[1])
    return left[0] * 10 ** (places - left[1]), right[0] * 10 ** (places - right[1]), places


def _grouped(
    rows: list[dict[str, str]], keys: list[str], aggregates: list[Aggregate], columns: list[str]
) -> tuple[list[str], list[dict[str, str]]]:
    for key in keys:
        _known(key, columns)
    names = [_result_name(each) for each in aggregates]
    made = [*keys, *names]
    if len(set(made)) != len(made):
        raise ValueError("two columns of the answer have the same name; give the aggregates names of their own")
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(repr([row[key] for key in keys]), []).append(row)
    if not keys and not groups:
        groups[""] = []
    answer = []
    for group in groups.values():
        line = {key: group[0][key] for key in keys}
        for name, each in zip(names, aggregates):
            line[name] = _aggregate(group, each, columns)
        answer.append(line)
    return made, answer


def _result_name(aggregate: Aggregate) -> str:
    column = aggregate.get("column", "")
    default = f"{aggregate['function']}_{column}" if column else aggregate["function"]
    return aggregate.get("name", "") or default


def _aggregate(rows: list[dict[str, str]], aggregate: Aggregate, columns: list[str]) -> str:
    function, column = aggregate["function"], aggregate.get("column", "")
    if not column:
        if function != "count":
            raise ValueError(f"{function} needs a column")
        return str(len(rows))
    _known(column, columns)
    cells = [row[column] for row in rows if row[column].strip()]
    if function == "count":
        return str(len(cells))
    if function == "distinct":
        return str(len(set(cells)))
    if function in ("min", "max"):
        ordered = sorted(cells, key=_sort_key)
        if not ordered:
            return ""
        return ordered[0] if function == "min" else ordered[-1]
    return _computed(function, column, cells)


def _computed(function: str, column: str, cells: list[str]) -> str:
    numbers = []
    for cell in cells:
        number = _number(cell)
        if number is None:
            raise ValueError(f"{function} needs numbers, and column {column!r} holds {cell[:40]!r}")
        numbers.append(number)
    places = max([each[1] for each in numbers] + [0])
    scaled = sorted(value * 10 ** (places - own) for value, own in numbers)
    if function == "sum":
        return _written(sum(scaled), places)
    if not scaled:
        return ""
    if function == "mean":
        return _divided(sum(scaled), len(scaled), places)
    middle = len(scaled) // 2
    if len(scaled) % 2:
        return _written(scaled[middle], places)
    return _divided(scaled[middle - 1] + scaled[middle], 2, places)


def _divided(total: int, count: int, places: int) -> str:
    """An exact quotient, or one rounded half away from zero to twelve places more than the cells have."""
    scale = 10**_PLACES
    rounded = (2 * abs(total) * scale + count) // (2 * count)
    return _written(rounded if total >= 0 else -rounded, places + _PLACES)


def _written(value: int, places: int) -> str:
    digits = str(abs(value)).zfill(places + 1)
    whole, rest = digits[: len(digits) - places], digits[len(digits) - places :].rstrip("0")
    return ("-" if value < 0 else "") + whole + ("." + rest if rest else "")


def _sort_key(cell: str) -> tuple[int, int, str]:
    """Numbers before text, by value; all are brought to the hundred places that a cell can have."""
    number = _number(cell)
    if number is None:
        return (1, 0, cell)
    value, places = number
    exact = value * 10 ** (100 - places)
    return (0, exact, "")


def _sorted(rows: list[dict[str, str]], key: str, columns: list[str]) -> list[dict[str, str]]:
    downwards = key.startswith("-") and key not in columns
    column = _known(key[1:] if downwards else key, columns)
    filled = [row for row in rows if row[column].strip()]
    empty = [row for row in rows if not row[column].strip()]
    return sorted(filled, key=lambda row: _sort_key(row[column]), reverse=downwards) + empty


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


def _named(names: list[str]) -> list[str]:
    columns: list[str] = []
    for place, name in enumerate(names):
        plain = name.strip() or f"column_{place + 1}"
        unique, number = plain, 2
        while unique in columns:
            unique, number = f"{plain}_{number}", number + 1
        columns.append(unique)
    return columns
