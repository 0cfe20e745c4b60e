"""Collection of the files that code left in its scratch folder; no links are followed.

Hidden files and Python's caches are left out. A step of a session reports what is new or changed.
"""

from __future__ import annotations

import base64
import gc
import os
import sys
from collections.abc import Iterator
from typing import Any

SCRATCH = "/tmp"  # noqa: S108 - the sandbox's own
MAX_FILES = 20
MAX_BYTES = 16 << 20
PIECE = 3 << 18
"""Bytes; a multiple of three, so that the pieces in base64 make up the whole."""
MAX_NAME = 300
MAX_ENTRIES = 10_000
_reported: dict[str, tuple[int, int]] = {}
"""Size and time of writing of each file that an earlier step reported."""


def collect_files(folder: str = SCRATCH) -> dict[str, Any]:
    """Collects `files` with their contents in base64, and `notes` on those that are left out."""
    files: list[dict[str, str]] = []
    left_out: list[str] = []
    room = MAX_BYTES
    for name, facts in sorted(_regular_files(folder)):
        if _reported.get(name) == facts:
            continue
        fits = len(files) < MAX_FILES and facts[0] <= room and len(name) <= MAX_NAME and name.isprintable()
        data = _content(os.path.join(folder, name), room) if fits else None
        if data is None:
            left_out.append(f"{name[:80]!a} ({facts[0]:,} bytes)")
            continue
        room -= facts[0]
        files.append({"name": name, "data": data})
        _reported[name] = facts
    if not left_out:
        return {"files": files, "notes": []}
    named = ", ".join(left_out[:10]) + (", …" if len(left_out) > 10 else "")
    note = (
        f"Files left out ({len(left_out)}): {named}. A run returns at most {MAX_FILES} readable files with printable "
        f"names, {MAX_BYTES >> 20} MB in all."
    )
    return {"files": files, "notes": [note]}


def ignore_file(name: str) -> None:
    """Leaves out a file as it is now."""
    facts = os.stat(os.path.join(SCRATCH, name))
    _reported[name] = facts.st_size, facts.st_mtime_ns


def _content(path: str, most: int) -> str | None:
    """A file in base64, encoded piece by piece: a script may have left little memory; None where it cannot be read."""
    pieces: list[str] = []
    try:
        with open(path, "rb") as file:
            while most > 0 and (piece := file.read(min(most, PIECE))):
                most -= len(piece)
                pieces.append(base64.b64encode(piece).decode())
    except OSError:
        return None
    return "".join(pieces)


def _temporary_paths() -> set[str]:
    """What `tempfile` removes when its objects go: a script leaves that to the end of its process."""
    tempfile: Any = sys.modules.get("tempfile")
    if tempfile is None:
        return set()
    kinds = (tempfile._TemporaryFileCloser, tempfile.TemporaryDirectory)  # noqa: SLF001
    return {each.name for each in gc.get_objects() if type(each) in kinds and getattr(each, "delete", True)}


def _regular_files(folder: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Path below the folder, size and time of writing of each; a bounded number of entries is looked at."""
    waiting, seen, temporary = [""], 0, _temporary_paths()
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(os.path.join(folder, below)) as scanned:
                entries = list(scanned)
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name == "__pycache__" or entry.path in temporary:
                continue
            seen += 1
            if seen > MAX_ENTRIES:
                return
            path = os.path.join(below, entry.name)
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif entry.is_file(follow_symlinks=False):
                facts = entry.stat(follow_symlinks=False)
                yield path, (facts.st_size, facts.st_mtime_ns)
