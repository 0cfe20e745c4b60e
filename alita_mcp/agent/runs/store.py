"""Store of runs, bounded in total.

Several processes share it: each writes its own runs. An owner reads its own, a person all. Nothing that looks like a
key is written, but files that code of a run wrote are kept as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread

from alita_mcp.agent.runs.folder import RUN_ID, RunFolders
from alita_mcp.agent.runs.records import LIST_RUNS, StoredRun, find_solution, no_run
from alita_mcp.agent.runs.rows import RunRows
from alita_mcp.agent.values import RunProgress, RunSummary, Solution, TaskEvent, TaskRequest
from alita_mcp.errors import ToolNotFound, UsageError
from alita_mcp.library.private_text import NAMED_SECRET, without_secrets
from alita_mcp.library.storage import Storage
from alita_mcp.models.redaction import without_keys
from alita_mcp.owners import USER

RUNS = "tasks"
"""Folder of the home that holds the runs."""
MAX_RUNS = 200
MAX_BYTES = 256 << 20
REDACTED = "[secret]"
_RANDOM_LOOKING = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{8,}")

T = TypeVar("T")


class RunReader:
    """The runs of one owner, as far as they can be read; all runs for a person."""

    def __init__(self, records: RunFolders | RunRows, owner: str | None) -> None:
        """Made by `StoredRuns.of_owner`."""
        self._records = records
        self._owner = owner

    async def events(self, run: str) -> Sequence[TaskEvent]:
        """Stored events; raises ToolNotFound for a run that is not known."""
        return await _in_thread(lambda: self._records.read_events(self._find(run).run))

    async def solution(self, run: str) -> Solution | None:
        """The solution of a run; None while it is under way or where its process died; raises ToolNotFound."""
        return find_solution(await self.events(run))

    async def summary(self, run: str) -> RunSummary:
        """The summary of a run; raises ToolNotFound."""
        return await _in_thread(lambda: self._summarize(self._find(run)))

    async def progress(self, run: str) -> RunProgress:
        """How far a run is; raises ToolNotFound."""

        def look() -> RunProgress:
            stored = self._find(run)  # before the events: a run that is not under way has written its end
            events = self._records.read_events(run)
            return RunProgress(
                summary=stored.summarize(events),
                events=tuple(events),
                solution=find_solution(events),
                files=self._records.file_sizes(run),
            )

        return await _in_thread(look)

    async def read_file(self, run: str, name: str) -> bytes:
        """A file that code of a run wrote; raises ToolNotFound."""
        found = await _in_thread(lambda: self._records.read_file(self._find(run).run, name))
        if found is None:
            raise ToolNotFound(f"There is no file {name[:200]!r} of this run.", hint="")
        return found

    async def list(self, limit: int = 20) -> Sequence[RunSummary]:
        """The newest runs of all processes, the newest first."""
        return await _in_thread(
            lambda: [self._summarize(stored) for stored in self._records.newest(self._owner, limit)]
        )

    async def find_run(self, prefix: str) -> str:
        """The id of the one run with that prefix; raises ToolNotFound."""
        stored = await _in_thread(lambda: self._records.newest(self._owner))
        found = [each.run for each in stored if each.run.startswith(prefix)]
        if len(found) != 1 or not prefix:
            which = "Several runs begin with" if len(found) > 1 and prefix else "There is no run"
            raise ToolNotFound(f"{which} {prefix[:40]!r}.", hint=LIST_RUNS)
        return found[0]

    def _find(self, run: str) -> StoredRun:
        stored = self._records.find(run) if RUN_ID.fullmatch(run) else None
        if stored is None or self._owner not in (None, stored.owner):
            raise no_run(run)
        return stored

    def _summarize(self, stored: StoredRun) -> RunSummary:
        return stored.summary or stored.summarize(self._records.read_events(stored.run))


class StoredRuns(RunReader):
    """Store of all runs."""

    def __init__(self, storage: Storage, *, max_runs: int = MAX_RUNS, max_bytes: int = MAX_BYTES) -> None:
        """Nothing is read or made before the first run."""
        bounds = (max_runs, max_bytes)
        folders, database = storage.home / RUNS, storage.database
        super().__init__(RunRows(database, *bounds) if database else RunFolders(folders, *bounds), None)

    def of_owner(self, owner: str | None) -> RunReader:
        """The runs of one owner; all of them for a person, None."""
        return RunReader(self._records, owner)

    def write_file(self, run: str, name: str, data: bytes) -> None:
        """Stores a file that code of a run wrote; it blocks.

        Raises:
            LibraryError: it cannot be written.
        """
        self._records.write_file(run, name, data)

    async def begin_run(self, run: str, request: TaskRequest, owner: str = USER) -> None:
        """Records that a run of this process begins, and removes the oldest ended runs to make room.

        Raises:
            UsageError: it is no id of a run.
            LibraryError: there is such a run, or it cannot be written.
        """
        if not RUN_ID.fullmatch(run):
            raise UsageError(f"Invalid run id {run[:40]!r}: expected 32 hexadecimal digits.")
        said = clean_json(request.model_dump(mode="json"))
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        await _in_thread(partial(self._records.create, run, {**said, "at": at, "owner": owner}, owner))

    async def append(self, event: TaskEvent) -> None:
        """Stores an event without keys; `finished` ends the run.

        Raises:
            ToolNotFound: no such run is kept.
            LibraryError: it cannot be written.
        """

        def append() -> None:
            data = clean_json(event.model_dump(mode="json", include={"data"}))["data"]
            self._records.append_event(
                event.model_copy(update={"text": clean_text(event.text), "data": data})
            )

        await _in_thread(append)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)


def clean_text(text: str) -> str:
    """The text without keys of this process's environment or of well-known shape, and without lone surrogates."""
    return without_secrets(without_keys(text.encode("utf-8", "replace").decode()))


def clean_json(value: Any) -> Any:
    """A JSON value, its texts cleaned, also those under a name like `password`."""
    match value:
        case str():
            return clean_text(value)
        case list() | tuple():
            return [clean_json(each) for each in value]
        case dict():
            return {
                clean_text(str(key)): REDACTED if _is_named_secret(str(key), each) else clean_json(each)
                for key, each in value.items()
            }
        case _:
            return value


def _is_named_secret(name: str, value: Any) -> bool:
    if not isinstance(value, str) or not NAMED_SECRET.search(name):
        return False
    return "pass" in name.lower() or _RANDOM_LOOKING.fullmatch(value) is not None
