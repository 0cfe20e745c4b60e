"""Private folder of one run: its request and events.

What is read may be damaged, cut off or somebody else's: lines that are not events are passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from alita_mcp.agent.values import RunProgress, RunSummary, Solution, TaskEvent
from alita_mcp.errors import LibraryError
from alita_mcp.file_locks import file_lock, is_lock_held
from alita_mcp.library.disk import read_plain_file, without_waiting
from alita_mcp.machine import unusable
from alita_mcp.owners import USER
from alita_mcp.private_files import write_whole
from alita_mcp.runs.outputs import is_file_name

if TYPE_CHECKING:
    from filelock import FileLock

EVENTS, REQUEST, SUMMARY, LOCK = "events.jsonl", "request.json", "summary.json", "running.lock"
FILES = "files"
"""Folder of what code of the run wrote."""
MAX_FILES = 1_000
MAX_EVENTS_BYTES = 64 << 20
"""Of one run; more is not read, and not written."""
MAX_LINE_BYTES = 16 << 20
"""An event that is longer is kept without its data."""
SHOWN_CHARACTERS = 500


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run; its methods wait for the disk only."""

    path: Path

    def create(self, request: dict[str, Any]) -> FileLock:
        """Creates the folder, and holds its lock to show that this process works on the run.

        Raises:
            LibraryError: it exists, or cannot be made.
        """
        try:
            self.path.mkdir(mode=0o700)
            lock = file_lock(self.path / LOCK)
            lock.acquire(timeout=5)
            write_whole(self.path / REQUEST, json.dumps(request, ensure_ascii=False).encode())
        except OSError as failure:
            raise unusable(self.path, failure) from failure
        return lock

    def append_event(self, event: TaskEvent) -> None:
        """Appends an event; the last one is synced to the disk.

        Raises:
            LibraryError: it cannot be written.
        """
        line = event.model_dump_json().encode()
        if len(line) > MAX_LINE_BYTES:
            line = _shorten(event).model_dump_json().encode()
        try:
            handle = os.open(self.path / EVENTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(handle, "ab") as file:
                if file.tell() + len(line) > MAX_EVENTS_BYTES and event.kind != "finished":
                    return
                file.write(line + b"\n")
                if event.kind == "finished":
                    file.flush()
                    os.fsync(handle)
        except OSError as failure:
            raise unusable(self.path, failure) from failure

    def read_events(self) -> list[TaskEvent]:
        """All complete events."""
        try:
            with open(self.path / EVENTS, "rb", opener=without_waiting) as file:
                said = file.read(MAX_EVENTS_BYTES + MAX_LINE_BYTES)
        except OSError:
            return []
        events = []
        for line in said[: said.rfind(b"\n") + 1].splitlines():
            with suppress(ValidationError):
                events.append(TaskEvent.model_validate_json(line))
        return events

    def solution(self) -> Solution | None:
        """The solution of the run, as far as it can be read."""
        return _solution_in(self.read_events())

    def write_end(self, finished: TaskEvent) -> None:
        """Writes a summary of the end, so that listings need not read all events."""
        with suppress(OSError):
            write_whole(self.path / SUMMARY, self._summarize([finished]).model_dump_json().encode())

    def summary(self) -> RunSummary:
        """The summary of the run."""
        with suppress(LibraryError, OSError, ValidationError):
            return RunSummary.model_validate_json(read_plain_file(self.path / SUMMARY, MAX_LINE_BYTES))
        is_under_way = self.is_under_way()  # before the events: a run that is not has written its end
        return self._summarize(self.read_events(), is_under_way=is_under_way)

    def _summarize(self, events: Sequence[TaskEvent], *, is_under_way: bool = False) -> RunSummary:
        request, solution = self.request(), _solution_in(events)
        known: dict[str, Any] = {
            "run": self.path.name,
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

    def progress(self) -> RunProgress:
        """How far the run is."""
        is_under_way = self.is_under_way()  # in this order, as in `summary`
        events, files = self.read_events(), dict[str, int]()
        for name, path in self.files().items():
            with suppress(OSError):
                files[name] = path.stat().st_size
        return RunProgress(
            summary=self._summarize(events, is_under_way=is_under_way),
            events=tuple(sorted(events, key=lambda event: event.number)),
            solution=_solution_in(events),
            files=files,
        )

    def files(self) -> dict[str, Path]:
        """The files that code of the run wrote, by their names; links are passed over."""
        root, found = self.path / FILES, dict[str, Path]()
        for place, folders, names in os.walk(root) if not root.is_symlink() else ():
            folders.sort()
            for path in (Path(place) / name for name in sorted(names)):
                name = path.relative_to(root).as_posix()
                if is_file_name(name) and path.is_file() and not path.is_symlink() and len(found) < MAX_FILES:
                    found[name] = path
        return found

    def request(self) -> dict[str, Any]:
        """The request of the run; empty where it cannot be read."""
        with suppress(LibraryError, OSError, ValueError, RecursionError):
            read = json.loads(read_plain_file(self.path / REQUEST))
            return read if isinstance(read, dict) else {}
        return {}

    def owner(self) -> str:
        """To whom the run belongs; the user where nothing says so."""
        return str(self.request().get("owner", USER))

    def is_under_way(self) -> bool:
        """Whether the process that began it still works on it."""
        try:
            return is_lock_held(self.path / LOCK)
        except OSError:
            return False

    def began_at(self) -> float:
        """Start of the run in seconds since 1970; 0 where unknown."""
        with suppress(OSError):
            return (self.path / REQUEST).lstat().st_mtime
        return 0.0

    def size(self) -> int:
        """Bytes of all its files."""
        total = 0
        for place, _, names in os.walk(self.path):
            for name in names:
                with suppress(OSError):
                    total += (Path(place) / name).lstat().st_size
        return total


def _solution_in(events: Sequence[TaskEvent]) -> Solution | None:
    for event in reversed(events):
        if event.kind == "finished":
            with suppress(ValidationError):
                return Solution.model_validate(event.data)
    return None


def _shorten(event: TaskEvent) -> TaskEvent:
    """The event without what makes it long: the end of a run without its steps, all else without data."""
    data = {**event.data, "steps": []} if event.kind == "finished" else {}
    return event.model_copy(update={"data": data, "text": event.text[:SHOWN_CHARACTERS]})
