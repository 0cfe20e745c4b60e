"""Small text files that decide what this process does, or hold its keys; and how any file is written whole."""

from __future__ import annotations

import errno
import os
import shlex
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from alita_mcp.errors import UsageError

MAX_BYTES = 1 << 20
_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def read_private_file(path: Path, *, holds_secrets: bool = False) -> str | None:
    """The text of a file that the person alone may have written; None where there is none.

    Raises:
        UsageError: as `read_small_file`; or it is a link, belongs to another user, or others may write it (with
            `holds_secrets`: access it).
    """
    content = read_small_file(path, forbidden=0o077 if holds_secrets else 0o022)
    return None if content is None else content.decode("utf-8-sig")


def read_small_file(path: Path, *, forbidden: int = 0) -> bytes | None:
    """What a file of UTF-8 text holds; None where there is none.

    With `forbidden`, bits of its mode that must not be set, it must be the person's own.

    Raises:
        UsageError: it is a link or no regular file, larger than 1 MB, not UTF-8, not the person's alone, or cannot be
            read; no message holds what it contains.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _SAFELY)) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise IsADirectoryError
            content = file.read(MAX_BYTES + 1)
        problem, hint = f"it is larger than {MAX_BYTES >> 20} MB", "Remove what does not belong there."
        if forbidden and os.name == "posix" and found.st_uid not in (os.geteuid(), 0):
            problem = f"it belongs to another user ({found.st_uid})"
            hint = f'Run: chown "$(id -un)" {shlex.quote(str(path))}'
        elif os.name == "posix" and found.st_mode & forbidden:
            what, mode = "access" if forbidden & 0o044 else "write", stat.S_IMODE(found.st_mode)
            problem = f"others may {what} it (mode {mode:o})"
            hint = f"Run: chmod 600 {shlex.quote(str(path))}"
        elif len(content) <= MAX_BYTES:
            content.decode()
            return content
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        problem, hint = f"line {line} is not UTF-8 text", "Save it as UTF-8, or remove it."
    except OSError as unreadable:
        problem, hint = unreadable.strerror or str(unreadable), "Make it readable for you, or remove it."
        if isinstance(unreadable, IsADirectoryError):
            problem, hint = "it is not a regular file", "Put a file in its place, or remove it."
        elif unreadable.errno in (errno.ELOOP, errno.EMLINK):
            problem, hint = "it is a link", "Put the file itself in its place, or remove it."
    raise UsageError(f"Cannot use {path}: {problem}.", hint=hint)


def write_whole(
    path: Path, content: bytes, *, like: Path | None = None, is_private: bool = False, is_new: bool = False
) -> None:
    """Puts a file in the place of another in one step, on the disk itself when this returns.

    It gets the mode and owner of `like`, or of what it replaces; a new one, and with `is_private` any, is its owner's
    alone. One that `is_new` replaces nothing: of several processes, the first one's stays.

    Raises:
        OSError: the disk refuses; the file is as before.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if is_private else 0o777)
    like = like or path
    found = like.stat() if like.exists() else None
    descriptor, aside = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if os.name == "posix":
                owner = found or path.parent.stat()
                if os.geteuid() == 0:
                    os.fchown(descriptor, owner.st_uid, owner.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(found.st_mode) if found and not is_private else 0o600)
            os.fsync(descriptor)
        if is_new:
            with suppress(FileExistsError):
                os.link(aside, path)
        else:
            Path(aside).replace(path)
    finally:
        Path(aside).unlink(missing_ok=True)
