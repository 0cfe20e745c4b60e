"""Records of runs: what every store of them offers, and what is made of one.

What is read may be damaged or cut off: events that are none are passed over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from alita_mcp.agent.values import RunProgress, RunSummary, Solution, TaskEvent
from alita_mcp.errors import ToolNotFound
from alita_mcp.owners import USER, choose_surplus

MAX_EVENTS_BYTES = 64 << 20
"""Of one run; more is not read, and not written."""
MAX_LINE_BYTES = 16 << 20
"""An event that is longer is kept without its data."""
SHOWN_CHARACTERS = 500
LIST_RUNS = "List the runs: alita runs"

T = TypeVar("T")


class RunRecord(ABC):
    """Record of one run. All of it blocks."""

    def __init__(self, run: str) -> None:
        self.run = run

    @abstractmethod
    def request(self) -> dict[str, Any]:
        """The request of the run, with `at` and `owner`; empty where it cannot be read."""

    @abstractmethod
    def read_events(self) -> list[TaskEvent]:
        """All complete events, in the order of their numbers."""

    @abstractmethod
    def read_summary(self) -> RunSummary | None:
        """The summary that was stored with the end; None where there is none that can be read."""

    @abstractmethod
    def is_under_way(self) -> bool:
        """Whether the process that began it still works on it."""

    @abstractmethod
    def file_sizes(self) -> dict[str, int]:
        """The bytes of each file that code of the run wrote, by its name."""

    @abstractmethod
    def read_file(self, name: str) -> bytes | None:
        """One of these files; None where there is none."""

    def owner(self) -> str:
        """To whom the run belongs; the user where nothing says so."""
        return str(self.request().get("owner", USER))

    def solution(self) -> Solution | None:
        """The solution of the run, as far as it can be read."""
        return _solution_in(self.read_events())

    def summary(self) -> RunSummary:
        """The summary of the run."""
        if summary := self.read_summary():
            return summary
        is_under_way = self.is_under_way()  # before the events: a run that is not has written its end
        return self.summarize(self.read_events(), is_under_way=is_under_way)

    def progress(self) -> RunProgress:
        """How far the run is."""
        is_under_way = self.is_under_way()  # in this order, as in `summary`
        events = self.read_events()
        return RunProgress(
            summary=self.summarize(events, is_under_way=is_under_way),
            events=tuple(events),
            solution=_solution_in(events),
            files=self.file_sizes(),
        )

    def summarize(self, events: Sequence[TaskEvent], *, is_under_way: bool = False) -> RunSummary:
        """The summary that follows from these events."""
        request, solution = self.request(), _solution_in(events)
        known: dict[str, Any] = {
            "run": self.run,
            "task": str(request.get("task", "")),
            "at": str(request.get("at", "")),
            "owner": str(request.get("owner", USER)),
        }
        if solution is None:
            steps = sum(event.kind == "step" for event in events)
            return RunSummary(**known, status="running" if is_under_way else "died", steps=steps)
        shared = ("solved", "stopped", "tools_made", "tools_used", "calls", "tokens", "cost", "seconds")
        return RunSummary(
            **known,
            **{name: getattr(solution, name) for name in shared},
            status="stopped" if solution.stopped else "finished",
            answer=solution.answer[:SHOWN_CHARACTERS],
            steps=len(solution.steps),
            actions=tuple((step.tool, step.ok) for step in solution.steps),
        )


class RunRecords(Protocol):
    """Records of all runs, bounded together; several processes share them. All of it blocks.

    What writes raises LibraryError where the disk or the database refuses.
    """

    def create(self, run: str, request: dict[str, Any], owner: str) -> None:
        """Records that this process works on a run from now on; the oldest ended runs make room.

        Raises:
            LibraryError: there is a run of that id already.
        """

    def append_event(self, event: TaskEvent) -> None:
        """Stores an event of a run that this process works on; `finished` ends it."""

    def write_file(self, run: str, name: str, data: bytes) -> None:
        """Stores a file that code of a run wrote."""

    def find(self, run: str) -> RunRecord | None:
        """The record of a run; None where there is none."""

    def newest(self, owner: str | None, limit: int | None = None) -> Sequence[RunRecord]:
        """The records of an owner's runs, or of all (None), the newest first, at most so many."""


def no_run(run: str) -> ToolNotFound:
    """The error for a run that is not known."""
    return ToolNotFound(f"There is no run {run[:40]!r}.", hint=LIST_RUNS)


def choose_surplus_runs(
    oldest_first: Sequence[tuple[T, str, int, bool]], owner: str, max_runs: int, max_bytes: int
) -> list[T]:
    """Runs that make room for another one of an owner, of runs with owner, bytes, and whether they have ended."""
    ended = [(run, whose, size) for run, whose, size, has_ended in oldest_first if has_ended]
    under_way = [size for _, _, size, has_ended in oldest_first if not has_ended]
    return choose_surplus(ended, owner, max_runs - 1 - len(under_way), max_bytes - sum(under_way))


def encode_event(event: TaskEvent) -> bytes:
    """An event as one line of JSON; one that is too long without its data, the end of a run without its steps."""
    line = event.model_dump_json().encode()
    if len(line) <= MAX_LINE_BYTES:
        return line
    data = {**event.data, "steps": []} if event.kind == "finished" else {}
    return (
        event.model_copy(update={"data": data, "text": event.text[:SHOWN_CHARACTERS]})
        .model_dump_json()
        .encode()
    )


def decode_events(lines: Sequence[bytes]) -> list[TaskEvent]:
    """The events that lines hold, in the order of their numbers."""
    events = []
    for line in lines:
        with suppress(ValidationError):
            events.append(TaskEvent.model_validate_json(line))
    return sorted(events, key=lambda event: event.number)


def _solution_in(events: Sequence[TaskEvent]) -> Solution | None:
    for event in reversed(events):
        if event.kind == "finished":
            with suppress(ValidationError):
                return Solution.model_validate(event.data)
    return None
