"""Records of runs, wherever they are stored, and what is made of one.

What is read may be damaged or cut off: events that are none are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from alita_mcp.agent.values import RunSummary, Solution, TaskEvent
from alita_mcp.errors import ToolNotFound
from alita_mcp.owners import USER, choose_surplus

MAX_EVENTS_BYTES = 64 << 20
"""Of one run; more is not read, and not written."""
MAX_LINE_BYTES = 16 << 20
"""An event that is longer is kept without its data."""
SHOWN_CHARACTERS = 500
LIST_RUNS = "List the runs: alita runs"

T = TypeVar("T")


class StoredRun(NamedTuple):
    """A run as it was stored when it was looked at."""

    run: str
    request: dict[str, Any]
    """With `at` and `owner`; empty where it cannot be read."""
    summary: RunSummary | None
    """Stored with the end; None where there is none that can be read."""
    is_under_way: bool
    """Whether the process that began it still works on it."""

    @property
    def owner(self) -> str:
        """To whom the run belongs; the user where nothing says so."""
        return str(self.request.get("owner", USER))

    def summarize(self, events: Sequence[TaskEvent]) -> RunSummary:
        """The summary that follows from these events."""
        solution = find_solution(events)
        known: dict[str, Any] = {
            "run": self.run,
            "task": str(self.request.get("task", "")),
            "at": str(self.request.get("at", "")),
            "owner": self.owner,
        }
        if solution is None:
            steps = sum(event.kind == "step" for event in events)
            return RunSummary(**known, status="running" if self.is_under_way else "died", steps=steps)
        shared = ("solved", "stopped", "tools_made", "tools_used", "calls", "tokens", "cost", "seconds")
        return RunSummary(
            **known,
            **{name: getattr(solution, name) for name in shared},
            status="stopped" if solution.stopped else "finished",
            answer=solution.answer[:SHOWN_CHARACTERS],
            steps=len(solution.steps),
            actions=tuple((step.tool, step.ok) for step in solution.steps),
        )


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
    short = event.model_copy(update={"data": data, "text": event.text[:SHOWN_CHARACTERS]})
    return short.model_dump_json().encode()


def decode_summary(content: bytes) -> RunSummary | None:
    """The summary of a run; None for one that is damaged, or of a newer version."""
    with suppress(ValidationError):
        return RunSummary.model_validate_json(content)
    return None


def decode_events(lines: Sequence[bytes]) -> list[TaskEvent]:
    """The events that lines hold, in the order of their numbers."""
    events = []
    for line in lines:
        with suppress(ValidationError):
            events.append(TaskEvent.model_validate_json(line))
    return sorted(events, key=lambda event: event.number)


def find_solution(events: Sequence[TaskEvent]) -> Solution | None:
    """The solution in the last event, as far as it can be read."""
    for event in reversed(events):
        if event.kind == "finished":
            with suppress(ValidationError):
                return Solution.model_validate(event.data)
    return None
