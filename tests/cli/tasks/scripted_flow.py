"""A flow of tasks that does as a script says, over the real store of runs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import anyio

from alita_mcp.agent.interface import AskPerson, OnEvent
from alita_mcp.agent.runs.store import RunReader, StoredRuns
from alita_mcp.agent.values import EventKind, Solution, TaskEvent, TaskRequest
from alita_mcp.library.storage import Storage
from alita_mcp.progress import ReportStage
from alita_mcp.settings import read_settings

if TYPE_CHECKING:
    from alita_mcp.app.task_runner import TaskRunner

RUN = "5" * 32
Said = tuple[EventKind, str, dict[str, Any]]
PLAN = {
    "chosen": {
        "steps": [{"action": "read_csv", "need": "the sales"}, {"action": "run_code", "need": "sum them"}]
    }
}


def step(number: int, *, ok: bool = True, **data: Any) -> tuple[Said, Said]:
    """A step that begins and ends."""
    ended = {"number": number, "ok": ok, "seconds": 1.5, "cost_usd": 0.01, "observation": "42\nrows", **data}
    text = f"{number}. run_code"
    return ("step_started", text, {"number": number}), ("step", text if ok else f"{text} failed", ended)


class ScriptedFlow:
    """Tells the scripted events, asks what it is told to ask, and ends with a solution, also when it is cancelled."""

    def __init__(
        self,
        events: Sequence[Said] = (),
        *,
        has_model: bool = True,
        question: str = "",
        run: str = RUN,
        before_the_end: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint,
        **ended: Any,
    ) -> None:
        self.runs = kept_runs()
        self.has_model = has_model
        self.requests: list[TaskRequest] = []
        self.answers: list[str | None] = []
        self._events = [("started", "Sum the sales.", {}), *events]
        self._question = question
        self._run = run
        self._before_the_end = before_the_end
        self._ended = {"answer": "42", "solved": True, **ended}

    @asynccontextmanager
    async def opened(self, on_stage: ReportStage) -> AsyncIterator[TaskRunner]:
        """As `open_task_runner`."""
        await on_stage("preparing the sandbox")
        yield cast("TaskRunner", self)

    def runs_of(self, owner: str | None) -> RunReader:
        return self.runs.of_owner(owner)

    async def solve(
        self, request: TaskRequest, on_event: OnEvent, *, ask: AskPerson | None = None
    ) -> Solution:
        """The scripted end."""
        self.requests.append(request)
        await self.runs.begin_run(self._run, request)
        number = 0

        async def tell(kind: EventKind, text: str, data: dict[str, Any]) -> None:
            nonlocal number
            number += 1
            event = TaskEvent(
                run=self._run, number=number, at="2026-01-01T10:00:00Z", kind=kind, text=text, data=data
            )
            await self.runs.append(event)
            await on_event(event)

        solution = Solution.model_validate({"run": self._run, "task": request.task, **self._ended})
        try:
            for said in self._events:
                await tell(*said)
            if self._question:
                self.answers.append(await ask(self._question) if ask is not None else None)
            await self._before_the_end()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                stopped = solution.model_copy(update={"solved": False, "stopped": "cancelled"})
                await tell("finished", "stopped", json.loads(stopped.model_dump_json()))
            raise
        await tell("finished", solution.answer, json.loads(solution.model_dump_json()))
        return solution


def kept_runs() -> StoredRuns:
    """The runs of this test's home."""
    return StoredRuns(Storage(read_settings().home))
