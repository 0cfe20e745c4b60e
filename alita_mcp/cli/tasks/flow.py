"""The flow of tasks as the command line uses it, opened for the length of one command."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from alita_mcp.cli.opened import opened_app
from alita_mcp.progress import ReportStage

if TYPE_CHECKING:
    from alita_mcp.agent.runs.store import StoredRuns
    from alita_mcp.app.task_runner import TaskRunner
    from alita_mcp.settings import Settings


@asynccontextmanager
async def opened_flow(settings: Settings, on_stage: ReportStage) -> AsyncIterator[TaskRunner]:
    """The flow of tasks over the whole application; reports its preparation to `on_stage`."""
    async with opened_app(settings) as app, app.report_preparation(on_stage):
        yield app.tasks


def kept_runs(settings: Settings) -> StoredRuns:
    """The store of runs alone: for commands that work on no task."""
    from alita_mcp.agent.runs.store import RUNS, StoredRuns

    return StoredRuns(settings.home / RUNS)
