"""LanceDB table of rows with a name and a hash, safe among processes, compacted now and then.

The only module that imports lancedb and pyarrow, on first use, in a thread. What they raise comes out as
`LibraryError`; the caller rebuilds.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.errors import ExtraMissing, LibraryError
from alita_mcp.extras import importing
from alita_mcp.file_locks import awaited
from alita_mcp.settings import quiet_lancedb

FRAGMENTS_BEFORE_FOLDING = 20
ROWS_BEFORE_FOLDING = 400
"""Rows that the approximate index does not know yet are searched one by one."""
KEPT_AFTER_FOLDING = timedelta(minutes=1)
"""Far longer than any query that still reads what was folded."""
AT_ONCE = timedelta(milliseconds=1)
"""LanceDB warns of none at all."""
ROWS_A_WRITE = 5_000
LOCK_TIMEOUT_S = 10.0
ATTEMPTS = 5
"""How often a write that another process's commit preempted is tried; LanceDB itself tries for 30 s before."""


class TableBusy(LibraryError):
    """Error of a table whose lock another process holds; it can be tried again."""


class LanceTable:
    """A table in a folder of tables; several processes may use it at once."""

    def __init__(
        self, folder: Path, name: str, columns: Callable[[], Sequence[Any]], *, holds: str = "vectors"
    ) -> None:
        """`columns` are the pyarrow fields besides `name` and `text_hash`; another schema gets another name."""
        self.folder = folder
        self.name = name
        self._columns = columns
        self._holds = holds
        self._lock = folder.with_suffix(".lock")
        self._db: Any = None
        self.rows: Any = None
        """LanceDB's own table, while this is open."""
        self._wrote = False

    @property
    def is_open(self) -> bool:
        """Whether queries can be asked."""
        return self.rows is not None

    async def open(self) -> None:
        """Opens the table, making it when there is none; the first time costs a second for the import.

        Raises:
            ExtraMissing: lancedb is not installed.
            LibraryError: it cannot be read or made, or is one of another schema; TableBusy where others change it.
        """
        with self.translated():
            lancedb = await anyio.to_thread.run_sync(_load)
            self._db = await lancedb.connect_async(self.folder, read_consistency_interval=timedelta(0))
            async with AsyncExitStack() as stack:
                try:
                    (await self._db.open_table(self.name)).close()
                except (
                    ValueError,
                    RuntimeError,
                    OSError,
                ):  # of several that make one at once LanceDB lets some fail
                    await stack.enter_async_context(self.locked())
                self.rows = await self._db.create_table(self.name, schema=self._schema(), exist_ok=True)

    def _schema(self) -> Any:
        import pyarrow as pa

        key = {"lance-schema:unenforced-primary-key": "true"}  # or two writers of one new name make two rows
        name = pa.field("name", pa.string(), nullable=False, metadata=key)
        return pa.schema([name, pa.field("text_hash", pa.string(), nullable=False), *self._columns()])

    def close(self) -> None:
        """Closes the files; the table can be opened again."""
        for handle in (self.rows, self._db):
            if handle is not None:
                handle.close()
        self.rows = self._db = None

    async def reset(self) -> None:
        """Removes the table from the disk."""
        self.close()
        place = self.folder / f"{self.name}.lance"
        with self.translated():
            async with self.locked():
                await anyio.to_thread.run_sync(_remove, place)

    async def hashes(self) -> dict[str, str]:
        """The hash of each row by its name; an empty one where several rows have that name."""
        found = await self.rows.query().select(["name", "text_hash"]).to_arrow()
        return await anyio.to_thread.run_sync(_by_name, found)

    async def remove(self, names: Collection[str]) -> None:
        """Deletes the rows of these names."""
        if names:
            await self._again(lambda: self.rows.delete(f"name IN ({quoted(names)})"))
            self._wrote = True

    async def put(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes rows, in place of those that have their names."""
        import pyarrow as pa

        for at in range(0, len(rows), ROWS_A_WRITE):
            some = list(rows[at : at + ROWS_A_WRITE])
            batch = await anyio.to_thread.run_sync(partial(pa.Table.from_pylist, some, schema=self._schema()))
            await self._again(lambda batch=batch: self._merge(batch))  # type: ignore[misc]
            self._wrote = True

    async def _merge(self, batch: Any) -> None:
        merge = self.rows.merge_insert("name").when_matched_update_all().when_not_matched_insert_all()
        await merge.use_index(False).execute(batch)

    async def _again(self, write: Callable[[], Awaitable[Any]]) -> None:
        """Writes, and once more where another process's commit came first."""
        for attempt in range(ATTEMPTS):
            try:
                await write()
            except (RuntimeError, OSError) as failure:
                if not _is_conflict(failure) or attempt == ATTEMPTS - 1:
                    raise
            else:
                return
            await anyio.sleep(random.uniform(0.01, 0.05) * 2**attempt)  # noqa: S311 - only spreads the writers

    async def fold(self) -> None:
        """Compacts many small writes and takes new rows into the indexes, now and then; call it under the lock."""
        wrote, self._wrote = self._wrote, False
        if not wrote or not await self._is_scattered():
            return
        try:
            await self.rows.optimize(cleanup_older_than=KEPT_AFTER_FOLDING)
        except (RuntimeError, OSError) as failure:
            if not _is_conflict(failure):
                raise

    async def _is_scattered(self) -> bool:
        if (await self.rows.stats())["fragment_stats"]["num_fragments"] >= FRAGMENTS_BEFORE_FOLDING:
            return True
        for index in await self.rows.list_indices():
            found = await self.rows.index_stats(index.name)
            if found is not None and found.num_unindexed_rows >= ROWS_BEFORE_FOLDING:
                return True
        return False

    async def purge(self) -> None:
        """Removes from the disk what was deleted or replaced; call it under the lock, for no reader waits for it."""
        await self.rows.optimize(cleanup_older_than=AT_ONCE, delete_unverified=True)

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """One process at a time changes rows, so that none writes what another already made obsolete.

        Raises:
            TableBusy: another one is at it for long, as when it builds a large index.
        """
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(awaited(self._lock, LOCK_TIMEOUT_S))
            except TimeoutError as late:
                raise TableBusy(
                    f"{self.folder} has been changed by another process for {LOCK_TIMEOUT_S:g} s.",
                    hint="Try again in a moment.",
                ) from late
            yield

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Translates errors of LanceDB to those of alita."""
        try:
            yield
        except (LibraryError, ExtraMissing):
            raise
        except Exception as error:  # a panic in its Rust is an Exception of no public class
            raise LibraryError(
                f"The {self._holds} in {self.folder} cannot be used: {error}.",
                hint="Move that folder aside: alita then begins anew.",
            ) from error


def quoted(names: Collection[str]) -> str:
    """Names as a list in a condition."""
    return ", ".join("'" + name.replace("'", "''") + "'" for name in sorted(names))


def _is_conflict(failure: Exception) -> bool:
    return "conflict" in str(failure).lower()


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _by_name(found: Any) -> dict[str, str]:
    names = found["name"].to_pylist()
    there = dict(zip(names, found["text_hash"].to_pylist(), strict=True))
    twice = [name for name, rows in Counter(names).items() if rows > 1] if len(there) < len(names) else ()
    return there | dict.fromkeys(twice, "")


def _load() -> Any:
    quiet_lancedb()
    with importing("search"):
        import lancedb
        import pyarrow as pa  # noqa: F401 - loaded here, in the thread, because the schema needs it

    return lancedb
