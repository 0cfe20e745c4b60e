"""How far the words of others count for a tool, and how far its use: never enough to drown what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.words.text import Document, compose

LEAST_LEARNED = 30
"""So many words of others count even for a tool that says little of itself."""
FORGOTTEN_DAYS = 30.0
"""A tool last used this long before another one is out of use beside it."""


def document_of(manifest: Mapping[str, Any], wordings: Sequence[str]) -> Document:
    """What a tool is found by: its author's words in its manifest, and those of others whose need it served."""
    parameters = [
        (name, str(schema.get("description", "")))
        for name, schema in manifest["input_schema"].get("properties", {}).items()
    ]
    name, description, requests = manifest["name"], manifest["description"], manifest.get("use_when", ())
    own = compose(name, description, parameters, requests=requests)
    if not wordings:
        return own
    every = tuple(dict.fromkeys((*requests, *counted_wordings(own, wordings))))
    return compose(name, description, parameters, requests=every)


def counted_wordings(own: Document, wordings: Sequence[str]) -> list[str]:
    """The newest words of others, at most as many words as its author's own."""
    left = max(LEAST_LEARNED, len(own.text.split()))
    counted: list[str] = []
    for text in reversed(wordings):
        left -= len(text.split())
        if left < 0:
            break
        counted.append(text)
    return counted[::-1]


def drawback(entry: CatalogueEntry, newest: str) -> float:
    """From 0 to 1: what speaks against a tool among equally likely ones.

    `newest` is when one of those was last used. Trust says more than any use; a few failures say little.
    """
    if entry.manifest.trust != "verified":
        return 1.0
    failed = entry.failures / (entry.calls + 5)
    return min(0.9, 0.8 * failed + 0.1 * _out_of_use(entry.last_used or "", newest))


def _out_of_use(last: str, newest: str) -> float:
    """From 0 (as lately as any) to 1 (long before, or never)."""
    if not newest or last >= newest:
        return 0.0
    try:
        behind = datetime.fromisoformat(newest) - datetime.fromisoformat(last)
    except (ValueError, TypeError):
        return 1.0
    return min(behind.total_seconds() / 86_400 / FORGOTTEN_DAYS, 1.0)
