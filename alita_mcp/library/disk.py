"""Folders of plain files, written so that a power cut leaves them whole, and read without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from alita_mcp.errors import LibraryError
from alita_mcp.machine import unusable

MAX_FILE_BYTES = 8 << 20
"""No file of a version is larger; a larger one was written by another program."""

_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | _NO_WAIT

OnStep = Callable[[str], None]
"""Told the name of each step of publishing right after it was done."""


def no_step(_: str) -> None:
    """Does nothing."""


class Damaged(LibraryError):
    """A folder does not hold the plain files that were written into it; the message names the first difference."""


def write_folder(folder: Path, files: Mapping[str, bytes], on_step: OnStep = no_step) -> None:
    """Makes `folder` with these files, all on the disk itself when this returns.

    Raises:
        LibraryError: it exists, or cannot be written.
    """
    try:
        folder.mkdir(parents=True)
        on_step("staged")
        for name, content in files.items():
            with (folder / name).open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            on_step(f"wrote {name}")
        sync_folder(folder)
        on_step("synced")
    except OSError as error:
        raise unusable(folder, error) from error


def replace_file(path: Path, content: bytes) -> None:
    """Puts a file in the place of another in one step, on the disk itself when this returns.

    One process at a time may replace a file; a link in its place is replaced, not followed.

    Raises:
        OSError: the disk refuses; the file is as before.
    """
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.unlink(missing_ok=True)  # of a process that was killed
    with unfinished.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Brings a folder's own entries to the disk, where the platform has such a thing."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_folder(folder: Path, names: Collection[str]) -> dict[str, bytes]:
    """The files of a folder that holds `names` and nothing else but hidden files and Python's caches.

    Raises:
        Damaged: something is missing, linked, added, or no plain file.
        LibraryError: the folder cannot be read.
    """
    for part in (folder.parent, folder):
        if part.is_symlink():
            raise Damaged(f"{part.name} is a link")
    if not folder.is_dir():
        raise Damaged("its folder is missing")
    try:
        for entry in sorted(folder.iterdir()):
            if entry.is_symlink():
                raise Damaged(f"{entry.name} is a link")
            if entry.name not in names and not entry.name.startswith((".", "__pycache__")):
                raise Damaged(f"{entry.name} was added")
        return {name: read_plain_file(folder / name) for name in names}
    except FileNotFoundError as missing:  # just now: another version's folder may be about to take its place
        raise Damaged("its folder is missing") from missing
    except OSError as error:
        raise unusable(folder, error) from error


def without_waiting(path: str, flags: int) -> int:
    """An opener for `open` that does not wait for a writer where a pipe took a file's place."""
    return os.open(path, flags | _NO_WAIT)


def read_plain_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The content of one file.

    Raises:
        Damaged: it is missing, linked, too large, or no plain file.
        OSError: it cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | _NO_LINKS)
    except FileNotFoundError as missing:
        raise Damaged(f"{path.name} is missing") from missing
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Damaged(f"{path.name} is not a plain file")
    with os.fdopen(handle, "rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise Damaged(f"{path.name} is far too large")
    return content
