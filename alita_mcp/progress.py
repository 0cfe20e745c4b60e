"""Callback for the stages of long work: its type, and one that ignores them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

ReportStage = Callable[[str], Awaitable[None]]
"""Reports the stage that begins, in a few words."""


async def ignore_stage(_stage: str) -> None:
    """Ignores the report of a stage."""
