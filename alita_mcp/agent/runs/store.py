"""Store of runs: one private folder each, bounded in total.

Several processes share it: each writes its own runs. An owner reads its own, a person all. Nothing that looks like a
key is written, but files that code of a run wrote are kept as they are.
"""

from __future__ import annotations

import re
import secrets
import shutil
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from alita_mcp.agent.runs.folder import FILES, RunFolder
from alita_mcp.agent.values import RunProgress, RunSummary, Solution, TaskEvent, TaskRequest
from alita_mcp.errors import ToolNotFound, UsageError
from alita_mcp.library.private_text import NAMED_SECRET, without_secrets
from alita_mcp.machine import unusable
from alita_mcp.models.redaction import without_keys
from alita_mcp.owners import USER, choose_surplus

if TYPE_CHECKING:
    from filelock import FileLock

RUNS = "tasks"
"""Folder of the home that holds the runs."""
MAX_RUNS = 200
MAX_BYTES = 256 << 20
_RUN = re.compile(r"[0-9a-f]{32}")
_GONE = ".gone-"
REDACTED = "[secret]"
_RANDOM_LOOKING = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{8,}")
_LIST = "List the runs: alita runs"

T = TypeVar("T")


class RunReader:
    """The runs of one owner, as far as they can be read; all runs for a person."""

    def __init__(self, folder: Path, owner: str | None) -> None:
        """Made by `StoredRuns.of_owner`."""
        self._folder = folder
        self._owner = owner

    async def events(self, run: str) -> Sequence[TaskEvent]:
        """Stored events; raises ToolNotFound for a run that is not known."""
        found = await _in_thread((await self._find(run)).read_events)
        return sorted(found, key=lambda event: event.number)

    async def solution(self, run: str) -> Solution | None:
        """The solution of a run; None while it is under way or where its process died; raises ToolNotFound."""
        return await _in_thread((await self._find(run)).solution)

    async def summary(self, run: str) -> RunSummary:
        """The summary of a run; raises ToolNotFound."""
        return await _in_thread((await self._find(run)).summary)

    async def progress(self, run: str) -> RunProgress:
        """How far a run is; raises ToolNotFound."""
        return await _in_thread((await self._find(run)).progress)

    async def find_file(self, run: str, name: str) -> Path:
        """A file that code of a run wrote; raises ToolNotFound."""
        found = await _in_thread((await self._find(run)).files)
        if name not in found:
            raise ToolNotFound(f"There is no file {name[:200]!r} of this run.", hint="")
        return found[name]

    async def list(self, limit: int = 20) -> Sequence[RunSummary]:
        """The newest runs of all processes, the newest first."""
        return await _in_thread(lambda: [place.summary() for place in self._newest()[:limit]])

    async def find_run(self, prefix: str) -> str:
        """The id of the one run with that prefix; raises ToolNotFound."""
        places = await _in_thread(self._newest)
        found = [place.path.name for place in places if place.path.name.startswith(prefix)]
        if len(found) != 1 or not prefix:
            which = "Several runs begin with" if len(found) > 1 and prefix else "There is no run"
            raise ToolNotFound(f"{which} {prefix[:40]!r}.", hint=_LIST)
        return found[0]

    async def _find(self, run: str) -> RunFolder:
        place = self._place(run)
        if not await _in_thread(partial(self._is_own, place)):
            raise _no_run(run)
        return place

    def _is_own(self, place: RunFolder) -> bool:
        return self._owner is None or self._owner == place.owner()

    def _place(self, run: str) -> RunFolder:
        path = self._folder / run
        if not _RUN.fullmatch(run) or path.is_symlink() or not path.is_dir():
            raise _no_run(run)
        return RunFolder(path)

    def _newest(self) -> Sequence[RunFolder]:
        """All runs, the newest first."""
        paths = self._folder.iterdir() if self._folder.is_dir() else ()
        runs = (
            path for path in paths if _RUN.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
        )
        found = filter(self._is_own, map(RunFolder, runs))
        return sorted(found, key=lambda place: (place.began_at(), place.path.name), reverse=True)


class StoredRuns(RunReader):
    """Store of all runs on the disk."""

    def __init__(self, folder: Path, *, max_runs: int = MAX_RUNS, max_bytes: int = MAX_BYTES) -> None:
        """The folder is made when the first run begins."""
        super().__init__(folder, None)
        self._under_way: dict[str, FileLock] = {}
        self._max_runs = max_runs
        self._max_bytes = max_bytes
        self._turns: dict[str, anyio.Lock] = {}
        self._room = threading.Lock()

    def of_owner(self, owner: str | None) -> RunReader:
        """The runs of one owner; all of them for a person, None."""
        return RunReader(self._folder, owner)

    def files_folder(self, run: str) -> Path:
        """Where the files that code of a run writes are kept."""
        return self._folder / run / FILES

    async def begin_run(self, run: str, request: TaskRequest, owner: str = USER) -> None:
        """Records that a run of this process begins, and removes the oldest ended runs to make room.

        Raises:
            UsageError: it is no id of a run.
            LibraryError: the disk does not let us.
        """
        if not _RUN.fullmatch(run):
            raise UsageError(f"Invalid run id {run[:40]!r}: expected 32 hexadecimal digits.")
        self._under_way[run] = await _in_thread(partial(self._make_run, run, request, owner))
        self._turns[run] = anyio.Lock()

    async def append(self, event: TaskEvent) -> None:
        """Stores an event; `finished` ends the run.

        Raises:
            ToolNotFound: no such run is kept.
            LibraryError: the disk does not let us.
        """
        place = self._place(event.run)
        try:
            async with self._turns.get(event.run, anyio.Lock()):
                await _in_thread(partial(_append_event, place, event))
        finally:
            if event.kind == "finished":
                self._turns.pop(event.run, None)
                if lock := self._under_way.pop(event.run, None):
                    lock.release()

    def _make_run(self, run: str, request: TaskRequest, owner: str) -> FileLock:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as failure:
            raise unusable(self._folder, failure) from failure
        with self._room:
            self._make_room(owner)
        said = clean_json(request.model_dump(mode="json"))
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        return RunFolder(self._folder / run).create({**said, "at": at, "owner": owner})

    def _make_room(self, owner: str) -> None:
        """Removes runs that are not under way until another one of an owner fits."""
        for left in self._folder.glob(f"{_GONE}*"):
            shutil.rmtree(left, ignore_errors=True)
        sizes = {place: place.size() for place in reversed(self._newest())}
        used = sum(sizes.values())
        if len(sizes) < self._max_runs and used <= self._max_bytes:
            return
        ended = [
            (place, place.owner(), size)
            for place, size in sizes.items()
            if place.path.name not in self._under_way and not place.is_under_way()
        ]
        room = self._max_bytes - used + sum(size for *_, size in ended)
        for place in choose_surplus(ended, owner, self._max_runs - 1 - len(sizes) + len(ended), room):
            _remove(place.path)


def _no_run(run: str) -> ToolNotFound:
    return ToolNotFound(f"There is no run {run[:40]!r}.", hint=_LIST)


def _append_event(place: RunFolder, event: TaskEvent) -> None:
    """Writes an event without keys, and after the last one the summary."""
    data = clean_json(event.model_dump(mode="json", include={"data"}))["data"]
    cleaned = event.model_copy(update={"text": clean_text(event.text), "data": data})
    place.append_event(cleaned)
    if event.kind == "finished":
        place.write_end(cleaned)


def _remove(path: Path) -> None:
    """Renames the folder before it is deleted, so that no reader meets half a run."""
    aside = path.with_name(f"{_GONE}{secrets.token_hex(8)}")
    try:
        path.rename(aside)
    except OSError:  # another process was first, or Windows has a file of it open
        return
    shutil.rmtree(aside, ignore_errors=True)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)


def clean_text(text: str) -> str:
    """The text without keys of this process's environment, or of well-known shape."""
    return without_secrets(without_keys(text))


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
