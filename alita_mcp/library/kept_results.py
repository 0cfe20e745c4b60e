"""Bounded store of whole results whose shown form was cut, and of files of runs, under unguessable names."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from io import BytesIO

from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.library.packed_files import pack_files, read_packed_file
from alita_mcp.library.storage import Storage
from alita_mcp.owners import USER

MAX_RUNS = 100
MAX_BYTES = 64 << 20
_RUN_ID = re.compile(r"[0-9a-f]{32}")


class KeptResults:
    """Newest results and files of an owner's runs; older ones are dropped to keep the bound of all owners together."""

    def __init__(self, storage: Storage, owner: str = USER) -> None:
        self._files = storage.files("runs", MAX_RUNS, MAX_BYTES)
        self._owner = owner

    def keep(self, result: bytes) -> str:
        """Stores a result, a JSON text; returns the name to read it by.

        Raises:
            LibraryError: it is larger than the store, or than this owner's share of a full one, or the disk refuses.
        """
        run = secrets.token_hex(16)
        self._write(f"{run}.json", result)
        return run

    def keep_files(self, run: str, files: Mapping[str, bytes]) -> None:
        """Stores the files that a run left, under the run's name; raises as `keep`."""
        if not _RUN_ID.fullmatch(run):
            raise ValueError(run)
        self._write(f"{run}.files", pack_files(files))

    def read_result(self, run: str) -> bytes:
        """A stored result as it was handed in.

        Raises:
            ToolNotFound: there is no result of that name, or it was evicted.
        """
        result = self._read(run, "json")
        if result is None:
            raise ToolNotFound(
                f"There is no run {run[:40]!r}.", hint="Only the newest results are kept; call again."
            )
        try:
            json.loads(result)
        except ValueError as broken:
            raise ToolNotFound(
                f"The result of run {run!r} cannot be read.", hint="Call the tool again."
            ) from broken
        return result

    def read_file(self, run: str, name: str) -> bytes:
        """One of the files that a run left.

        Raises:
            ToolNotFound: there is no result of that name, or it was evicted.
        """
        packed, found = self._read(run, "files"), None
        if packed is not None:
            try:
                found = read_packed_file(BytesIO(packed), name)
            except (ValueError, TypeError) as broken:
                raise ToolNotFound(
                    f"The files of run {run!r} cannot be read.", hint="Run it again."
                ) from broken
        if found is None:
            raise ToolNotFound(
                f"There is no file {name[:80]!r} of run {run[:40]!r}.",
                hint="Only the newest results and files are kept; run it again.",
            )
        return found

    def _read(self, run: str, kind: str) -> bytes | None:
        return self._files.read_file(f"{run}.{kind}", self._owner) if _RUN_ID.fullmatch(run) else None

    def _write(self, name: str, content: bytes) -> None:
        if len(content) > MAX_BYTES or not self._files.write_file(name, content, self._owner):
            raise LibraryError(f"{len(content):,} bytes are too large to keep.", hint="Ask for less.")
