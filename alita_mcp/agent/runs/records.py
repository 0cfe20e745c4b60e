"""Records of runs as they are stored.

What is read may be damaged or cut off: events that are none are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pydantic import ConfigDict, Field, ValidationError

from alita_mcp.agent.values import RunSummary, Solution, TaskEvent
from alita_mcp.values import Value

MAX_LINE_BYTES = 16 << 20
"""An event that is longer is kept without its data."""
SHOWN_CHARACTERS = 500


class StoredRun(Value):
    """Document of a run; it is replaced with each event, so that what is under way is among the newest."""

    model_config = ConfigDict(extra="ignore")  # as RunSummary

    summary: RunSummary
    server: str
    """Name of the process that works on it, or did; one that takes it over begins with other events and files."""
    files: dict[str, int] = Field(default_factory=dict)
    """The bytes of each file that code of the run wrote, in the order in which they came."""

    def place_of(self, part: str | int) -> str:
        """Name in the store of its events, or of the file of a number."""
        return f"{self.summary.run}.{self.server}.{part}"


def summarize(summary: RunSummary, event: TaskEvent) -> RunSummary:
    """The summary of a run after one more event."""
    if event.kind == "step":
        return summary.model_copy(update={"steps": summary.steps + 1})
    solution = find_solution([event])
    if solution is None:
        return summary
    shared = ("solved", "stopped", "tools_made", "tools_used", "calls", "tokens", "cost", "seconds")
    update = {
        "status": "stopped" if solution.stopped else "finished",
        "answer": solution.answer[:SHOWN_CHARACTERS],
        "steps": len(solution.steps),
        "actions": tuple((step.tool, step.ok) for step in solution.steps),
    }
    return summary.model_copy(update=update | {name: getattr(solution, name) for name in shared})


def encode_event(event: TaskEvent) -> bytes:
    """An event as one line of JSON; one that is too long without its data, the end of a run without its steps."""
    line = event.model_dump_json().encode()
    if len(line) > MAX_LINE_BYTES:
        data = {**event.data, "steps": []} if event.kind == "finished" else {}
        short = event.model_copy(update={"data": data, "text": event.text[:SHOWN_CHARACTERS]})
        line = short.model_dump_json().encode()
    return line + b"\n"


def decode_run(content: bytes) -> StoredRun | None:
    """The document of a run; None for one that is damaged."""
    with suppress(ValidationError):
        return StoredRun.model_validate_json(content)
    return None


def decode_events(lines: bytes) -> list[TaskEvent]:
    """The events that lines hold, in the order of their numbers; one may have been written twice."""
    events = {}
    for line in lines.splitlines():
        with suppress(ValidationError):
            event = TaskEvent.model_validate_json(line)
            events[event.number] = event
    return [events[number] for number in sorted(events)]


def find_solution(events: Sequence[TaskEvent]) -> Solution | None:
    """The solution in the last event, as far as it can be read."""
    for event in reversed(events):
        if event.kind == "finished":
            with suppress(ValidationError):
                return Solution.model_validate(event.data)
    return None
