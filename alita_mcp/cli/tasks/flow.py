"""The flow of tasks as the command line uses it, opened for the length of one command."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from alita_mcp.cli.opened import opened_app
from alita_mcp.progress import ReportStage

if TYPE_CHECKING:
    from alita_mcp.agent.interface import AskPerson, OnEvent
    from alita_mcp.agent.runs.store import StoredRuns
    from alita_mcp.agent.values import Estimate, Solution, TaskRequest
    from alita_mcp.models.recording.recorded import Exchanges
    from alita_mcp.settings import Settings

RUNS = "tasks"
"""Folder of the home that holds the runs."""


class TaskFlow(Protocol):
    """What `alita solve` needs of `app.tasks`."""

    @property
    def runs(self) -> StoredRuns:
        """The store of runs."""
        ...

    @property
    def has_model(self) -> bool:
        """Whether there is a model to work with."""
        ...

    async def solve(
        self, request: TaskRequest, on_event: OnEvent, *, ask: AskPerson | None = None
    ) -> Solution:
        """Works on a task; cancelling this call stops the run, which notes how far it came."""
        ...

    async def estimate(self, request: TaskRequest) -> Estimate | None:
        """What the task is likely to take; None where too few runs are known."""
        ...


@asynccontextmanager
async def opened_flow(
    settings: Settings, exchanges: Exchanges | None, on_stage: ReportStage
) -> AsyncIterator[TaskFlow]:
    """The flow of tasks over the whole application; what it prepares is told to `on_stage`."""
    async with opened_app(settings, exchanges=exchanges) as app, app.told_of_preparation(on_stage):
        flow: TaskFlow = attrgetter("tasks")(app)
        yield flow


def kept_runs(settings: Settings) -> StoredRuns:
    """The store of runs alone: for commands that work on no task."""
    from alita_mcp.agent.runs.store import StoredRuns

    return StoredRuns(settings.home / RUNS)
