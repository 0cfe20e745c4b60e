"""What the machine refuses: room on a disk, rights and open files, in words that say where and what to do."""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from alita_mcp.errors import FileRefused
from alita_mcp.exception_groups import innermost_error

MAX_DESCRIPTORS = (65_536, 10_240)
"""More would serve nobody; macOS allows the second."""
OWN_DESCRIPTORS = 96
"""What a process opens besides its workers and clients: the catalogue, the vectors, the event loop."""
WORKER_DESCRIPTORS = 8
HTTP_CLIENTS = 256
"""As many connections as a server over HTTP is meant to hold."""

_PROBE_BYTES = 1 << 16
_NO_ROOM = "Make room there (`df -h`, `quota` and `ulimit -f` show what is left), then try again. Nothing was deleted."
_NO_RIGHT = "Make it readable and writable for you, or name another folder. Nothing was deleted."
_NO_DESCRIPTOR = "Allow more open files, for example with `ulimit -n 4096`, and start again."
_HINTS = {
    errno.ENOSPC: _NO_ROOM, errno.EDQUOT: _NO_ROOM, errno.EFBIG: _NO_ROOM,
    errno.EROFS: _NO_RIGHT, errno.EACCES: _NO_RIGHT, errno.EPERM: _NO_RIGHT,
    errno.EMFILE: _NO_DESCRIPTOR, errno.ENFILE: _NO_DESCRIPTOR,
}  # fmt: skip
_OF_THE_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def unusable(place: Path, error: OSError | sqlite3.Error) -> FileRefused:
    """The error for a file or folder that the operating system refuses, the one that it names or else `place`."""
    cause = error if isinstance(error, OSError) else find_cause(place.parent) or error
    named = getattr(error, "filename", None)
    place = Path(named) if isinstance(named, str) else place
    reason = getattr(cause, "strerror", None) or str(error)
    if hint := _HINTS.get(getattr(cause, "errno", None) or 0):
        return FileRefused(f"{reason}: {place}.", hint=hint)
    return FileRefused(
        f"{place} cannot be used: {reason}.",
        hint="Check that ALITA_HOME is a folder that you may read and write. Nothing was deleted.",
    )


def is_of_the_disk(error: sqlite3.Error) -> bool:
    """Whether SQLite was refused by the operating system; otherwise the file itself is to blame."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_THE_DISK


def is_out_of_descriptors(error: Exception) -> bool:
    """Whether no further file may be opened, by this process or on this machine."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def edge_error(failure: BaseException) -> BaseException:
    """The innermost error, in our words where the machine refused a file that nobody expected it to refuse."""
    failure = innermost_error(failure)
    if not isinstance(failure, OSError):
        return failure
    # 1. No folder for temporary files can be written. 2. Of a write, the error names no file: look at that folder.
    # 3. A file is named.
    temporary = _temporary_folder()
    if temporary is None:
        why = "There is no folder for temporary files with room that you may write"
        return FileRefused(f"{why}: {failure.strerror}.", hint="Set TMPDIR to one.")
    if failure.errno not in _HINTS:
        return failure
    place = failure.filename or (temporary if find_cause(temporary) else None)
    if place is None:
        return FileRefused(f"{failure.strerror}.", hint=_HINTS[failure.errno])
    place = Path(os.fsdecode(place))
    refused = unusable(place, failure)
    if place.is_relative_to(temporary):
        refused.message = f"{refused.message.removesuffix('.')} (TMPDIR)."
    return refused


def find_cause(folder: Path) -> OSError | None:
    """What a new file in a folder meets, if anything: SQLite and LanceDB do not say it."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBE_BYTES))
    except OSError as refused:
        return refused
    return None


def _temporary_folder() -> Path | None:
    with suppress(FileNotFoundError):
        return Path(tempfile.gettempdir())
    return None


def raise_descriptor_limit() -> int:
    """Lets this process open as many files as the system allows; returns how many."""
    if sys.platform == "win32":
        return MAX_DESCRIPTORS[0]
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for most in MAX_DESCRIPTORS:
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        if soft == resource.RLIM_INFINITY or soft >= bound:
            break
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (bound, hard))
            soft = bound
    return MAX_DESCRIPTORS[0] if soft == resource.RLIM_INFINITY else soft


def lack_of_descriptors(workers: int, clients: int = 0) -> str:
    """What is wrong with the limit on open files for so many workers and clients; empty where it is high enough."""
    needed = OWN_DESCRIPTORS + WORKER_DESCRIPTORS * workers + clients
    allowed = raise_descriptor_limit()
    if allowed >= needed:
        return ""
    what = f"{workers} workers and {clients} clients" if clients else f"{workers} workers"
    return f"{what} need {needed} open files, and {allowed} are allowed: run `ulimit -n {needed}` first."
