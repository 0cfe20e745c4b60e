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
DAYS = _need(
    "number of days between two dates",
    "days_between: the number of days from one ISO date to another.",
    "Spans of days are asked for again and again.",
)
ROMAN = _need(
    "read a Roman numeral as a number",
    "roman_to_integer: the whole number that a Roman numeral writes.",
    "Several pages write numbers so.",
)
CIRCLE = _need(
    "great-circle distance between two positions in kilometres",
    "great_circle_km: the great-circle distance in kilometres of two positions in decimal degrees on a sphere with a "
    "radius of 6371 km.",
    "Each leg needs it, and other tasks will.",
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
    "days_between": Written(
        specification={
            "name": "days_between",
            "description": "The number of days from one ISO date to another.",
            "signature": "def days_between(first: str, last: str) -> int",
            "rules": [
                "Dates are written YYYY-MM-DD; anything else raises ValueError.",
                "The result is negative when `last` lies before `first`.",
            ],
            "use_when": [
                "days between two dates", "how many days from 2021-09-14 to 2023-01-17", "length of a span in days",
                "date difference", "days until a deadline",
            ],
        },
        suites=(
            [
                _case(1, first="2024-02-28", last="2024-02-29"),
                _case(2, first="2024-02-28", last="2024-03-01"),
                _case(0, first="2023-01-01", last="2023-01-01"),
                _case(-365, first="2022-01-01", last="2021-01-01"),
                _refused(first="2023-02-29", last="2023-03-01"),
                _refused(first="1 May 2023", last="2023-03-01"),
            ],
            [
                _case(365, first="2021-01-01", last="2022-01-01"),
                _case(366, first="2020-01-01", last="2021-01-01"),
                _case(31, first="1999-12-01", last="2000-01-01"),
                _case(-1, first="2000-01-01", last="1999-12-31"),
                _refused(first="", last="2023-03-01"),
                _refused(first="2023-13-01", last="2023-03-01"),
            ],
        ),
        code='''import re
from datetime import date


def days_between(first: str, last: str) -> int:
    """The number of days from one ISO date to another.

    Args:
        first: The earlier date, YYYY-MM-DD.
        last: The later one.
    """
    days = []
    for day in (first, last):
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", day):
            raise ValueError("a date is written YYYY-MM-DD")
        days.append(date.fromisoformat(day))
    return (days[1] - days[0]).days
''',
    ),
    "roman_to_integer": Written(
        specification={
            "name": "roman_to_integer",
            "description": "The whole number that a Roman numeral writes, 1 to 3999.",
            "signature": "def roman_to_integer(numeral: str) -> int",
            "rules": [
                "Letter case does not matter; whitespace around the numeral is ignored.",
                "Anything but a numeral in its usual form, as IIII, IC or an empty text, raises ValueError.",
            ],
            "use_when": [
                "roman numeral to number", "what year is MDCCCLXVI", "convert XIV to an integer",
                "read a date carved in roman figures", "value of roman digits",
            ],
        },
        suites=(
            [
                _case(1, numeral="I"), _case(4, numeral="IV"), _case(1866, numeral="MDCCCLXVI"),
                _case(3999, numeral="MMMCMXCIX"), _refused(numeral=""), _refused(numeral="IIII"),
            ],
            [
                _case(49, numeral="xlix"), _case(900, numeral=" CM "), _case(14, numeral="XIV"),
                _refused(numeral="IC"), _refused(numeral="ABC"), _case(2024, numeral="MMXXIV"),
            ],
        ),
        code='''import re

_FORM = re.compile(r"M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
_WORTH = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman_to_integer(numeral: str) -> int:
    """The whole number that a Roman numeral writes, 1 to 3999.

    Args:
        numeral: The numeral, in any letter case.
    """
    text = numeral.strip().upper()
    if not text or not text.isascii() or not _FORM.fullmatch(text):
        raise ValueError("that is no Roman numeral")
    worths = [_WORTH[letter] for letter in text]
    return sum(-a if a < b else a for a, b in zip(worths, [*worths[1:], 0]))
''',
    ),
    "great_circle_km": Written(
        specification={
            "name": "great_circle_km",
            "description": "The great-circle distance in kilometres of two positions on a sphere of 6371 km radius.",
            "signature": "def great_circle_km(latitude: float, longitude: float, to_latitude: float, "
            "to_longitude: float) -> float",
            "rules": [
                "Positions are decimal degrees, north and east positive.",
                "The haversine formula with a radius of 6371 km; the result is rounded to three decimals.",
                "A latitude outside -90 to 90 or a longitude outside -180 to 180 raises ValueError.",
            ],
            "use_when": [
                "distance between two airports", "great circle km", "how far is 57.7, 11.9 from 60.2, 5.2",
                "kilometres between coordinates", "length of a flight over the globe",
            ],
        },
        suites=(
            [
                _case(0.0, latitude=10.0, longitude=20.0, to_latitude=10.0, to_longitude=20.0),
                _case(111.195, latitude=0.0, longitude=0.0, to_latitude=0.0, to_longitude=1.0),
                _case(111.195, latitude=0.0, longitude=0.0, to_latitude=1.0, to_longitude=0.0),
                _case(20015.087, latitude=0.0, longitude=0.0, to_latitude=0.0, to_longitude=180.0),
                _refused(latitude=91.0, longitude=0.0, to_latitude=0.0, to_longitude=0.0),
                _refused(latitude=0.0, longitude=0.0, to_latitude=0.0, to_longitude=-181.0),
            ],
            [
                _case(10007.543, latitude=0.0, longitude=0.0, to_latitude=90.0, to_longitude=0.0),
                _case(10007.543, latitude=-90.0, longitude=0.0, to_latitude=0.0, to_longitude=50.0),
                _case(222.39, latitude=0.0, longitude=-1.0, to_latitude=0.0, to_longitude=1.0),
                _case(20015.087, latitude=90.0, longitude=0.0, to_latitude=-90.0, to_longitude=0.0),
                _refused(latitude=-90.5, longitude=0.0, to_latitude=0.0, to_longitude=0.0),
                _refused(latitude=0.0, longitude=180.5, to_latitude=0.0, to_longitude=0.0),
            ],
        ),
        code='''import math


def great_circle_km(latitude: float, longitude: float, to_latitude: float, to_longitude: float) -> float:
    """The great-circle distance in kilometres of two positions on a sphere of 6371 km radius.

    Args:
        latitude: Of the first position, decimal degrees, north positive.
        longitude: Of the first position, east positive.
        to_latitude: Of the second position.
        to_longitude: Of the second position.
    """
    for north, east in ((latitude, longitude), (to_latitude, to_longitude)):
        if not -90 <= north <= 90 or not -180 <= east <= 180:
            raise ValueError("that is no position in degrees")
    a, b, c, d = map(math.radians, (latitude, longitude, to_latitude, to_longitude))
    half = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return round(2 * 6371 * math.asin(min(1.0, math.sqrt(half))), 3)
''',
    ),
}  # fmt: skip
"""Name of a tool → what is written about it."""
