"""What the server needs of the flow over tasks and of the web agent, and the rules for a client's request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, cast

from alita_mcp.agent.interface import TaskRuns
from alita_mcp.agent.values import TaskBudget
from alita_mcp.errors import ToolNotFound

if TYPE_CHECKING:
    from alita_mcp.agent.interface import AskPerson
    from alita_mcp.agent.values import Solution, TaskRequest
    from alita_mcp.app import App
    from alita_mcp.app.runs.tools import Shown
    from alita_mcp.models.lending import Desk
    from alita_mcp.research.interface import WebAgent
    from alita_mcp.settings import Settings
    from alita_mcp.synthesis.jobs import Job

RunStatus = Literal["running", "finished", "stopped", "died"]
"""`stopped`: by its budget, a person or for want of a model; `died`: its process ended first."""
RUN_ID = re.compile(r"[0-9a-f]{32}")


class RunRow(Protocol):
    """A run in a line; see `agent.runs.values.RunSummary`."""

    @property
    def run(self) -> str: ...  # noqa: D102 - as the class that fills this says
    @property
    def task(self) -> str: ...  # noqa: D102
    @property
    def at(self) -> str: ...  # noqa: D102
    @property
    def status(self) -> RunStatus: ...  # noqa: D102
    @property
    def solved(self) -> bool: ...  # noqa: D102


class ListedRuns(TaskRuns, Protocol):
    """A store of runs that can be listed; see `agent.runs.store.StoredRuns`."""

    async def list(self, limit: int = 20) -> Sequence[RunRow]: ...  # noqa: D102
    async def summary(self, run: str) -> RunRow: ...  # noqa: D102


class TaskFlow(Protocol):
    """The flow over tasks; see `app.tasks.runner.TaskRunner`."""

    @property
    def runs(self) -> ListedRuns: ...  # noqa: D102 - as the class that fills this says
    @property
    def has_model(self) -> bool: ...  # noqa: D102

    def begin(  # noqa: D102
        self,
        request: TaskRequest,
        *,
        client: str = "",
        person: Desk | None = None,
        ask: AskPerson | None = None,
        shown: Shown = ...,
    ) -> Job[Solution]: ...
    def guidance(self, request: TaskRequest) -> Solution: ...  # noqa: D102
    async def stop(self, run: str) -> bool: ...  # noqa: D102


class _WithAgents(Protocol):
    tasks: TaskFlow
    web: WebAgent


def tasks_of(app: App) -> TaskFlow:
    """The flow over tasks of an App."""
    return cast("_WithAgents", app).tasks


def web_of(app: App) -> WebAgent:
    """The web agent of an App."""
    return cast("_WithAgents", app).web


def budget_within(
    settings: Settings,
    *,
    steps: int | None = None,
    tokens: int | None = None,
    usd: float | None = None,
    seconds: float | None = None,
) -> TaskBudget:
    """The budget of a client's task: what it asks for, but never more than the settings allow."""
    return TaskBudget(
        steps=min(steps or settings.task_steps, settings.task_steps),
        tokens=int(_within(tokens, settings.task_tokens)),
        usd=_within(usd, settings.task_usd),
        seconds=_within(seconds, settings.task_seconds),
    )


def _within(asked: float | None, limit: float) -> float:
    """The smaller of the two; a limit of 0 is none."""
    if asked is None:
        return limit
    return min(asked, limit) if limit else asked


def uri_of(run: str) -> str:
    """The resource that holds a run."""
    return f"alita://tasks/{run}"


def checked_id(run: str) -> str:
    """The id of a run, if it can be one.

    Raises:
        ToolNotFound: it is none.
    """
    if RUN_ID.fullmatch(run) is None:
        raise ToolNotFound(f"There is no task {run[:80]!r}.")
    return run
