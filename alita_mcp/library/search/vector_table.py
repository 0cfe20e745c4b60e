"""Vectors of tools by name in a LanceDB table that is read and written whole, and a snapshot for all who only search.

The only module that imports lancedb and pyarrow, on first use, in a thread. What they raise comes out as
`LibraryError`.
"""

from __future__ import annotations

import io
import shutil
import zipfile
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.errors import ExtraMissing, FileRefused, LibraryError
from alita_mcp.extras import extra_imports
from alita_mcp.file_locks import wait_for_lock
from alita_mcp.library.disk import replace_file
from alita_mcp.machine import find_cause, unusable
from alita_mcp.models.embedding.interface import Vector, check_length
from alita_mcp.settings import quiet_lancedb

LOCK_TIMEOUT_S = 10.0


class VectorTable:
    """The vectors of one embedder, in memory as on the disk.

    Several processes may use them; whoever opens LanceDB's table holds `lock`.
    """

    def __init__(self, folder: Path, name: str, length: int) -> None:
        """Vectors of another embedder or of another length stand in a table of another name."""
        self.folder = folder
        self.name = name
        self.length = length
        self._rows: tuple[dict[str, str], Any] = ({}, None)
        """Hashes by the names of the tools, and their vectors in that order; one value, since threads replace it."""
        self._snapshot = folder / f"{name}.npz"
        """All rows once more, which a search reads without LanceDB and its 125 MB."""

    @property
    def count(self) -> int:
        """How many tools have their vectors."""
        return len(self._rows[0])

    def load_snapshot(self, wanted: Mapping[str, str]) -> list[str]:
        """Reads the vectors of these names and hashes; returns the names of those that the snapshot lacks.

        Raises:
            ExtraMissing: numpy is not installed.
        """
        with extra_imports("search"):
            import numpy as np
        saved, vectors = [], np.empty((0, self.length), np.float32)
        damages = (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)
        with (
            suppress(*damages),
            self._snapshot.open("rb") as file,
            np.load(file, allow_pickle=False) as arrays,
        ):
            saved = list(zip(arrays["names"].tolist(), arrays["hashes"].tolist(), strict=True))
            vectors = arrays["vectors"].reshape(len(saved), self.length)
        return self._choose(saved[: len(vectors)], vectors, wanted)

    async def load(self, wanted: Mapping[str, str]) -> list[str]:
        """Reads the same from LanceDB's table; one that cannot be read is made anew.

        Raises:
            ExtraMissing: lancedb is not installed.
            FileRefused: the disk refuses.
        """
        import numpy as np

        saved, vectors = [], np.empty((0, self.length), np.float32)
        try:
            async with self._connect() as db:
                with await db.open_table(self.name) as table:
                    found = await table.query().select(["name", "text_hash", "vector"]).to_arrow()
                saved = list(zip(found["name"].to_pylist(), found["text_hash"].to_pylist(), strict=True))
                vectors = found["vector"].combine_chunks().flatten().to_numpy().reshape(-1, self.length)
        except FileRefused:
            raise
        except LibraryError:
            await anyio.to_thread.run_sync(_remove, self.folder / f"{self.name}.lance")
        lacking = self._choose(saved, vectors, wanted)
        await anyio.to_thread.run_sync(self._save_snapshot)
        return lacking

    async def write_vectors(self, found: Mapping[str, str], vectors: Sequence[Vector]) -> None:
        """Writes the rows that were read, and the vectors of these names and hashes behind them.

        Raises:
            LibraryError: a vector is not of this table's length, or the disk refuses.
        """
        import numpy as np

        known, before = self._rows
        hashes = {**known, **found}
        async with self._connect() as db:
            import pyarrow as pa

            every = np.concatenate([before, np.asarray(vectors, np.float32).reshape(-1, self.length)])
            key = {"lance-schema:unenforced-primary-key": "true"}  # for servers of earlier versions
            fields = [
                pa.field("name", pa.string(), nullable=False, metadata=key),
                pa.field("text_hash", pa.string(), nullable=False),
                pa.field("vector", pa.list_(pa.float32(), self.length), nullable=False),
            ]
            listed = pa.FixedSizeListArray.from_arrays(every.ravel(), self.length)
            rows = pa.table([list(hashes), list(hashes.values()), listed], schema=pa.schema(fields))
            with await db.create_table(self.name, rows, mode="overwrite") as table:
                await table.optimize(cleanup_older_than=timedelta(seconds=1))
        self._rows = hashes, every
        await anyio.to_thread.run_sync(self._save_snapshot)

    def nearest(self, vector: Vector, limit: int) -> dict[str, float]:
        """Cosines of the rows nearest to a vector of length one, by their names.

        Raises:
            ModelError: the vector is not of this table's length.
        """
        import numpy as np

        hashes, vectors = self._rows
        cosines = vectors @ np.asarray(check_length(self.name, vector, self.length), np.float32)
        names = list(hashes)
        return {names[row]: float(cosines[row]) for row in np.argsort(-cosines, kind="stable")[:limit]}

    def _choose(self, saved: Sequence[tuple[str, str]], vectors: Any, wanted: Mapping[str, str]) -> list[str]:
        rows = {name: row for row, (name, digest) in enumerate(saved) if wanted.get(name) == digest}
        hashes = {name: wanted[name] for name in rows}
        self._rows = hashes, vectors[list(rows.values())]
        return [name for name in wanted if name not in hashes]

    def _save_snapshot(self) -> None:
        """Writes all rows where `load_snapshot` finds them; without room for it, the next process opens the table."""
        import numpy as np

        hashes, vectors = self._rows
        saved = io.BytesIO()
        # text of a fixed width, since arrays of objects are read by unpickling
        names, digests = np.array(list(hashes), str), np.array(list(hashes.values()), str)
        np.savez(saved, names=names, hashes=digests, vectors=vectors)
        with suppress(OSError):
            replace_file(self._snapshot, saved.getvalue())

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Any]:
        """LanceDB on the folder; the first time costs a second for the import. What fails in the block is ours."""
        with self._translate_errors():
            lancedb = await anyio.to_thread.run_sync(_import_lancedb)
            # its caches would keep up to 7 GB of earlier versions, one for each write, that nothing asks for
            no_caches = lancedb.Session(index_cache_size_bytes=0, metadata_cache_size_bytes=0)
            with await lancedb.connect_async(self.folder, session=no_caches) as db:
                yield db

    def lock(self) -> AbstractAsyncContextManager[None]:
        """One process at a time opens the table, so that no vector is paid for twice; raises as `hold_lock`."""
        return wait_for_lock(self.folder.with_suffix(".lock"), LOCK_TIMEOUT_S)

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


def _remove(place: Path) -> None:
    """Removes a table, or a file in its place."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        with suppress(OSError):
            place.unlink(missing_ok=True)


def _import_lancedb() -> Any:
    quiet_lancedb()
    with extra_imports("search"):
        import lancedb
        import pyarrow as pa  # noqa: F401 - loaded here, in the thread, because the schema needs it

    return lancedb
