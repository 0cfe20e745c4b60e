"""Tools that the scripted model has built: its requests, and its replies to the toolsmith."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any

_RESULT = re.compile(r'"result": *("(?:[^"\\]|\\.)*"|-?[\d.eE+]+|true|false)')
_BARE = re.compile(r'>\s*("(?:[^"\\]|\\.)*"|-?[\d.eE+]+)\s*<')


def result_in(observation: str) -> str:
    """The result that a tool gave, a number or a text; empty where it gave none."""
    if "<observation failed>" in observation:
        return ""
    text = html.unescape(observation)
    found = _RESULT.search(text) or _BARE.search(text)
    if found is not None:
        return found[1].strip('"')
    plain = re.search(r">\n(.*?)\n<", text, re.DOTALL)
    return plain[1].strip() if plain else ""


@dataclass(frozen=True)
class Written:
    """Texts that the model writes about one tool."""

    specification: dict[str, Any]
    suites: tuple[list[dict[str, Any]], ...]
    code: str


def _need(need: str, description: str, reason: str) -> dict[str, Any]:
    return {"need": need, "request": {"description": description, "reason": reason}}


_SHOP = "kind,n,state\nrope,3,ok\nsail,5,ok\nrope,4,ok\nsail,9,bad\n"
_SEMI = "a;b;c\nx;1;k\ny;2;k\nx;5;z\n"


def _case(expected: Any, **arguments: Any) -> dict[str, Any]:
    return {"arguments": arguments, "expected": expected}


def _refused(**arguments: Any) -> dict[str, Any]:
    return {"arguments": arguments, "raises": "ValueError"}


def _grouped(text: str, **more: str) -> dict[str, Any]:
    return {"text": text, "group": "kind", "value": "n", "where": "state", "equals": "ok", **more}


TOP_GROUP = _need(
    "group rows of a CSV text, sum a column, and name the group with the largest sum",
    "top_group_by_sum: names the group with the largest sum of a whole-number column of a CSV text, counting only "
    "rows in which another column has a given value.",
    "Two tables of this task's kind ask for it, and others will.",
)
WRITTEN: dict[str, Written] = {
    "top_group_by_sum": Written(
        specification={
            "name": "top_group_by_sum",
            "description": "Names the group with the largest sum of a whole-number column of a CSV text.",
            "signature": "def top_group_by_sum(text: str, group: str, value: str, where: str, equals: str, "
            "delimiter: str = ',') -> str",
            "rules": [
                "Only rows whose column `where` equals `equals` exactly are counted.",
                "Of groups with the same sum the first in alphabetical order is named.",
                "Raises ValueError when no row is counted or a named column is missing.",
                "Raises ValueError when a value to be summed is no whole number, or the delimiter not one character.",
            ],
            "use_when": [
                "which product sold most", "largest total by category in a CSV",
                "sum a column by group and name the top",
                "which department has the most hours among part-time rows", "top group of filtered table rows",
            ],
        },
        suites=(
            [
                _case("rope", **_grouped(_SHOP)),
                _case("sail", **_grouped(_SHOP, equals="bad")),
                _case("x", text=_SEMI, group="a", value="b", where="c", equals="z", delimiter=";"),
                _case("y", text=_SEMI, group="a", value="b", where="c", equals="k", delimiter=";"),
                _refused(**_grouped(_SHOP, equals="none")),
                _refused(**_grouped(_SHOP, group="colour")),
            ],
            [
                _case("a", **_grouped("kind,n,state\nb,2,ok\na,2,ok\n")),
                _case("b", **_grouped("kind,n,state\nb,2,ok\na,-2,ok\n")),
                _case("q", **_grouped('kind,n,state\n"q",12,ok\nr,11,ok\n')),
                _refused(**_grouped("kind,n,state\nb,two,ok\n")),
                _refused(**_grouped("")),
                _case("c", **_grouped("n,state,kind\n7,ok,c\n1,ok,d\n")),
            ],
        ),
        code='''import csv
import io


def top_group_by_sum(text: str, group: str, value: str, where: str, equals: str, delimiter: str = ',') -> str:
    """Names the group with the largest sum of a whole-number column of a CSV text.

    Args:
        text: The CSV text with a line of column names.
        group: Column that names the groups.
        value: Column that is summed.
        where: Column that decides which rows count.
        equals: Its value in rows that count.
        delimiter: One character between the cells.
    """
    if len(delimiter) != 1 or delimiter in '\\r\\n"':
        raise ValueError("the delimiter is one character")
    reader = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    missing = {group, value, where} - set(reader.fieldnames or ())
    if missing:
        raise ValueError(f"there is no column {sorted(missing)}")
    sums: dict[str, int] = {}
    for row in reader:
        if row[where] == equals:
            sums[row[group] or ""] = sums.get(row[group] or "", 0) + int(row[value] or "none")
    if not sums:
        raise ValueError("no row is counted")
    return min(sums, key=lambda name: (-sums[name], name))
''',
    ),
}  # fmt: skip
"""Name of a tool → what is written about it."""
