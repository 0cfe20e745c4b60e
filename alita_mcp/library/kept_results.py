"""Bounded store of whole results whose shown form was cut, and of files of runs, under unguessable names."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.library.bounded_folder import BoundedFolder
from alita_mcp.library.packed_files import pack_files, read_packed_file
from alita_mcp.machine import unusable
from alita_mcp.owners import USER

MAX_RUNS = 100
MAX_BYTES = 64 << 20
_RUN_ID = re.compile(r"[0-9a-f]{32}")


class KeptResults:
    """Newest results and files of an owner's runs; older ones are dropped to keep the bound of all owners together."""

    def __init__(self, folder: Path, owner: str = USER) -> None:
        self._folder = BoundedFolder(folder, MAX_RUNS, MAX_BYTES)
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
        place = self._find(run, "json")
        if place is None:
            raise ToolNotFound(
                f"There is no run {run[:40]!r}.", hint="Only the newest results are kept; call again."
            )
        try:
            result = place.read_bytes()
            json.loads(result)
        except (OSError, ValueError) as broken:
            raise ToolNotFound(
                f"The result of run {run!r} cannot be read.", hint="Call the tool again."
            ) from broken
        return result

    def read_file(self, run: str, name: str) -> bytes:
        """One of the files that a run left.

        Raises:
            ToolNotFound: there is no result of that name, or it was evicted.
        """
        place, found = self._find(run, "files"), None
        if place is not None:
            try:
                with place.open("rb") as store:
                    found = read_packed_file(store, name)
            except (OSError, ValueError, TypeError) as broken:
                raise ToolNotFound(
                    f"The files of run {run!r} cannot be read.", hint="Run it again."
                ) from broken
        if found is None:
            raise ToolNotFound(
                f"There is no file {name[:80]!r} of run {run[:40]!r}.",
                hint="Only the newest results and files are kept; run it again.",
            )
        return found

    def _find(self, run: str, kind: str) -> Path | None:
        return self._folder.find(f"{run}.{kind}", self._owner) if _RUN_ID.fullmatch(run) else None

    def _write(self, name: str, content: bytes) -> None:
        try:
            has_room = len(content) <= MAX_BYTES and self._folder.write_file(name, content, self._owner)
        except OSError as error:
            raise unusable(self._folder.folder / name, error) from error
        if not has_room:
            raise LibraryError(f"{len(content):,} bytes are too large to keep.", hint="Ask for less.")
