"""Vectors of tools in one file for each embedder, read and written whole: those of 10,000 tools take 5 MB.

The only module that imports numpy, on first use.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from alita_mcp.errors import LibraryError
from alita_mcp.extras import extra_imports
from alita_mcp.file_locks import wait_for_lock
from alita_mcp.library.disk import replace_file
from alita_mcp.machine import unusable
from alita_mcp.models.embedding.interface import Vector

LOCK_TIMEOUT_S = 10.0
_DAMAGES = (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)


class VectorFile:
    """The vectors of one embedder, in memory as in the file. Several processes may use it; who adds holds `lock`."""

    def __init__(self, path: Path, length: int) -> None:
        """Vectors of another embedder or of another length have a file of another name."""
        self._path = path
        self._length = length
        self._rows: tuple[dict[str, str], Any] = ({}, None)
        """Hashes by the names of the tools, and their vectors in that order; one value, since threads replace it."""

    def load(self, wanted: Mapping[str, str]) -> list[str]:
        """Reads the vectors of these names and hashes; returns the names of which there is none.

        A file that is damaged has none.

        Raises:
            ExtraMissing: numpy is not installed.
        """
        with extra_imports("search"):
            import numpy as np
        saved, vectors = [], np.empty((0, self._length), np.float32)
        with suppress(*_DAMAGES), self._path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            saved = list(zip(arrays["names"].tolist(), arrays["hashes"].tolist(), strict=True))
            vectors = arrays["vectors"].reshape(len(saved), self._length)
        rows = [row for row, (name, digest) in enumerate(saved[: len(vectors)]) if wanted.get(name) == digest]
        hashes = dict(saved[row] for row in rows)
        self._rows = hashes, vectors[rows]
        return [name for name in wanted if name not in hashes]

    def add(self, found: Mapping[str, str], vectors: Sequence[Vector]) -> None:
        """Adds the vectors of names and hashes that have none, and writes the file.

        Raises:
            OSError: the disk refuses.
        """
        import numpy as np

        known, before = self._rows
        hashes = {**known, **found}
        every = np.concatenate([before, np.asarray(vectors, np.float32).reshape(-1, self._length)])
        # text of a fixed width, since arrays of objects are read by unpickling
        names, digests = np.array(list(hashes), str), np.array(list(hashes.values()), str)
        written = io.BytesIO()
        np.savez(written, names=names, hashes=digests, vectors=every)
        self._path.parent.mkdir(exist_ok=True)
        replace_file(self._path, written.getvalue())
        self._rows = hashes, every

    def nearest(self, vector: Vector, limit: int) -> dict[str, float]:
        """Cosines of the vectors nearest to one of length one, by the names of their tools."""
        import numpy as np

        hashes, vectors = self._rows
        cosines = vectors @ np.asarray(vector, np.float32)
        names = list(hashes)
        return {names[row]: float(cosines[row]) for row in np.argsort(-cosines, kind="stable")[:limit]}

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """One process at a time adds vectors, so that none is paid for twice.

        Raises:
            LibraryError: another one is at it for long, as when it embeds a large library; or the disk refuses.
        """
        try:
            async with wait_for_lock(self._path.parent.with_suffix(".lock"), LOCK_TIMEOUT_S):
                yield
        except TimeoutError as late:
            raise LibraryError(
                f"{self._path} has been changed by another process for {LOCK_TIMEOUT_S:g} s.",
                hint="Try again in a moment.",
            ) from late
        except OSError as error:
            raise unusable(self._path, error) from error
