"""Profiles of files by their content: columns with kinds, units and odd values, or how a text begins."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from alita_mcp.texts import clip, one_line
from alita_mcp.values import Value

LARGEST_FILE = 32 << 20
"""A larger file gets no profile."""
MOST_CELLS, MOST_COLUMNS, LONGEST = 50_000, 30, 1_200
"""So many cells of a table are looked at, and so many columns described."""
_MOSTLY = 0.8
"""A column is of a kind if so much of it is; the rest is odd."""
_NUMBER = re.compile(
    r"(?P<before>[^\d\s+-]{1,3}\s?)?[+-]?(?P<digits>\d[\d.,' \u00a0\u202f]{0,30}\d|\d)(?:\s?(?P<after>[^\d\s.,]{1,8}))?"
)
_DECIMAL_COMMA = re.compile(r",\d{1,2}$|,\d{4,}$")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ][\d:.Z+-]*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


class FileProfile(Value):
    """What is known of a file with this content."""

    digest: str
    """SHA-256, in hex; empty for a file that is empty, too large, or cannot be read."""
    name: str
    """What it was called last."""
    profile: str = ""
    notes: tuple[str, ...] = ()
    """What earlier tasks found in it, the newest first."""
    text: str = ""
    """Extracted by a reader; empty for a file that is text itself."""


def plain_text(path: Path, most: int = LARGEST_FILE) -> str:
    """The text of a file that is UTF-8 and has at most so many bytes, else nothing."""
    try:
        return path.read_text(encoding="utf-8-sig") if path.stat().st_size <= most else ""
    except (OSError, UnicodeDecodeError):
        return ""


def profile_file(name: str, path: Path, extracted: str = "") -> FileProfile:
    """The profile of a file by its own text, or else by the text that a reader extracted from it."""
    try:
        data = path.read_bytes() if path.stat().st_size <= LARGEST_FILE else b""
    except OSError:
        data = b""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = ""
    profile = clip(_describe(name, text or extracted), LONGEST) if text or extracted else ""
    digest = hashlib.sha256(data).hexdigest() if data else ""
    return FileProfile(digest=digest, name=name, profile=profile, text="" if text else extracted)


def _describe(name: str, text: str) -> str:
    if name.lower().endswith((".csv", ".tsv")):
        return _describe_table(text)
    lines = text.count("\n") + 1
    return f"{len(text):,} characters, {lines:,} lines, beginning: {one_line(text[:600], 300)}"


def _describe_table(text: str) -> str:
    """The columns of a table whose first row names them."""
    head = text[:4_000].splitlines()[:10]
    delimiter = max(",;\t|", key=lambda sign: min((line.count(sign) for line in head), default=0))
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    most = MOST_CELLS // (1 + min(MOST_COLUMNS, max((line.count(delimiter) for line in head), default=0)))
    try:
        rows = list(islice(lines, most))
    except csv.Error as damaged:
        return f"a table that cannot be read: {damaged}"
    if not rows:
        return "empty"
    header, body = rows[0], [row for row in rows[1:] if row]
    many = f"{len(body):,} rows" if len(rows) < most else f"more than {most:,} rows"
    uneven = sum(len(row) != len(header) for row in body)
    said = [many, f"separated by {delimiter!r}"] + ([f"{uneven:,} rows of another length"] if uneven else [])
    columns = []
    for place, title in enumerate(header[:MOST_COLUMNS]):
        values = [row[place].strip() for row in body if place < len(row)]
        columns.append(f"{one_line(title, 40)} ({_describe_column(values)})")
    more = f", and {len(header) - MOST_COLUMNS} more columns" if len(header) > MOST_COLUMNS else ""
    return f"{', '.join(said)}: {', '.join(columns)}{more}"


def _describe_column(values: Sequence[str]) -> str:
    """The kind of a column's values, their units, and those that do not fit."""
    filled = [value for value in values if value]
    blank = len(values) - len(filled)
    for kind, pattern in (("date", _DATE), ("number", _NUMBER)):
        matches = [match for value in filled if (match := pattern.fullmatch(value))]
        if not matches or len(matches) < _MOSTLY * len(filled):
            continue
        said = [f"{kind}s such as {matches[0][0]}"]
        if kind == "number":
            units = Counter((match["before"] or match["after"] or "").strip() for match in matches)
            said += [f"unit {unit!r} in {count:,}" for unit, count in units.most_common(3) if unit]
            commas = sum(bool(_DECIMAL_COMMA.search(match["digits"])) for match in matches)
            said += [f"decimal commas in {commas:,}"] if commas else []
        odd = Counter(value for value in filled if not pattern.fullmatch(value))
        shown = ", ".join(repr(clip(each, 20)) for each, _ in odd.most_common(3))
        said += [f"{odd.total():,} odd: {shown}"] if odd else []
        break
    else:
        different = Counter(filled)
        shown = ", ".join(repr(clip(value, 20)) for value, _ in different.most_common(5))
        said = [f"{len(different):,} texts: {shown}{', …' if len(different) > 5 else ''}"] if filled else []
    return "; ".join([*said, *([f"{blank:,} blank"] if blank else [])])
