"""Files that code left in its scratch folder: the folder in, names and contents out; no links are followed.

Hidden files and the caches of Python are no work of the code. A step of a session tells what is new or changed.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from typing import Any

SCRATCH = "/tmp"  # noqa: S108 - the sandbox's own
MAX_FILES = 20
MAX_BYTES = 16 << 20
MAX_NAME = 300
MAX_ENTRIES = 10_000
_told_before: dict[str, tuple[int, int]] = {}


def told(folder: str = SCRATCH) -> dict[str, Any]:
    """`files` with their contents in base64, and `notes` on those that are left out."""
    files: list[dict[str, str]] = []
    left_out: list[str] = []
    room = MAX_BYTES
    for name, facts in sorted(_changed(folder)):
        if len(files) >= MAX_FILES or facts[0] > room or len(name) > MAX_NAME or not name.isprintable():
            left_out.append(f"{name[:80]!a} ({facts[0]:,} bytes)")
            continue
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read(room)
        room -= len(data)
        files.append({"name": name, "data": base64.b64encode(data).decode()})
        _told_before[name] = facts
    notes = [_note(left_out)] if left_out else []
    return {"files": files, "notes": notes}


def _note(left_out: list[str]) -> str:
    named = ", ".join(left_out[:10]) + (", …" if len(left_out) > 10 else "")
    return (
        f"Files left out ({len(left_out)}): {named}. A run gives back at most {MAX_FILES} files, {MAX_BYTES >> 20} MB "
        "in all, with printable names."
    )


def _changed(folder: str) -> list[tuple[str, tuple[int, int]]]:
    return [found for found in _regular_files(folder) if _told_before.get(found[0]) != found[1]]


def _regular_files(folder: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Path below the folder, size and time of writing of each; a bounded number of entries is looked at."""
    waiting, seen = [""], 0
    while waiting:
        below = waiting.pop()
        with os.scandir(os.path.join(folder, below)) as entries:
            for entry in entries:
                seen += 1
                if seen > MAX_ENTRIES:
                    return
                if entry.name.startswith(".") or entry.name == "__pycache__":
                    continue
                path = os.path.join(below, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif entry.is_file(follow_symlinks=False):
                    facts = entry.stat(follow_symlinks=False)
                    yield path, (facts.st_size, facts.st_mtime_ns)
