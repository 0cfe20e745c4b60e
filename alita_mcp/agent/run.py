"""State of one run: its limits, observations, steps and costs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from alita_mcp.agent.actions.abilities import Abilities
from alita_mcp.agent.actions.observations import Observations
from alita_mcp.agent.actions.web_access import WebAccess
from alita_mcp.agent.interface import AskPerson, OnEvent
from alita_mcp.agent.memory.store import StoredMemory
from alita_mcp.agent.runs.store import StoredRuns
from alita_mcp.agent.values import EventKind, RunSummary, Step, Stopped, TaskEvent, TaskRequest
from alita_mcp.library.clock import now
from alita_mcp.models.budget import Meter
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.roles import Models
from alita_mcp.research.values import Source

NEARLY_USED = 0.85
"""Share of a limit from which on the model is asked to finish."""


@dataclass(frozen=True)
class RunParts:
    """Dependencies of a run."""

    abilities: Abilities
    models: Models
    """Roles on the run's account."""
    implementer: LanguageModel
    """The role that carries out steps; takes tools whatever its model can."""
    meter: Meter
    runs: StoredRuns
    on_event: OnEvent
    past_runs: Callable[[], Awaitable[Sequence[RunSummary]]]
    """The owner's last runs, the newest first."""
    memory: StoredMemory | None = None
    ask: AskPerson | None = None
    searches: bool = False
    """Whether there is a search back end."""
    builds: bool = True
    """Whether tools may be made."""
    plans: int = 0
    """How many plans are compared; 1: none, the first turn plans alone; 0: plain ReAct."""


class Run:
    """State of a run."""

    def __init__(self, run: str, request: TaskRequest, parts: RunParts) -> None:
        self.id = run
        self.request = request
        self.parts = parts
        self.observations = Observations(request.task)
        self.draft = ""
        """The best answer so far."""
        self.notes: tuple[str, ...] = ()
        """What the model says that a later task on the same files should know."""
        self._taken = 0
        self.access = WebAccess(request.task, request.hosts)
        self.steps: list[Step] = []
        self.sources: dict[str, Source] = {}
        self.tools_made: list[str] = []
        self.tools_used: list[str] = []
        self.started = time.monotonic()
        self._numbers = itertools.count(1)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started

    @property
    def steps_left(self) -> int:
        """Number of steps that may still be taken."""
        return self.request.budget.steps - self._taken

    @property
    def is_near_its_end(self) -> bool:
        """Whether a limit is nearly reached."""
        return self.parts.meter.share_used >= NEARLY_USED or self.steps_left <= max(
            1, self.request.budget.steps // 10
        )

    @property
    def limit_reached(self) -> Stopped:
        """The limit that ends the run; empty where none is reached."""
        reached = self.parts.meter.limit_reached
        if reached:
            return "tokens" if reached == "calls" else reached
        return "steps" if self.steps_left <= 0 else ""

    def reserve_step(self) -> int:
        """Reserves the number of the next step."""
        self._taken += 1
        return self._taken

    async def record_step(self, step: Step) -> None:
        """Records a step that was taken."""
        self.steps.append(step)
        reason = f" ({step.reason})" if step.reason else ""
        mark = "" if step.ok else " failed"
        await self.emit(
            "step",
            f"{step.number}. {step.tool}{mark}{reason}"[:300],
            step.model_dump(mode="json"),
        )

    async def emit(self, kind: EventKind, text: str, data: dict[str, Any] | None = None) -> None:
        """Stores an event and passes it to the listener."""
        event = TaskEvent(
            run=self.id,
            number=next(self._numbers),
            at=now(),
            kind=kind,
            text=text,
            data=data or {},
        )
        await self.parts.runs.append(event)
        await self.parts.on_event(event)

    def record_sources(self, sources: Iterable[Source]) -> None:
        """Records sources that were read."""
        for source in sources:
            self.sources.setdefault(source.url, source)

    def record_use(self, tools: Iterable[str]) -> None:
        """Records tools of the library that were called."""
        self.tools_used += [name for name in dict.fromkeys(tools) if name not in self.tools_used]
