"""LanceDB table of rows with a name and a hash, safe among processes, compacted now and then.

The only module that imports lancedb and pyarrow, on first use, in a thread. What they raise comes out as
`LibraryError`; the caller rebuilds.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.errors import ExtraMissing, LibraryError
from alita_mcp.extras import extra_imports
from alita_mcp.file_locks import wait_for_lock
from alita_mcp.settings import quiet_lancedb

FRAGMENTS_BEFORE_FOLDING = 20
KEPT_AFTER_FOLDING = timedelta(minutes=1)
"""Far longer than any query that still reads what was folded."""
LOCK_TIMEOUT_S = 10.0


class TableBusy(LibraryError):
    """Error of a table whose lock another process holds; it can be tried again."""


class LanceTable:
    """A table in a folder of tables; several processes may use it at once. Whoever writes holds `locked`."""

    def __init__(self, folder: Path, name: str, columns: Callable[[], Sequence[Any]]) -> None:
        """`columns` are the pyarrow fields besides `name` and `text_hash`; another schema gets another name."""
        self.folder = folder
        self.name = name
        self._columns = columns
        self._lock = folder.with_suffix(".lock")
        self._db: Any = None
        self.rows: Any = None
        """LanceDB's own table, while this is open."""

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
            lancedb = await anyio.to_thread.run_sync(_import_lancedb)
            self._db = await lancedb.connect_async(self.folder, read_consistency_interval=timedelta(0))
            async with AsyncExitStack() as stack:
                try:
                    (await self._db.open_table(self.name)).close()
                except (ValueError, RuntimeError, OSError):  # of several that make it at once some would fail
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
        with self.translated():
            async with self.locked():
                await anyio.to_thread.run_sync(remove_table, self.folder / f"{self.name}.lance")

    async def hashes(self) -> dict[str, str]:
        """The hash of each row by its name."""
        with self.translated():
            found = await self.rows.query().select(["name", "text_hash"]).to_arrow()
            return dict(zip(found["name"].to_pylist(), found["text_hash"].to_pylist(), strict=True))

    async def write(self, rows: Sequence[Mapping[str, Any]], removed: Collection[str]) -> None:
        """Writes rows in place of those that have their names, removes others, and compacts many small writes."""
        import pyarrow as pa

        with self.translated():
            if removed:
                await self.rows.delete(f"name IN ({quoted(removed)})")
            if rows:
                make = partial(pa.Table.from_pylist, list(rows), schema=self._schema())
                batch = await anyio.to_thread.run_sync(make)
                merge = self.rows.merge_insert("name").when_matched_update_all().when_not_matched_insert_all()
                await merge.execute(batch)
            if (await self.rows.stats())["fragment_stats"]["num_fragments"] >= FRAGMENTS_BEFORE_FOLDING:
                await self.rows.optimize(cleanup_older_than=KEPT_AFTER_FOLDING)

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """One process at a time changes rows, so that none writes what another already made obsolete.

        Raises:
            TableBusy: another one is at it for long, as when it embeds a large library.
        """
        async with AsyncExitStack() as stack:
            with self.translated():
                try:
                    await stack.enter_async_context(wait_for_lock(self._lock, LOCK_TIMEOUT_S))
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
                f"The vectors in {self.folder} cannot be used: {error}.",
                hint="Move that folder aside: alita then begins anew.",
            ) from error


def quoted(names: Collection[str]) -> str:
    """Names as a list in a condition."""
    return ", ".join("'" + name.replace("'", "''") + "'" for name in sorted(names))


def remove_table(place: Path) -> None:
    """Removes a table, or a file in its place, from the disk."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _import_lancedb() -> Any:
    quiet_lancedb()
    with extra_imports("search"):
        import lancedb
        import pyarrow as pa  # noqa: F401 - loaded here, in the thread, because the schema needs it

    return lancedb
