"""Small text files that decide what this process does, or hold its keys; and how any file is written whole."""

from __future__ import annotations

import errno
import os
import shlex
import stat
import tempfile
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

    def refusal(problem: str, hint: str) -> UsageError:
        return UsageError(f"Cannot use {path}: {problem}.", hint=hint)

    not_regular = refusal("it is not a regular file", "Put a file in its place, or remove it.")
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _SAFELY)) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise not_regular
            if os.name == "posix" and forbidden and found.st_uid not in (os.geteuid(), 0):
                command = f'chown "$(id -un)" {shlex.quote(str(path))}'
                raise refusal(f"it belongs to another user ({found.st_uid})", f"Run: {command}")
            if os.name == "posix" and found.st_mode & forbidden:
                what, mode = "access" if forbidden & 0o044 else "write", stat.S_IMODE(found.st_mode)
                command = f"chmod 600 {shlex.quote(str(path))}"
                raise refusal(f"others may {what} it (mode {mode:o})", f"Run: {command}")
            content = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        raise not_regular from None
    except OSError as unreadable:
        if unreadable.errno in (errno.ELOOP, errno.EMLINK):
            raise refusal("it is a link", "Put the file itself in its place, or remove it.") from None
        raise refusal(
            unreadable.strerror or str(unreadable), "Make it readable for you, or remove it."
        ) from None
    if len(content) > MAX_BYTES:
        raise refusal(f"it is larger than {MAX_BYTES >> 20} MB", "Remove what does not belong there.")
    try:
        content.decode()
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        raise refusal(f"line {line} is not UTF-8 text", "Save it as UTF-8, or remove it.") from None
    return content


def write_whole(path: Path, content: bytes, *, like: Path | None = None, is_private: bool = False) -> None:
    """Puts a file in the place of another in one step, on the disk itself when this returns.

    It gets the mode and owner of `like`, or of what it replaces; a new one, and with `is_private` any, is its owner's
    alone.

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
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
