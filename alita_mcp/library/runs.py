"""Whole results of calls whose answers were cut: a bounded store of JSON files with names nobody can guess."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path

from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.library.disk import unreadable

MAX_RUNS = 100
MAX_BYTES = 64 << 20


class Runs:
    """The newest results; older ones make room."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, result: bytes) -> str:
        """Stores a result, a JSON text; answers the name to read it by.

        Raises:
            LibraryError: it is larger than the whole store, or the disk refuses.
        """
        if len(result) > MAX_BYTES:
            raise LibraryError(f"A result of {len(result)} bytes is too large to keep.", hint="Ask for less.")
        run = secrets.token_hex(16)
        place = self._folder / f"{run}.json"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished = place.with_suffix(".part")
            unfinished.write_bytes(result)
            unfinished.replace(place)
            self._make_room()
        except OSError as error:
            raise unreadable(place, error) from error
        return run

    def read(self, run: str) -> bytes:
        """A stored result as it was handed in.

        Raises:
            ToolNotFound: there is none of that name, or no longer.
        """
        place = self._folder / f"{run}.json"
        if not re.fullmatch(r"[0-9a-f]{32}", run) or place.is_symlink() or not place.is_file():
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

    def _make_room(self) -> None:
        room = MAX_BYTES
        found = [(place.stat(), place) for place in self._folder.iterdir()]
        found.sort(key=lambda item: (item[0].st_mtime_ns, item[1].name), reverse=True)
        for number, (facts, place) in enumerate(found):
            room -= facts.st_size
            if number >= MAX_RUNS or room < 0:
                place.unlink(missing_ok=True)
