"""LanceDB tables of memories in `memory.lance`, one for each kind, safe among processes.

A damaged table is set aside and begun anew: memory is a help, and no run waits for a person to mend it. LanceDB is
imported when a table is first opened.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio.to_thread

from alita_mcp.agent.memory.records import Memorable, MemoryKind, Row, document_of, read
from alita_mcp.agent.memory.word_index import WordIndex
from alita_mcp.errors import LibraryError
from alita_mcp.library.search.lance_table import LanceTable, TableBusy, quoted, remove_table
from alita_mcp.library.words.documents import Document

FOLDER, DAMAGED = "memory.lance", "memory.damaged"
MOST_SET_ASIDE = 3
COLUMNS = ("name", "body", "at", "touched")
_log = logging.getLogger(__name__)


class MemoryTable:
    """Table of all memories of one kind; `rows`, `values` and `words` are those of the last `refresh`."""

    def __init__(self, home: Path, kind: MemoryKind) -> None:
        self.kind = kind
        self.rows: dict[str, Row] = {}
        self.values: dict[str, Memorable] = {}
        self.words = WordIndex()
        self._home = home
        self._table = LanceTable(home / FOLDER, kind, _columns, holds="memories")
        self._version: int | None = None

    async def refresh(self) -> None:
        """Reads what other processes have written since.

        Raises:
            LibraryError: it cannot be read, nor set aside; TableBusy where another process holds the lock.
        """
        for _ in range(2):  # rows that another process folds away are gone under the reader once
            inode = _inode(self._place)
            try:
                await self._read()
            except TableBusy:
                raise
            except LibraryError:
                self.close()
            else:
                return
        await self._set_aside(inode)
        await self._read()

    @property
    def _place(self) -> Path:
        return self._home / FOLDER / f"{self.kind}.lance"

    async def _read(self) -> None:
        if not self._table.is_open:
            await self._table.open()
            self._version = None
        with self._table.translated():
            version = await self._table.rows.version()
            if version == self._version:
                return
            found = await self._table.rows.query().select(list(COLUMNS)).to_arrow()
            await anyio.to_thread.run_sync(self._take, found)
        self._version = version

    def _take(self, found: Any) -> None:
        columns = (found[column].to_pylist() for column in COLUMNS)
        rows = {each[0]: Row(*each) for each in zip(*columns, strict=True)}
        values: dict[str, Memorable] = {}
        changed: dict[str, Document] = {}
        for name, row in rows.items():
            known = self.rows.get(name)
            if known is not None and known.body == row.body:
                if name in self.values:
                    values[name] = self.values[name]
            elif (value := read(self.kind, row.body)) is not None:
                values[name] = value
                changed[name] = document_of(value)
        self.words.change(changed, self.values.keys() - values.keys())
        self.rows, self.values = rows, values

    async def write(self, rows: Sequence[Row], removed: Collection[str]) -> None:
        """Writes and removes rows; call it under the lock."""
        await self._table.write([{**row._asdict(), "text_hash": ""} for row in rows], removed)
        await self.refresh()

    async def touch(self, used: Mapping[str, float]) -> None:
        """Records that memories were used."""
        known = used.keys() & self.rows.keys()
        if known:
            latest = max(used[name] for name in known)
            with self._table.translated():
                await self._table.rows.update({"touched": latest}, where=f"name IN ({quoted(known)})")

    async def purge(self) -> None:
        """Removes deleted rows from the disk."""
        await self._table.purge()

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Holds the lock of all tables, so that one process at a time changes the memory."""
        async with self._table.locked():
            yield

    def empty(self) -> None:
        """Clears what was read, after all was removed from the disk."""
        self.close()
        self.words.change({}, self.values.keys())
        self.rows, self.values = {}, {}

    def close(self) -> None:
        """Closes the files."""
        self._table.close()
        self._version = None

    async def _set_aside(self, inode: int | None) -> None:
        """Moves the damaged table away, unless another process has begun a new one meanwhile."""
        async with self.locked():
            folder = self._home / FOLDER
            place = self._place if folder.is_dir() else folder
            if place == folder or _inode(place) == inode:
                await anyio.to_thread.run_sync(_move_away, place, self._home / DAMAGED)


def exists(home: Path) -> bool:
    """Whether a home has a memory, by its folder alone."""
    folder = home / FOLDER
    try:
        return folder.is_file() or any(folder.glob("*.lance"))
    except OSError:
        return False


def remove_all(home: Path) -> None:
    """Removes all memories from the disk, damaged ones that were set aside too."""
    for place in (home / FOLDER, home / DAMAGED):
        remove_table(place)


def make_private(home: Path) -> None:
    """Creates the memory's folder, readable by its owner only where the system knows owners."""
    folder = home / FOLDER
    if not folder.exists():
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)


def _move_away(place: Path, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True, mode=0o700)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    try:
        place.rename(to / f"{place.stem}-{moment}")
    except FileNotFoundError:
        return
    except OSError as failure:
        raise LibraryError(f"{place} is damaged and cannot be moved away: {failure}.") from failure
    _log.warning("%s was damaged; it lies in %s now, and a new one begins.", place, to)
    for old in sorted(to.iterdir(), key=lambda each: each.name.rpartition("-")[2])[:-MOST_SET_ASIDE]:
        remove_table(old)


def _inode(place: Path) -> int | None:
    try:
        return place.stat().st_ino
    except OSError:
        return None


def _columns() -> Sequence[Any]:
    import pyarrow as pa

    return [
        pa.field("body", pa.string(), nullable=False),
        pa.field("at", pa.string(), nullable=False),
        pa.field("touched", pa.float64(), nullable=False),
    ]
