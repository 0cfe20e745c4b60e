"""Callback that long work reports its stages to: its type, and one that drops them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

ReportStage = Callable[[str], Awaitable[None]]
"""Reports the stage that begins, in a few words."""


async def silent(_stage: str) -> None:
    """Drops the report of a stage."""
