"""Private folders that only the user can change, whose files may be loaded as native code."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

from alita_mcp.errors import SandboxUnavailable

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_REMOVE = "Remove it; it is made anew."
_OTHERS_ENTER = stat.S_IRWXG | stat.S_IRWXO
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)


def private_folder(folder: Path) -> Path:
    """Checks that a folder is private; makes it where it is missing.

    On Windows it lies in the user's profile, whose access list keeps others out; elsewhere owner and mode are checked,
    and that no other user can replace it. A folder above it that the user's group may write is allowed: many systems
    give each user a group of their own.

    Raises:
        SandboxUnavailable: it cannot be made, or somebody else can change it.
    """
    try:
        folder = folder.parent.resolve() / folder.name
        for place in (*reversed(folder.parents), folder):
            if not place.is_dir():
                with suppress(FileExistsError):
                    place.mkdir(mode=0o700)  # whatever the umask allows
        weakness = _find_weakness(folder)
    except OSError as problem:
        raise SandboxUnavailable(
            f"The folder for compiled files cannot be used: {problem}.",
            hint="It lies in the user's folder for caches, which must be writable (on Linux XDG_CACHE_HOME names it).",
        ) from problem
    if weakness is not None:
        why, hint = weakness
        raise SandboxUnavailable(f"{folder} is not private: {why}. Nothing was loaded from it.", hint=hint)
    return folder


def _find_weakness(folder: Path) -> tuple[str, str] | None:
    """Why somebody else could change the folder, and what to do; None where nobody can."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or getattr(found, "st_reparse_tag", False):
        return "it is a link or a file, not a folder", _REMOVE
    if os.name != "posix":
        return None
    if found.st_uid != os.geteuid():
        return f"it belongs to another user ({found.st_uid})", _REMOVE
    if found.st_mode & _OTHERS_WRITE:
        mode = f"others may write to it (mode {found.st_mode & 0o7777:o})"
        return mode, "Remove it with all that is in it; it is made anew."
    if found.st_mode & _OTHERS_ENTER:
        folder.chmod(0o700)
    for above in folder.parents[:-1]:
        its = above.stat()
        if its.st_uid not in (os.geteuid(), 0):
            return f"{above} belongs to another user ({its.st_uid})", "Set HOME to your own folder."
        if its.st_mode & stat.S_IWOTH and not its.st_mode & stat.S_ISVTX:
            return f"everybody may write to {above}", f"Run: chmod o-w {above}"
    return None


def open_private(path: Path) -> BufferedReader:
    """Opens a file that only the user may write.

    Raises:
        OSError: it is not there, or not such a file.
    """
    file = os.fdopen(os.open(path, _FLAGS), "rb")
    found = os.fstat(file.fileno())
    is_ours = os.name != "posix" or (found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or not is_ours:
        file.close()
        raise PermissionError(f"{path} is not a file of this user's alone")
    return file


def write_private(target: Path, content: bytes) -> None:
    """Writes a new file that only the user may read, and syncs it to the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
