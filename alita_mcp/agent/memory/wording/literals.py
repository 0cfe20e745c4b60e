# ruff: noqa: E501 - tables of patterns read best a line each
"""Finder of literals in a task: files, addresses, dates, numbers, quotations and names."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["file", "url", "date", "year", "number", "quote", "name"]
READ_CHARACTERS = 20_000
SMALL_WORDS = frozenset(
    ("a", "i", "an", "the", "of", "in", "is", "to", "and", "or", "for", "on", "by", "at", "it", "as")
)

_ENDINGS = (
    "csv|tsv|txt|md|json|jsonl|ndjson|xml|html?|ya?ml|toml|ini|log|sql|sqlite3?|db|parquet|feather|xlsx?|ods|docx?|odt|"
    "pptx?|pdf|rtf|epub|zip|tar|gz|tgz|bz2|xz|7z|png|jpe?g|gif|bmp|webp|svg|tiff?|mp3|wav|flac|ogg|m4a|mp4|mkv|avi|mov|"
    "webm|py|ipynb|js|ts|java|c|cpp|h|rs|go|rb|sh|r|geojson|gpx|kml|ics|eml|vcf|bib|tex|srt"
)
FILE = re.compile(rf"(?<![\w/.~-])[\w./~-]{{0,200}}?[\w-]\.(?:{_ENDINGS})(?![\w/])", re.IGNORECASE)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("url", re.compile(r"https?://[^\s<>\"'`)\]}]{1,2000}", re.IGNORECASE)),
    ("quote", re.compile(r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|«([^»\n]{1,200})»|`([^`\n]{1,200})`")),
    ("quote", re.compile(r"(?<!\w)['\u2018]([^'\u2019\n]{1,200})['\u2019](?!\w)")),
    ("file", FILE),
    ("date", re.compile(r"(?<![\w.-])\d{4}-\d{2}(?:-\d{2})?(?![\w-])|(?<![\w.])\d{1,2}[./]\d{1,2}[./]\d{2,4}(?!\w)")),
    (
        "date",
        re.compile(
            rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? )?{_MONTH} (?:\d{{1,2}}(?:st|nd|rd|th)?,? )?\d{{4}}\b"
            rf"|\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}(?!\w)",
            re.IGNORECASE,
        ),
    ),
    ("year", re.compile(r"(?<![\w.,-])(?:1[5-9]|20)\d{2}(?![\w%]|[.,]\d)")),
    ("number", re.compile(r"(?<![\w.,])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|(?<![\w.,])-?\d{1,30}(?:\.\d{1,30})?(?!\w|\.\d)")),
    ("name", re.compile(r"(?<=[a-z,;:] )[A-Z][\w'\u2019-]{1,40}(?: (?:(?:of|de|van|von|the|del|la) )?[A-Z][\w'\u2019-]{1,40}){0,4}")),
)  # fmt: skip


class Found(NamedTuple):
    """A literal and its position."""

    kind: Kind
    text: str
    """Without quotation marks."""
    start: int
    end: int
    """Of the text, marks left out."""


def literals(text: str) -> list[Found]:
    """All literals in the order of the text, without overlaps."""
    text = text[:READ_CHARACTERS]
    taken: list[Found] = []
    free = bytearray(len(text))
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            group = match.lastindex or 0
            start, end = match.span(group)
            said = match[group]
            if kind == "url":
                said = said.rstrip(".,;:!?")
                end = start + len(said)
            if not said.strip() or any(free[start:end]):
                continue
            free[start:end] = b"\x01" * (end - start)
            kept = kind
            if kind == "quote":  # a file or an address in quotation marks is one
                is_url = re.fullmatch(r"https?://\S+", said, re.IGNORECASE)
                kept = "file" if FILE.fullmatch(said) else "url" if is_url else "quote"
            taken.append(Found(kept, said, start, end))
    return sorted(taken, key=lambda each: each.start)
