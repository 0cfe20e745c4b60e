"""Stages of long work: the types of who hears of them, one that ignores them, and work that several wait for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

import anyio

PAUSE_S = 0.5
ReportStage = Callable[[str], Awaitable[None]]
"""Reports the stage that begins, in a few words."""


StageOutcome = Literal["passed", "weak", "failed"]
"""`weak`: it lowers the trust, and rejects nothing."""


def report_end(on_stage: ReportStage, stage: str, outcome: StageOutcome, text: str = "") -> None:
    """Reports how a stage ended and what was found, where `on_stage` has a method `end_stage` that hears it."""
    end_stage = getattr(on_stage, "end_stage", None)
    if end_stage is not None:
        end_stage(stage, outcome, text)


async def ignore_stage(_stage: str) -> None:
    """Ignores the report of a stage."""


class SharedStage:
    """Stage of work that several callers wait for; empty outside of it."""

    def __init__(self) -> None:
        self._stage = ""
        self._changed = anyio.Event()

    async def report(self, stage: str) -> None:
        """Tells all that follow."""
        if stage != self._stage:
            self._stage = stage
            self._changed.set()
            self._changed = anyio.Event()

    async def follow(self, on_stage: ReportStage) -> None:
        """Passes the stages on until cancelled; who waits for less than a pause hears nothing."""
        while True:
            await anyio.sleep(PAUSE_S)
            changed = self._changed
            if self._stage:
                await on_stage(self._stage)
            await changed.wait()
