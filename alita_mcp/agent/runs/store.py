"""Store of runs, bounded in total.

Several processes share it: each writes its own runs. An owner reads its own, a person all. Nothing that looks like a
key is written, but files that code of a run wrote are kept as they are.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread

from alita_mcp.agent.runs.records import (
    StoredRun,
    decode_events,
    decode_run,
    encode_event,
    find_solution,
    summarize,
)
from alita_mcp.agent.values import RunProgress, RunSummary, Solution, TaskEvent, TaskRequest
from alita_mcp.errors import LibraryError, ToolNotFound, UsageError
from alita_mcp.library.clock import now
from alita_mcp.library.private_text import NAMED_SECRET, without_secrets
from alita_mcp.library.storage import BoundedFiles, Storage
from alita_mcp.models.redaction import without_keys
from alita_mcp.owners import USER

RUNS = "task_runs"
MAX_RUNS = 200
MAX_BYTES = 256 << 20
EVENTS = "events"
PATIENCE_S = 30.0
"""How long a run waits for a database that is away before its work is given up: a task may have cost much."""
RETRY_S = 0.5
REDACTED = "[secret]"
_RUN_ID = re.compile(r"[0-9a-f]{32}")
_LIST_RUNS = "List the runs: alita runs"
_RANDOM_LOOKING = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{8,}")

T = TypeVar("T")


class RunReader:
    """The runs of one owner, as far as they can be read; all runs for a person."""

    def __init__(self, storage: Storage, files: BoundedFiles, owner: str | None) -> None:
        """Made by `StoredRuns.of_owner`."""
        self._storage = storage
        self._files = files
        self._owner = owner

    async def events(self, run: str) -> Sequence[TaskEvent]:
        """Stored events; raises ToolNotFound for a run that is not known."""
        return await _in_thread(lambda: self._read_events(self._find(run)))

    async def solution(self, run: str) -> Solution | None:
        """The solution of a run; None while it is under way or where its process died; raises ToolNotFound."""
        return find_solution(await self.events(run))

    async def summary(self, run: str) -> RunSummary:
        """The summary of a run; raises ToolNotFound."""
        return await _in_thread(lambda: self._find(run).summary)

    async def progress(self, run: str) -> RunProgress:
        """How far a run is; raises ToolNotFound."""

        def look() -> RunProgress:
            stored = self._find(run)
            summary, events = stored.summary, self._read_events(stored)
            if events and events[-1].kind == "finished":  # which is written before the summary
                summary = summarize(summary, events[-1])
            return RunProgress(
                summary=summary,
                events=tuple(events),
                solution=find_solution(events),
                files=dict(sorted(stored.files.items())),
            )

        return await _in_thread(look)

    async def read_file(self, run: str, name: str) -> bytes:
        """A file that code of a run wrote; raises ToolNotFound."""

        def read() -> bytes | None:
            stored = self._find(run)
            if name not in stored.files:
                return None
            return self._files.read_file(stored.place_of([*stored.files].index(name)), stored.summary.owner)

        found = await _in_thread(read)
        if found is None:
            raise ToolNotFound(f"There is no file {name[:200]!r} of this run.", hint="")
        return found

    async def list(self, limit: int = 20) -> Sequence[RunSummary]:
        """The runs of all processes that did something last, the newest first."""
        return await _in_thread(lambda: [stored.summary for stored in self._newest("*.json", limit)])

    async def find_run(self, prefix: str) -> str:
        """The id of the one run with that prefix; raises ToolNotFound."""
        pattern = f"{prefix}*.json" if prefix.isalnum() else ""
        found = await _in_thread(lambda: self._newest(pattern, 2))
        if len(found) != 1:
            which = "Several runs begin with" if found else "There is no run"
            raise ToolNotFound(f"{which} {prefix[:40]!r}.", hint=_LIST_RUNS)
        return found[0].summary.run

    def _find(self, run: str) -> StoredRun:
        for stored in self._newest(f"{run}.json", 1) if _RUN_ID.fullmatch(run) else ():
            return stored
        raise _no_run(run)

    def _newest(self, pattern: str, limit: int) -> tuple[StoredRun, ...]:
        """The runs whose documents are named so, the newest first."""
        found = []
        for file in reversed(self._files.newest(pattern, self._owner, limit)):
            stored = decode_run(file.content)
            if stored is None or self._owner not in (None, stored.summary.owner):
                continue
            if stored.summary.status == "running" and not self._storage.is_alive(stored.server):
                died = stored.summary.model_copy(update={"status": "died"})
                stored = stored.model_copy(update={"summary": died})
            found.append(stored)
        return tuple(found)

    def _read_events(self, stored: StoredRun) -> Sequence[TaskEvent]:
        return decode_events(self._files.read_file(stored.place_of(EVENTS), stored.summary.owner) or b"")


class StoredRuns(RunReader):
    """Store of all runs."""

    def __init__(self, storage: Storage, *, max_runs: int = MAX_RUNS, max_bytes: int = MAX_BYTES) -> None:
        """Nothing is read or made before the first run."""
        super().__init__(storage, storage.files(RUNS, max_runs, max_bytes), None)
        self._turn = threading.Lock()
        """Of threads that write."""

    def of_owner(self, owner: str | None) -> RunReader:
        """The runs of one owner; all of them for a person, None."""
        return RunReader(self._storage, self._files, owner)

    async def begin_run(self, run: str, request: TaskRequest, owner: str = USER) -> None:
        """Records that a run of this process begins, and removes the oldest ones to make room.

        One of the same owner that another server left unfinished begins anew.

        Raises:
            UsageError: it is no id of a run.
            LibraryError: there is such a run, or it cannot be written.
        """
        if not _RUN_ID.fullmatch(run):
            raise UsageError(f"Invalid run id {run[:40]!r}: expected 32 hexadecimal digits.")
        summary = RunSummary(run=run, task=clean_text(request.task), at=now(), owner=owner, status="running")

        def begin() -> bool:
            with self._turn:
                server = self._storage.server  # whose lock is made once
            content = StoredRun(summary=summary, server=server).model_dump_json().encode()
            for file in self._files.newest(f"{run}.json", None, 1):
                left = decode_run(file.content)
                is_left = left and (left.summary.owner, left.summary.status) == (owner, "running")
                is_elsewhere = left and left.server != server
                return bool(is_left and is_elsewhere) and self._files.replace_file(file, content)
            return self._files.write_file(f"{run}.json", content, owner)

        if not await _in_thread(begin):
            raise LibraryError(f"There is a run {run!r} already.", hint="Begin another one.")

    async def append(self, event: TaskEvent) -> None:
        """Stores an event without keys; `finished` ends the run. It waits for a database that is away.

        Raises:
            ToolNotFound: no such run is kept, or another server works on it now.
            LibraryError: it cannot be written.
        """

        def append(stored: StoredRun) -> StoredRun:
            data = clean_json(event.model_dump(mode="json", include={"data"}))["data"]
            cleaned = event.model_copy(update={"text": clean_text(event.text), "data": data})
            line, owner = encode_event(cleaned), stored.summary.owner
            self._files.write_file(stored.place_of(EVENTS), line, owner, append=True)
            return stored.model_copy(update={"summary": summarize(stored.summary, cleaned)})

        await _in_thread(partial(self._write, event.run, append))

    def write_file(self, run: str, name: str, data: bytes) -> None:
        """Stores a file that code of a run wrote; it blocks. Raises as `append`."""

        def write(stored: StoredRun) -> StoredRun:
            files = {**stored.files, name: len(data)}
            self._files.write_file(stored.place_of([*files].index(name)), data, stored.summary.owner)
            return stored.model_copy(update={"files": files})

        self._write(run, write)

    def _write(self, run: str, write: Callable[[StoredRun], StoredRun]) -> None:
        """Writes what a run of this process did, then its document, which another server may have replaced."""
        until = time.monotonic() + (PATIENCE_S if self._storage.database else 0.0)
        with self._turn:
            while True:
                try:
                    for file in self._files.newest(f"{run}.json", None, 1):
                        stored = decode_run(file.content)
                        if stored is None or stored.server != self._storage.server:
                            break
                        if self._files.replace_file(file, write(stored).model_dump_json().encode()):
                            return
                    raise _no_run(run)
                except LibraryError:
                    if time.monotonic() > until:
                        raise
                time.sleep(RETRY_S)


def _no_run(run: str) -> ToolNotFound:
    return ToolNotFound(f"There is no run {run[:40]!r}.", hint=_LIST_RUNS)


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
