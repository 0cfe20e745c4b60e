"""LanceDB table of vectors by name, safe among processes, compacted now and then.

The only module that imports lancedb and pyarrow, on first use, in a thread. What they raise comes out as
`LibraryError`; the caller rebuilds.
"""

from __future__ import annotations

import io
import shutil
import zipfile
import zlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.errors import ExtraMissing, LibraryError
from alita_mcp.extras import extra_imports
from alita_mcp.file_locks import wait_for_lock
from alita_mcp.library.disk import replace_file
from alita_mcp.machine import find_cause, unusable
from alita_mcp.models.embedding.interface import Vector, check_length
from alita_mcp.settings import quiet_lancedb

FRAGMENTS_BEFORE_FOLDING = 20
KEPT_AFTER_FOLDING = timedelta(minutes=1)
"""Far longer than any query that still reads what was folded."""
LOCK_TIMEOUT_S = 10.0


class TableBusy(LibraryError):
    """Error of a table whose lock another process holds; it can be tried again."""


class VectorTable:
    """The vectors of one embedder; several processes may use them at once. Whoever writes holds `lock`."""

    def __init__(self, folder: Path, name: str, length: int) -> None:
        """Vectors of another embedder or of another length stand in a table of another name."""
        self.folder = folder
        self.name = name
        self.length = length
        self._db: Any = None
        self._rows: Any = None
        """LanceDB's own table, while this is open."""
        self._kept: tuple[list[str], Any] | None = None
        """Names and vectors of all rows as the last query found them, until rows change or are looked through again."""
        self._snapshot = folder / f"{name}.npz"
        """All rows as the last process left them, which a query reads without LanceDB and its 125 MB."""

    @property
    def is_open(self) -> bool:
        """Whether queries can be asked."""
        return self._rows is not None

    def load_snapshot(self, wanted: Mapping[str, str]) -> bool:
        """Whether the snapshot has exactly the rows of these names and hashes; queries are then answered from it.

        Raises:
            ExtraMissing: numpy is not installed.
        """
        with extra_imports("search"):
            import numpy as np
        try:
            with self._snapshot.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                names, hashes = saved["names"].tolist(), saved["hashes"].tolist()
                vectors = saved["vectors"]
        except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error):
            return False
        if vectors.shape != (len(names), self.length) or dict(zip(names, hashes, strict=True)) != dict(
            wanted
        ):
            return False
        self._kept = (names, vectors)
        return True

    async def save_snapshot(self) -> None:
        """Writes all rows where `load_snapshot` finds them; without room for it, the next process opens the table."""
        import numpy as np

        with self._translate_errors():
            found = await self._rows.query().select(["name", "text_hash", "vector"]).to_arrow()
        names, hashes = found["name"].to_pylist(), found["text_hash"].to_pylist()
        vectors = self._vectors_of(found).astype(np.float32)
        self._kept = (names, vectors)

        def write() -> None:
            saved = io.BytesIO()
            # text of a fixed width, since arrays of objects are read by unpickling
            np.savez(saved, names=np.array(names, str), hashes=np.array(hashes, str), vectors=vectors)
            replace_file(self._snapshot, saved.getvalue())

        with suppress(OSError):
            await anyio.to_thread.run_sync(write)

    def _vectors_of(self, found: Any) -> Any:
        return found["vector"].combine_chunks().flatten().to_numpy().reshape(-1, self.length)

    async def open(self) -> None:
        """Opens the table, making it when there is none; the first time costs a second for the import.

        Raises:
            ExtraMissing: lancedb is not installed.
            LibraryError: it cannot be read or made, or is one of another schema; TableBusy where others change it.
        """
        with self._translate_errors():
            lancedb = await anyio.to_thread.run_sync(_import_lancedb)
            # LanceDB's caches would keep up to 7 GB of earlier versions, one for each write, that nothing asks for.
            no_caches = lancedb.Session(index_cache_size_bytes=0, metadata_cache_size_bytes=0)
            self._db = await lancedb.connect_async(
                self.folder, read_consistency_interval=timedelta(0), session=no_caches
            )
            async with AsyncExitStack() as stack:
                try:
                    (await self._db.open_table(self.name)).close()
                except (ValueError, RuntimeError, OSError):  # of several that make it at once some would fail
                    await stack.enter_async_context(self.lock())
                self._rows = await self._db.create_table(self.name, schema=self._schema(), exist_ok=True)

    def _schema(self) -> Any:
        import pyarrow as pa

        key = {"lance-schema:unenforced-primary-key": "true"}  # or two writers of one new name make two rows
        return pa.schema(
            [
                pa.field("name", pa.string(), nullable=False, metadata=key),
                pa.field("text_hash", pa.string(), nullable=False),
                pa.field("vector", pa.list_(pa.float32(), self.length), nullable=False),
            ]
        )

    def close(self) -> None:
        """Closes the files; the table can be opened again."""
        for handle in (self._rows, self._db):
            if handle is not None:
                handle.close()
        self._rows = self._db = self._kept = None

    async def remove(self) -> None:
        """Removes the table, or a file in its place, from the disk."""
        self.close()
        self._snapshot.unlink(missing_ok=True)
        place = self.folder / f"{self.name}.lance"
        with self._translate_errors():
            async with self.lock():
                if place.is_dir() and not place.is_symlink():
                    await anyio.to_thread.run_sync(shutil.rmtree, place, True)
                else:
                    place.unlink(missing_ok=True)

    async def read_hashes(self) -> dict[str, str]:
        """The hash of each row by its name."""
        self._kept = None
        with self._translate_errors():
            found = await self._rows.query().select(["name", "text_hash"]).to_arrow()
            return dict(zip(found["name"].to_pylist(), found["text_hash"].to_pylist(), strict=True))

    async def nearest(self, vector: Vector, limit: int) -> dict[str, float]:
        """Cosines of the rows nearest to a vector of length one, by their names.

        Raises:
            ModelError: the vector is not of this table's length.
            LibraryError: the table cannot be read.
        """
        import numpy as np

        check_length(self.name, vector, self.length)
        with self._translate_errors():
            kept = self._kept
            if kept is None:
                found = await self._rows.query().select(["name", "vector"]).to_arrow()
                kept = self._kept = (found["name"].to_pylist(), self._vectors_of(found))
            names, vectors = kept
            cosines = vectors @ np.asarray(vector, np.float32)
            return {names[row]: float(cosines[row]) for row in np.argsort(-cosines, kind="stable")[:limit]}

    async def delete(self, names: Collection[str]) -> None:
        """Removes the rows of these names."""
        self._kept = None
        if names:
            with self._translate_errors():
                quoted = ("'" + name.replace("'", "''") + "'" for name in sorted(names))
                await self._rows.delete(f"name IN ({', '.join(quoted)})")

    async def write_vectors(self, rows: Sequence[tuple[str, str, Vector]]) -> None:
        """Writes names, hashes and vectors in place of the rows that have these names; folds many small writes."""
        import pyarrow as pa

        self._kept = None

        def batch() -> Any:
            columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
            return pa.table(columns, schema=self._schema())

        with self._translate_errors():
            merge = self._rows.merge_insert("name").when_matched_update_all().when_not_matched_insert_all()
            await merge.execute(await anyio.to_thread.run_sync(batch))
            if (await self._rows.stats())["fragment_stats"]["num_fragments"] >= FRAGMENTS_BEFORE_FOLDING:
                await self._rows.optimize(cleanup_older_than=KEPT_AFTER_FOLDING)

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """One process at a time changes rows, so that none writes what another already made obsolete.

        Raises:
            TableBusy: another one is at it for long, as when it embeds a large library.
        """
        async with AsyncExitStack() as stack:
            with self._translate_errors():
                try:
                    await stack.enter_async_context(
                        wait_for_lock(self.folder.with_suffix(".lock"), LOCK_TIMEOUT_S)
                    )
                except TimeoutError as late:
                    raise TableBusy(
                        f"{self.folder} has been changed by another process for {LOCK_TIMEOUT_S:g} s.",
                        hint="Try again in a moment.",
                    ) from late
            yield

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (LibraryError, ExtraMissing):
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise  # a panic in its Rust is of no public class
            if cause := find_cause(self.folder.parent):
                raise unusable(self.folder, cause) from error
            raise LibraryError(
                f"The vectors in {self.folder} cannot be used: {error}.",
                hint="Move that folder aside: alita then begins anew.",
            ) from error


def _import_lancedb() -> Any:
    quiet_lancedb()
    with extra_imports("search"):
        import lancedb
        import pyarrow as pa  # noqa: F401 - loaded here, in the thread, because the schema needs it

    return lancedb
