"""Bounded store of whole results whose shown form was cut, and of files of runs, under unguessable names."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.library.disk import unreadable
from alita_mcp.library.runs.files import packed, unpacked
from alita_mcp.library.runs.recorded_run import RUN_ID

MAX_RUNS = 100
MAX_BYTES = 64 << 20


class Runs:
    """Newest results; older ones are dropped to keep the bound."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, result: bytes) -> str:
        """Stores a result, a JSON text; returns the name to read it by.

        Raises:
            LibraryError: it is larger than the whole store, or the disk refuses.
        """
        if len(result) > MAX_BYTES:
            raise LibraryError(f"A result of {len(result)} bytes is too large to keep.", hint="Ask for less.")
        run = secrets.token_hex(16)
        self._write(self._folder / f"{run}.json", result)
        return run

    def keep_files(self, run: str, files: Mapping[str, bytes]) -> None:
        """Stores the files that a run left, under the run's name; raises as `keep`."""
        if not RUN_ID.fullmatch(run):
            raise ValueError(run)
        self._write(self._folder / f"{run}.files", packed(files))

    def read(self, run: str) -> bytes:
        """A stored result as it was handed in.

        Raises:
            ToolNotFound: there is none of that name, or no longer.
        """
        place = self._place(run, "json")
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
            ToolNotFound: there is none of that name, or no longer.
        """
        place, found = self._place(run, "files"), None
        if place is not None:
            try:
                with place.open("rb") as store:
                    found = unpacked(store, name)
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

    def _place(self, run: str, kind: str) -> Path | None:
        place = self._folder / f"{run}.{kind}"
        return place if RUN_ID.fullmatch(run) and not place.is_symlink() and place.is_file() else None

    def _write(self, place: Path, content: bytes) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished = place.with_suffix(".part")
            unfinished.write_bytes(content)
            unfinished.replace(place)
            self._make_room()
        except OSError as error:
            raise unreadable(place, error) from error

    def _make_room(self) -> None:
        room = MAX_BYTES
        found = [(place.stat(), place) for place in self._folder.iterdir()]
        found.sort(key=lambda item: (item[0].st_mtime_ns, item[1].name), reverse=True)
        for number, (facts, place) in enumerate(found):
            room -= facts.st_size
            if number >= MAX_RUNS or room < 0:
                place.unlink(missing_ok=True)
