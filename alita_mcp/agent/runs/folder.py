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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from alita_mcp.agent.runs.records import (
    MAX_EVENTS_BYTES,
    MAX_LINE_BYTES,
    RunRecord,
    choose_surplus_runs,
    decode_events,
    encode_event,
    no_run,
)
from alita_mcp.agent.values import RunSummary, TaskEvent
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


class RunFolder(RunRecord):
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.name)
        self.path = path

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
        """Appends an event; the last one is synced to the disk, and a summary spares listings the events.

        Raises:
            LibraryError: it cannot be written.
        """
        line = encode_event(event)
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
        if event.kind == "finished":
            with suppress(OSError):
                write_whole(self.path / SUMMARY, self.summarize([event]).model_dump_json().encode())

    def read_events(self) -> list[TaskEvent]:
        """As `RunRecord` says."""
        try:
            with open(self.path / EVENTS, "rb", opener=without_waiting) as file:
                said = file.read(MAX_EVENTS_BYTES + MAX_LINE_BYTES)
        except OSError:
            return []
        return decode_events(said[: said.rfind(b"\n") + 1].splitlines())

    def read_summary(self) -> RunSummary | None:
        """As `RunRecord` says."""
        with suppress(LibraryError, OSError, ValidationError):
            return RunSummary.model_validate_json(read_plain_file(self.path / SUMMARY, MAX_LINE_BYTES))
        return None

    def file_sizes(self) -> dict[str, int]:
        """As `RunRecord` says; links are passed over."""
        root, found = self.path / FILES, dict[str, int]()
        for place, folders, names in os.walk(root) if not root.is_symlink() else ():
            folders.sort()
            for path in (Path(place) / name for name in sorted(names)):
                name = path.relative_to(root).as_posix()
                if is_file_name(name) and path.is_file() and not path.is_symlink() and len(found) < MAX_FILES:
                    with suppress(OSError):
                        found[name] = path.stat().st_size
        return found

    def read_file(self, name: str) -> bytes | None:
        """As `RunRecord` says."""
        with suppress(OSError):
            return (self.path / FILES / name).read_bytes() if name in self.file_sizes() else None
        return None

    def write_file(self, name: str, data: bytes) -> None:
        """Writes a file that code of the run wrote.

        Raises:
            LibraryError: it cannot be written.
        """
        target = self.path / FILES / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        except OSError as failure:
            raise unusable(target, failure) from failure

    def request(self) -> dict[str, Any]:
        """As `RunRecord` says."""
        with suppress(LibraryError, OSError, ValueError, RecursionError):
            read = json.loads(read_plain_file(self.path / REQUEST))
            return read if isinstance(read, dict) else {}
        return {}

    def is_under_way(self) -> bool:
        """As `RunRecord` says."""
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


class RunFolders:
    """The `RunRecords` of one machine."""

    def __init__(self, folder: Path, max_runs: int, max_bytes: int) -> None:
        """The folder is made when the first run begins."""
        self._folder = folder
        self._max_runs = max_runs
        self._max_bytes = max_bytes
        self._under_way: dict[str, FileLock] = {}
        self._room = threading.Lock()

    def create(self, run: str, request: dict[str, Any], owner: str) -> None:
        """As `RunRecords` says."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as failure:
            raise unusable(self._folder, failure) from failure
        with self._room:
            self._make_room(owner)
        self._under_way[run] = RunFolder(self._folder / run).create(request)

    def append_event(self, event: TaskEvent) -> None:
        """As `RunRecords` says."""
        try:
            self._get(event.run).append_event(event)
        finally:
            if event.kind == "finished" and (lock := self._under_way.pop(event.run, None)):
                lock.release()

    def write_file(self, run: str, name: str, data: bytes) -> None:
        """As `RunRecords` says."""
        self._get(run).write_file(name, data)

    def find(self, run: str) -> RunFolder | None:
        """As `RunRecords` says."""
        path = self._folder / run
        return None if path.is_symlink() or not path.is_dir() else RunFolder(path)

    def newest(self, owner: str | None, limit: int | None = None) -> Sequence[RunFolder]:
        """As `RunRecords` says."""
        names = [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []
        records = [record for name in names if RUN_ID.fullmatch(name) and (record := self.find(name))]
        own = [record for record in records if owner is None or record.owner() == owner]
        return sorted(own, key=lambda record: (record.began_at(), record.run), reverse=True)[:limit]

    def _get(self, run: str) -> RunFolder:
        record = self.find(run)
        if record is None:
            raise no_run(run)
        return record

    def _make_room(self, owner: str) -> None:
        """Removes runs that are not under way until another one of an owner fits."""
        for left in self._folder.glob(f"{_GONE}*"):
            shutil.rmtree(left, ignore_errors=True)
        sizes = {record: record.size() for record in reversed(self.newest(None))}
        if len(sizes) < self._max_runs and sum(sizes.values()) <= self._max_bytes:
            return  # without a look at owners and locks
        oldest_first = [
            (
                record,
                record.owner(),
                size,
                record.run not in self._under_way and not record.is_under_way(),
            )
            for record, size in sizes.items()
        ]
        for record in choose_surplus_runs(oldest_first, owner, self._max_runs, self._max_bytes):
            _remove(record.path)


def _remove(path: Path) -> None:
    """Renames the folder before it is deleted, so that no reader meets half a run."""
    aside = path.with_name(f"{_GONE}{secrets.token_hex(8)}")
    try:
        path.rename(aside)
    except OSError:  # another process was first, or Windows has a file of it open
        return
    shutil.rmtree(aside, ignore_errors=True)
