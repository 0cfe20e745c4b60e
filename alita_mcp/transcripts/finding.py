"""Finds the session files below the paths that a person named: regular files of this person.

Links are not followed, devices and pipes are not opened, other people's files are left alone; each is told.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

ENDINGS = (".jsonl",)
MOST_FILES = 100_000
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)

Skip = Callable[[str, str], None]
"""Told the path of what is not read, and why."""


def files_below(paths: Sequence[Path], skip: Skip) -> Iterator[Path]:
    """Files in the order of their names; a path that names a file is taken as it is, whatever its ending."""
    seen: set[tuple[int, int]] = set()
    for path in paths:
        for number, file in enumerate(_below(path, skip)):
            if number >= MOST_FILES:
                skip(str(path), f"it holds more than {MOST_FILES:,} files")
                break
            try:
                told = file.lstat()
            except OSError as failed:
                skip(str(file), failed.strerror or "it cannot be read")
                continue
            if (told.st_dev, told.st_ino) not in seen or not told.st_ino:
                seen.add((told.st_dev, told.st_ino))
                yield file


def _below(path: Path, skip: Skip) -> Iterator[Path]:
    path = path.resolve()  # what the person named may be a link; what lies in it may not
    if not path.is_dir():
        yield path
        return

    def refused(failed: OSError) -> None:
        skip(str(failed.filename), failed.strerror or "it cannot be read")

    for folder, folders, files in os.walk(path, onerror=refused):
        folders.sort()
        for name in folders:
            if (Path(folder) / name).is_symlink():
                skip(str(Path(folder) / name), "a link")
        for name in sorted(files):
            if name.endswith(ENDINGS):
                yield Path(folder) / name


def opened(file: Path, skip: Skip) -> BinaryIO | None:
    """The file, if it is a regular one of this person; what it is, is asked of what was opened."""
    try:
        if file.is_symlink():
            skip(str(file), "a link")
            return None
        descriptor = os.open(file, _FLAGS)
    except OSError as failed:
        skip(str(file), failed.strerror or "it cannot be read")
        return None
    told = os.fstat(descriptor)
    why = "no regular file" if not stat.S_ISREG(told.st_mode) else ""
    if not why and hasattr(os, "getuid") and told.st_uid != os.getuid():
        why = "another user's file"
    if why:
        os.close(descriptor)
        skip(str(file), why)
        return None
    return os.fdopen(descriptor, "rb")
