"""Type of the callback that long work reports its stages to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

ReportStage = Callable[[str], Awaitable[None]]
"""Reports the stage that begins, in a few words."""
