"""Checks whether other users may change the files that decide about tools, and says how to mend that."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from alita_mcp.errors import LibraryError

OTHERS_WRITE = 0o022
OTHERS_ENTER = 0o011


class Exposure(NamedTuple):
    """Reason why a file or folder cannot be relied on."""

    what: str
    command: str
    """Mends it, in a shell."""


def exposure(path: Path, found: os.stat_result, *, recursive: bool = False) -> Exposure | None:
    """Exposure of `path` to changes by others than the user or root; None without any, and on Windows.

    As in OpenSSH's StrictModes: it belongs to the user or to root, and neither its group nor others may write it.
    """
    if os.name != "posix":
        return None
    every, place = "-R " if recursive else "", shlex.quote(str(path))
    if found.st_uid not in (os.geteuid(), 0):
        return Exposure(f"it belongs to another user ({found.st_uid})", f'chown {every}"$(id -un)" {place}')
    if found.st_mode & OTHERS_WRITE:
        return Exposure(
            f"others may write it (mode {found.st_mode & 0o7777:o})", f"chmod {every}go-w {place}"
        )
    return None


def refuse_exposed_home(home: Path) -> None:
    """Looks at a home and, where others may enter it, at what lies in it.

    Raises:
        LibraryError: someone else may change it; the hint is the command that mends it.
        OSError: it cannot be looked at.
    """
    home = home.resolve()
    found = home.stat()
    _refuse(home, home, found)
    if os.name == "posix" and found.st_mode & OTHERS_ENTER:
        for place in sorted(home.iterdir()):
            with suppress(FileNotFoundError):  # a lock or a journal of another process
                if not place.is_symlink():
                    _refuse(home, place, place.stat())


def _refuse(home: Path, place: Path, found: os.stat_result) -> None:
    wrong = exposure(home, found, recursive=True)
    if wrong is not None:
        raise LibraryError(
            f"{place} cannot be relied on: {wrong.what}. Nothing was changed.", hint=f"Run: {wrong.command}"
        )
