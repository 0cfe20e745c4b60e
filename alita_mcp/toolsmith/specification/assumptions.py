"""Assumed rules: those that a planner had to invent, at most five.

The lines are shown to agents and people: each passes what the requests that a tool is found by must pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from alita_mcp.library.words.text import words_of
from alita_mcp.texts import clipped
from alita_mcp.toolsmith.specification.aliases import is_plain
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import VerificationReport

MAX_ASSUMED = 5
MAX_LINE = 200
MAX_RULE = 500
"""Longest rule of a specification."""
MAX_RULES = 30
MAX_ENTRIES = 50
"""So many that a planner wrote are looked at; of each so many characters."""
MAX_READ = 1_000
_TAG = re.compile(r"<(?=[\s/]*[a-z!?])", re.IGNORECASE)


def read_assumed(raw: Any) -> tuple[str, ...]:
    """Reads what a planner wrote as `assumed`, each entry as `name: what holds`, without what is no plain line."""
    found: dict[str, None] = {}
    for entry in raw[:MAX_ENTRIES] if isinstance(raw, list | tuple) else ():
        if not isinstance(entry, str):
            continue
        # a stranger's words on one line, without hidden characters and without what could open or close a tag
        words = " ".join(HIDDEN.sub("", entry[:MAX_READ]).split()).strip(": ")
        line = clipped(_TAG.sub("\u2039", words), MAX_LINE)
        if is_plain(line):
            found[line] = None
    return tuple(found)[:MAX_ASSUMED]


def with_assumed(rules: Sequence[str], assumed: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rules with the assumed lines that none of them says, and the lines that the limit admits."""
    missing = [line for line in assumed if not any(words_of(line) <= words_of(rule) for rule in rules)]
    room = max(0, MAX_RULES - len(rules))
    left_out = missing[room:]
    return (*rules, *missing[:room]), tuple(line for line in assumed if line not in left_out)


def assumed_of(report: VerificationReport) -> tuple[str, ...]:
    """The assumed lines of a stored version as an answer lists them; a report from elsewhere is a stranger's word."""
    return read_assumed(report.written_from.assumed) if report.written_from else ()


def name_of(rule: str) -> str:
    """The name before a rule, as names are compared; the whole rule where it has none."""
    return " ".join(rule.partition(":")[0].split()).casefold()
