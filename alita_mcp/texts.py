"""Texts cut to a length, and brought into one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def clipped(text: str, limit: int) -> str:
    """Text cut to `limit` characters, the last of them an ellipsis where it was longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str, limit: int = 300) -> str:
    """Text with single spaces between its words, cut to `limit` characters as `clipped`."""
    return clipped(" ".join(text.split()), limit)


def with_each_text(value: Any, change: Callable[[str], str]) -> Any:
    """JSON value with all of its texts changed, the names in objects among them."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [with_each_text(part, change) for part in value]
    if isinstance(value, dict):
        return {change(name): with_each_text(part, change) for name, part in value.items()}
    return value
