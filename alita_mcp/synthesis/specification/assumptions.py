"""Assumed rules: those that a planner had to invent, at most five.

The lines are shown to agents and people: each passes what the requests that a tool is found by must pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from alita_mcp.library.words.text import words_of
from alita_mcp.synthesis.specification.aliases import is_plain
from alita_mcp.texts import clipped
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import VerificationReport

MAX_ASSUMED = 5
MAX_LINE = 200
MAX_NAME = 40
MAX_RULE = 500
"""Longest rule of a specification."""
MAX_RULES = 30
MAX_ENTRIES = 50
"""So many that a planner wrote are looked at; of each so many characters."""
MAX_READ = 1_000
NAME_WORDS = 4
"""Of a rule without a name so many words are its name."""
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_TAG = re.compile(r"<(?=[\s/]*[a-z!?])", re.IGNORECASE)


def read_assumed(raw: Any) -> tuple[str, ...]:
    """Reads what a planner wrote as `assumed`, each entry as `name: what holds`."""
    found: dict[str, str] = {}
    for text in _entries(raw):
        name, held = _parted(_one_line(text, MAX_READ))
        name = _free(name, found)
        held = clipped(held, MAX_LINE - MAX_NAME - 2)
        if name and held and held not in found.values() and is_plain(f"{name}: {held}"):
            found[name] = held
        if len(found) == MAX_ASSUMED:
            break
    return tuple(f"{name}: {held}" for name, held in found.items())


def with_assumed(rules: Sequence[str], assumed: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Rules with each assumed line under its name, and the lines that the limit admits."""
    named, kept = list(rules), []
    for line in assumed:
        place = _place(named, line)
        if place is None and len(named) >= MAX_RULES:
            continue
        if place is None:
            named.append(line)
        elif name_of(named[place]) != name_of(line):
            named[place] = clipped(f"{name_of(line)}: {named[place]}", MAX_RULE)
        kept.append(line)
    return tuple(named), tuple(kept)


def assumed_of(report: VerificationReport) -> tuple[str, ...]:
    """The assumed lines of a stored version as an answer lists them; a report from elsewhere is a stranger's word."""
    return read_assumed(report.written_from.assumed) if report.written_from else ()


def name_of(rule: str) -> str:
    """The name before a rule, as names are compared; the whole rule where it has none."""
    return " ".join(rule.partition(":")[0].split()).casefold()


def _entries(raw: Any) -> Iterator[str]:
    """The texts of the entries, in whatever shape a planner gave them."""
    if isinstance(raw, Mapping):
        raw = [raw] if {"name", "rule"} <= raw.keys() else [{name: held} for name, held in raw.items()]
    for each in raw[:MAX_ENTRIES] if isinstance(raw, list | tuple) else ():
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping) and each:
            parts = tuple(each.values()) if "name" in each else next(iter(each.items()))
            if len(parts) == 2 and all(isinstance(part, str) for part in parts):
                yield f"{parts[0][:MAX_NAME]}: {parts[1]}"


def _one_line(text: str, limit: int) -> str:
    """A stranger's words on one line, without hidden characters and without what could open or close a tag."""
    seen = HIDDEN.sub("", text[: limit * 4])
    return clipped(_TAG.sub("\u2039", " ".join(seen.split())), limit)


def _parted(text: str) -> tuple[str, str]:
    """Name and rule; a text without a short name is named after its first words."""
    text = text.lstrip(": ")
    before, colon, held = text.partition(":")
    if not colon or len(before) > MAX_NAME:
        before, held = " ".join(_WORD.findall(text)[:NAME_WORDS]), text
    return " ".join(_WORD.findall(before.lower()))[:MAX_NAME].strip(), held.strip()


def _free(name: str, taken: Mapping[str, str]) -> str:
    """The name, with a number where another rule has it."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name[: MAX_NAME - 3]} {number}", number + 1
    return free


def _place(rules: Sequence[str], line: str) -> int | None:
    """Where the rule stands that an assumed line names or repeats."""
    name, held = name_of(line), line.partition(":")[2].strip().casefold()
    for place, rule in enumerate(rules):
        if name_of(rule) == name or rule.strip().casefold() == held:
            return place
    words = words_of(line)
    return next((place for place, rule in enumerate(rules) if words <= words_of(rule)), None)
