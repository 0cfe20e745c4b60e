"""Documents that search finds tools by: the text of a manifest, and wordings of others up to a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alita_mcp.library.words.text import Document, compose

LEAST_LEARNED = 30
"""So many words of others count even for a tool that says little of itself."""


def document_of(manifest: Mapping[str, Any], wordings: Sequence[str]) -> Document:
    """Document of a tool: its author's words in its manifest, and wordings of others whose need it served."""
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
