"""Cutting of texts to a length and to one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def clip(text: str, limit: int) -> str:
    """Text cut to `limit` characters, the last of them an ellipsis where it was longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str, limit: int = 300) -> str:
    """Text with single spaces between its words, cut to `limit` characters by `clip`."""
    return clip(" ".join(text.split()), limit)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with all of its texts changed, names in objects included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)(map_texts(part, change) for part in value)
    if isinstance(value, dict):
        return {change(name): map_texts(part, change) for name, part in value.items()}
    return value
