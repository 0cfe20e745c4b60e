"""Texts cut to a length, and brought into one line."""

from __future__ import annotations


def clipped(text: str, limit: int) -> str:
    """Text cut to `limit` characters, the last of them an ellipsis where it was longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str, limit: int = 300) -> str:
    """Text with single spaces between its words, cut to `limit` characters as `clipped`."""
    return clipped(" ".join(text.split()), limit)
