"""An app whose model is scripted behind HTTP, and whose web is a site of ours: tasks in, solutions out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alita_mcp.agent.values import Solution, TaskBudget, TaskEvent, TaskRequest
from alita_mcp.app import App, open_app
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from tests.agent import scripted_solver, talk


@dataclass
class SolverWorld:
    """An opened app, and what its model was asked."""

    app: App
    asked: list[dict[str, Any]] = field(default_factory=list)
    events: list[TaskEvent] = field(default_factory=list)

    async def solve(self, task: str, files: Sequence[Path] = (), **more: Any) -> Solution:
        """One task; `more` are limits of its budget and fields of the request."""
        limits = {name: more.pop(name) for name in ("steps", "tokens", "usd", "seconds") if name in more}
        more.setdefault("plans", 0)
        request = TaskRequest(task=task, files=tuple(files), budget=TaskBudget(**limits), **more)

        async def note(event: TaskEvent) -> None:
            self.events.append(event)

        return await self.app.tasks.solve(request, note)

    @property
    def turns(self) -> int:
        """How often the model was offered tools."""
        return sum("tools" in body for body in self.asked)


@asynccontextmanager
async def opened(
    home: Path, script: talk.Script, *allowed: str, **settings: Any
) -> AsyncIterator[SolverWorld]:
    """The app over a home, in the embedded sandbox, with hosts that a person allowed for the whole machine."""
    asked: list[dict[str, Any]] = []
    with scripted_solver.serving(script, asked) as url:
        own = Settings(
            home=home, sandbox="wasm", model=scripted_solver.MODEL, model_base_url=url,
            web_allow=", ".join(allowed), **settings,
        )  # fmt: skip
        async with open_app(own, admit=admit) as app:
            yield SolverWorld(app, asked)
