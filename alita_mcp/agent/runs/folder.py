"""Records of runs on one machine: a private folder of each, with its request, events and files.

What is read may be somebody else's: links are not followed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alita_mcp.agent.runs.records import (
    MAX_EVENTS_BYTES,
    MAX_LINE_BYTES,
    StoredRun,
    choose_surplus_runs,
    decode_events,
    decode_summary,
    encode_event,
    no_run,
)
from alita_mcp.agent.values import TaskEvent
from alita_mcp.errors import LibraryError
from alita_mcp.file_locks import file_lock, is_lock_held
from alita_mcp.library.disk import read_plain_file, without_waiting
from alita_mcp.machine import unusable
from alita_mcp.private_files import write_whole
from alita_mcp.runs.outputs import is_file_name

if TYPE_CHECKING:
    from filelock import FileLock

EVENTS, REQUEST, SUMMARY, LOCK = "events.jsonl", "request.json", "summary.json", "running.lock"
FILES = "files"
"""Folder of what code of the run wrote."""
MAX_FILES = 1_000
RUN_ID = re.compile(r"[0-9a-f]{32}")
_GONE = ".gone-"


class RunFolders:
    """Records of all runs, bounded together; several processes share them. All of it blocks.

    What writes raises LibraryError where the disk, or the database of `RunRows`, refuses.
    """

    def __init__(self, folder: Path, max_runs: int, max_bytes: int) -> None:
        """The folder is made when the first run begins."""
        self._folder = folder
        self._max_runs = max_runs
        self._max_bytes = max_bytes
        self._under_way: dict[str, FileLock] = {}
        """Held to show that this process works on these runs."""
        self._turn = threading.Lock()
        """Of threads that write."""

    def create(self, run: str, request: dict[str, Any], owner: str) -> None:
        """Records that this process works on a run from now on; the oldest ended runs make room.

        Raises:
            LibraryError: there is a run of that id already.
        """
        place = self._folder / run
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._turn:
                self._make_room(owner)
            place.mkdir(mode=0o700)
            lock = file_lock(place / LOCK)
            lock.acquire(timeout=5)
            write_whole(place / REQUEST, json.dumps(request, ensure_ascii=False).encode())
        except OSError as failure:
            raise unusable(place, failure) from failure
        self._under_way[run] = lock

    def append_event(self, event: TaskEvent) -> None:
        """Stores an event of a run that this process works on; `finished` ends it, with a summary for listings.

        Raises:
            ToolNotFound: no such run is kept.
        """
        stored, line = self.find(event.run), encode_event(event)
        if stored is None:
            raise no_run(event.run)
        place = self._folder / event.run
        try:
            handle = os.open(place / EVENTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with self._turn, os.fdopen(handle, "ab") as file:
                if file.tell() + len(line) > MAX_EVENTS_BYTES and event.kind != "finished":
                    return
                file.write(line + b"\n")
                if event.kind == "finished":
                    file.flush()
                    os.fsync(handle)
            if event.kind == "finished":
                with suppress(OSError):
                    write_whole(place / SUMMARY, stored.summarize([event]).model_dump_json().encode())
        except OSError as failure:
            raise unusable(place, failure) from failure
        finally:
            if event.kind == "finished" and (lock := self._under_way.pop(event.run, None)):
                lock.release()

    def write_file(self, run: str, name: str, data: bytes) -> None:
        """Stores a file that code of a run wrote."""
        target = self._folder / run / FILES / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        except OSError as failure:
            raise unusable(target, failure) from failure

    def find(self, run: str) -> StoredRun | None:
        """A run; None where there is none."""
        place = self._folder / run
        if place.is_symlink() or not place.is_dir():
            return None
        summary = None
        with suppress(LibraryError, OSError):
            summary = decode_summary(read_plain_file(place / SUMMARY, MAX_LINE_BYTES))
        is_under_way = False
        with suppress(OSError):
            is_under_way = summary is None and is_lock_held(place / LOCK)
        return StoredRun(run, _read_request(place), summary, is_under_way)

    def newest(self, owner: str | None, limit: int | None = None) -> Sequence[StoredRun]:
        """The runs of an owner, or of all (None), the newest first, at most so many."""
        found = (stored for name in self._newest_names() if (stored := self.find(name)))
        return [*islice((stored for stored in found if owner in (None, stored.owner)), limit)]

    def read_events(self, run: str) -> list[TaskEvent]:
        """All complete events of a run, in the order of their numbers."""
        try:
            with open(self._folder / run / EVENTS, "rb", opener=without_waiting) as file:
                said = file.read(MAX_EVENTS_BYTES + MAX_LINE_BYTES)
        except OSError:
            return []
        return decode_events(said[: said.rfind(b"\n") + 1].splitlines())

    def file_sizes(self, run: str) -> dict[str, int]:
        """The bytes of each file that code of a run wrote, by its name; links are passed over."""
        root, found = self._folder / run / FILES, dict[str, int]()
        for place, folders, names in os.walk(root) if not root.is_symlink() else ():
            folders.sort()
            for path in (Path(place) / name for name in sorted(names)):
                name = path.relative_to(root).as_posix()
                if is_file_name(name) and path.is_file() and not path.is_symlink() and len(found) < MAX_FILES:
                    with suppress(OSError):
                        found[name] = path.stat().st_size
        return found

    def read_file(self, run: str, name: str) -> bytes | None:
        """One of these files; None where there is none."""
        with suppress(OSError):
            return (self._folder / run / FILES / name).read_bytes() if name in self.file_sizes(run) else None
        return None

    def _newest_names(self) -> list[str]:
        found = []
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if RUN_ID.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
                began = 0.0
                with suppress(OSError):
                    began = (path / REQUEST).lstat().st_mtime
                found.append((began, path.name))
        return [name for _, name in sorted(found, reverse=True)]

    def _make_room(self, owner: str) -> None:
        """Removes runs that are not under way until another one of an owner fits."""
        for left in self._folder.glob(f"{_GONE}*"):
            shutil.rmtree(left, ignore_errors=True)
        sizes = {name: _size_of(self._folder / name) for name in reversed(self._newest_names())}
        if len(sizes) < self._max_runs and sum(sizes.values()) <= self._max_bytes:
            return  # without a look at owners and locks
        oldest_first = [
            (name, stored.owner, size, name not in self._under_way and not stored.is_under_way)
            for name, size in sizes.items()
            if (stored := self.find(name))
        ]
        for name in choose_surplus_runs(oldest_first, owner, self._max_runs, self._max_bytes):
            _remove(self._folder / name)


def _read_request(place: Path) -> dict[str, Any]:
    with suppress(LibraryError, OSError, ValueError, RecursionError):
        read = json.loads(read_plain_file(place / REQUEST))
        return read if isinstance(read, dict) else {}
    return {}


def _size_of(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += (Path(place) / name).lstat().st_size
    return total


def _remove(path: Path) -> None:
    """Renames the folder before it is deleted, so that no reader meets half a run."""
    aside = path.with_name(f"{_GONE}{secrets.token_hex(8)}")
    try:
        path.rename(aside)
    except OSError:  # another process was first, or Windows has a file of it open
        return
    shutil.rmtree(aside, ignore_errors=True)
