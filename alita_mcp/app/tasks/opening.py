"""Opens all that tasks are worked on with, and closes it with the app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from alita_mcp.agent.interface import Memory
from alita_mcp.agent.runs.store import StoredRuns
from alita_mcp.app.tasks.abilities import Flows
from alita_mcp.app.tasks.runner import TaskParts, TaskRunner
from alita_mcp.models.roles import ModelRoom
from alita_mcp.settings import Settings
from alita_mcp.synthesis.jobs import Jobs

RUNS = "tasks"
"""Folder of the home that holds the runs."""


@asynccontextmanager
async def open_task_runner(
    settings: Settings, flows: Flows, jobs: Jobs, models: ModelRoom, memory: Memory | None = None
) -> AsyncIterator[TaskRunner]:
    """The flow of tasks over the opened parts of an app."""
    room = models if models.is_configured else None
    runs = StoredRuns(settings.home / RUNS)
    yield TaskRunner(TaskParts(settings, flows, jobs, runs, room, memory))
