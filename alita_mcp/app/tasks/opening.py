"""Opens the parts that tasks need, and closes them with the app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from alita_mcp.agent.runs.store import StoredRuns
from alita_mcp.app.tasks.abilities import Flows
from alita_mcp.app.tasks.runner import TaskParts, TaskRunner
from alita_mcp.models.embedder_choice import choose_embedder
from alita_mcp.models.embedding.interface import Embedder
from alita_mcp.models.roles import RoleModels
from alita_mcp.research.reading.readers import open_readers
from alita_mcp.settings import Settings
from alita_mcp.synthesis.jobs.jobs import Jobs

RUNS = "tasks"
"""Folder of the home that holds the runs."""


@asynccontextmanager
async def open_task_runner(
    settings: Settings, flows: Flows, jobs: Jobs, models: RoleModels
) -> AsyncIterator[TaskRunner]:
    """The flow of tasks over the opened parts of an app; nothing is read or made before the first task."""
    role_models = models if models.is_configured else None
    runs = StoredRuns(settings.home / RUNS)
    async with AsyncExitStack() as stack:
        flows = replace(flows, readers=await stack.enter_async_context(open_readers()))
        memory = None
        if settings.memory and role_models is not None:
            from alita_mcp.agent.memory.store import open_memory

            opening = open_memory(settings, _embedder(settings), flows.brokers.secret_values)
            memory = await stack.enter_async_context(opening)
        yield TaskRunner(TaskParts(settings, flows, jobs, runs, role_models, memory))


def _embedder(settings: Settings) -> Embedder | None:
    if settings.embedder is None:
        return None
    return choose_embedder(settings.embedder, settings.embedder_base_url)
