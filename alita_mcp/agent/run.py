"""State of one run, shared by all of its agents."""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from alita_mcp.agent.actions.abilities import Abilities
from alita_mcp.agent.actions.observations import Observations
from alita_mcp.agent.actions.web_access import WebAccess
from alita_mcp.agent.interface import AskPerson, Memory, OnEvent, TaskRuns
from alita_mcp.agent.values import EventKind, RunSummary, Step, Stopped, TaskEvent, TaskRequest
from alita_mcp.library.clock import now
from alita_mcp.models.budget import Meter
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.roles import Models
from alita_mcp.research.values import Source

NEARLY_USED = 0.85
"""Share of a limit from which on the model is asked to finish."""


async def _no_runs() -> Sequence[RunSummary]:
    return ()


@dataclass(frozen=True)
class RunParts:
    """Dependencies of a run."""

    abilities: Abilities
    models: Models
    """Roles on the run's account."""
    implementer: LanguageModel
    """The role that carries out steps; takes tools whatever its model can."""
    meter: Meter
    models_on: Callable[[Meter], tuple[Models, LanguageModel]]
    """Roles and implementer for a part of the run that has a budget of its own."""
    runs: TaskRuns
    on_event: OnEvent
    memory: Memory | None = None
    ask: AskPerson | None = None
    searches: bool = False
    """Whether there is a search back end."""
    builds: bool = True
    """Whether tools may be made."""
    plans: int = 0
    """How many plans are compared; 1: none, the first turn plans alone; 0: plain ReAct."""
    past_runs: Callable[[], Awaitable[Sequence[RunSummary]]] = _no_runs
    """The owner's last runs, the newest first."""


class Run:
    """State of a run: its limits, observations, steps and costs."""

    def __init__(
        self, run: str, request: TaskRequest, parts: RunParts, outer: Run | None = None, prefix: str = "o"
    ) -> None:
        """`outer`: the run that this is a part of; `prefix`: what the names of its observations begin with."""
        self.id = run
        self.request = request
        self.parts = parts
        self.observations = Observations(run, request.task, parts.runs, prefix)
        self.draft = ""
        """The best answer so far."""
        self.notes: tuple[str, ...] = ()
        """What the model says that a later task on the same files should know."""
        self.outer = outer
        self._taken = 0
        # A part writes what it did, saw and made into the whole.
        self.access: WebAccess = outer.access if outer else WebAccess(request.task, request.hosts)
        self.steps: list[Step] = outer.steps if outer else []
        self.sources: dict[str, Source] = outer.sources if outer else {}
        self.tools_made: list[str] = outer.tools_made if outer else []
        self.tools_used: list[str] = outer.tools_used if outer else []
        self.started: float = outer.started if outer else time.monotonic()
        self.numbers: itertools.count[int] = outer.numbers if outer else itertools.count(1)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started

    @property
    def steps_left(self) -> int:
        """Number of steps that may still be taken."""
        own = self.request.budget.steps - self._taken
        return own if self.outer is None else min(own, self.outer.steps_left)

    @property
    def is_near_its_end(self) -> bool:
        """Whether a limit is nearly reached."""
        return self.parts.meter.share_used >= NEARLY_USED or self.steps_left <= max(
            1, self.request.budget.steps // 10
        )

    @property
    def limit_reached(self) -> Stopped:
        """The limit that ends the run; empty where none is reached."""
        if self.outer is not None and (ended := self.outer.limit_reached):
            return ended
        reached = self.parts.meter.limit_reached
        if reached:
            return "tokens" if reached == "calls" else reached
        return "steps" if self.steps_left <= 0 else ""

    def part(self, agent: str, task: str, references: Sequence[str], steps: int, parts: RunParts) -> Run:
        """The run for a sub-task: its own limits and observations, and the named ones of the others.

        Raises:
            InvalidArguments: a reference names nothing.
        """
        budget = self.request.budget.model_copy(update={"steps": steps})
        request = self.request.model_copy(update={"budget": budget, "task": task})
        part = Run(self.id, request, parts, outer=self, prefix=f"p{agent.replace('.', '_')}o")
        for reference in references:
            part.observations.adopt(self.observations.find(reference))
        return part

    def reserve_step(self) -> int:
        """Reserves the number of the next step."""
        self._taken += 1
        return self.outer.reserve_step() if self.outer is not None else self._taken

    async def record_step(self, step: Step) -> None:
        """Records a step that was taken."""
        self.steps.append(step)
        reason = f" ({step.decision.way}: {step.decision.reason})" if step.decision else ""
        mark = "" if step.ok else " failed"
        await self.emit(
            "step",
            f"{step.number}. {step.tool}{mark}{reason}"[:300],
            step.agent,
            step.model_dump(mode="json"),
        )

    async def emit(
        self, kind: EventKind, text: str, agent: str = "", data: dict[str, Any] | None = None
    ) -> None:
        """Stores an event and passes it to the listener."""
        event = TaskEvent(
            run=self.id,
            number=next(self.numbers),
            at=now(),
            kind=kind,
            text=text,
            agent=agent,
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

    def record_made(self, tool: str) -> None:
        """Records a tool that was built."""
        if tool and tool not in self.tools_made:
            self.tools_made.append(tool)
