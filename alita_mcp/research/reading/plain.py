"""Conversion of JSON, CSV and plain text to readable text."""

from __future__ import annotations

import json

_PRETTY_BELOW = 2_000_000


def json_text(text: str) -> str:
    """JSON in indented lines; invalid, very deep or very large JSON stays as it is."""
    if len(text) > _PRETTY_BELOW:
        return text
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def plain_text(text: str) -> str:
    """Text, code and separated values with uniform line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
