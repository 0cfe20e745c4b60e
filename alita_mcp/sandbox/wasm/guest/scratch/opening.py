"""Installation of the scratch folder in memory into `os`, `io`, `builtins` and their users.

pyfakefs was considered: it searches all modules for what to patch at every start, raises no audit events, counts no
files, and is ten times as long.
"""
# ruff: noqa: D102 - named, and documented, as in `io`

from __future__ import annotations

import _io
import _pyio  # type: ignore[import-not-found]
import builtins
import dbm
import errno
import inspect
import io
import os
import posix
import shutil
import sqlite3
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from alita_mcp.sandbox.wasm.guest.scratch.files import Files
from alita_mcp.sandbox.wasm.guest.scratch.listing import DirEntry
from alita_mcp.sandbox.wasm.guest.scratch.nodes import failure

_BY_DESCRIPTOR = """
    close read readinto pread write pwrite lseek ftruncate fstat fstatvfs fchmod fchdir isatty fsync fdatasync dup
    get_inheritable set_inheritable
""".split()
_BY_PATH = """
    open stat lstat access statvfs listdir scandir mkdir rmdir remove unlink rename replace link symlink readlink chmod
    utime truncate chdir getcwd getcwdb umask
""".split()
_ABILITIES = {
    "supports_dir_fd": "open stat access mkdir rmdir unlink rename link symlink readlink chmod utime",
    "supports_fd": "stat statvfs listdir scandir chmod utime truncate chdir",
    "supports_follow_symlinks": "stat access link chmod utime",
    "supports_effective_ids": "access",
}
_WORDS: dict[Any, Any] = {
    "can't have read/write/append mode at once": "must have exactly one of create/read/write/append mode",
    "must have exactly one of read/write/append mode":
        "Must have exactly one of create/read/write/append mode and at most one plus",
}  # fmt: skip
"""What the C version of `open` says in other words."""


class Usage(NamedTuple):
    """Disk usage in bytes, as `shutil.disk_usage` gives it."""

    total: int
    used: int
    free: int


class FileIO(_pyio.FileIO):
    """A file without a buffer."""

    __module__ = "_io"


class Output(io.RawIOBase):
    """Standard output or error without a buffer; takes all of what is written, as `print` relies on."""

    mode = "wb"

    def __init__(self, number: int, name: str) -> None:
        super().__init__()
        self.name = name
        self._number = number

    def fileno(self) -> int:
        return self._number

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return _write_whole(self._number, data)


def install() -> Files:
    """Hides the machine's files for good; returns the files in memory that replace them."""
    files = Files()
    swaps: dict[int, tuple[Any, Any]] = {}
    for name in _BY_PATH:
        _replace(swaps, (os, posix), name, getattr(files, name))
    for name in _BY_DESCRIPTOR:
        theirs = _write_whole if name == "write" else getattr(posix, name, None)
        _replace(swaps, (os, posix), name, _either(files, getattr(files, name), theirs))
    for number, name in ((1, "stdout"), (2, "stderr")):
        errors = getattr(sys, name).errors
        stream = io.TextIOWrapper(Output(number, f"<{name}>"), "utf-8", errors, write_through=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    _replace(swaps, (os, posix), "closerange", _close_range(files))
    _replace(swaps, (os, posix), "DirEntry", DirEntry)
    opened = _open_function()
    _replace(swaps, (builtins, io, _io), "open", opened)
    _replace(swaps, (io, _io), "FileIO", FileIO)
    _replace(swaps, (io, _io), "open_code", lambda path: opened(path, "rb"))
    _replace(swaps, (sqlite3, sqlite3.dbapi2), "connect", _connect)
    _swap(swaps)
    for name, functions in _ABILITIES.items():
        able: set[Any] = getattr(os, name)
        able.clear()
        able.update(getattr(files, function) for function in functions.split())
    shutil.disk_usage = _disk_usage  # it was left out for want of `statvfs`
    dbm._names.remove("dbm.sqlite3")  # type: ignore[attr-defined]  # it opens its file in C
    return files


def _replace(
    swaps: dict[int, tuple[Any, Any]], modules: tuple[types.ModuleType, ...], name: str, new: Any
) -> None:
    for module in modules:
        if hasattr(module, name):
            swaps[id(getattr(module, name))] = (
                getattr(module, name),
                new,
            )  # the old one lives, so does its id
        setattr(module, name, new)


def _swap(swaps: dict[int, tuple[Any, Any]]) -> None:
    """Gives the new functions to modules and classes that took the old ones when they were imported."""
    for module in [*sys.modules.values()]:
        for name, value in [*vars(module).items()]:
            if id(value) in swaps and module is not sys.modules[__name__]:
                setattr(module, name, swaps[id(value)][1])
            if isinstance(value, type) and value.__module__ == module.__name__:
                for inner, part in [*vars(value).items()]:
                    function = getattr(part, "__func__", part)
                    if id(function) in swaps and function is not _pyio.open:
                        setattr(value, inner, staticmethod(swaps[id(function)][1]))


def _either(files: Files, ours: Callable[..., Any], theirs: Callable[..., Any] | None) -> Callable[..., Any]:
    """For descriptors of files here, and for those of the streams that the component was given."""

    def function(fd: int, *arguments: Any, **options: Any) -> Any:
        if files.holds(fd):
            return ours(fd, *arguments, **options)
        if theirs is None or (fd not in (0, 1, 2) and isinstance(fd, int)):
            raise failure(errno.EBADF)
        return theirs(fd, *arguments, **options)

    function.__name__ = function.__qualname__ = ours.__name__
    return staticmethod(function)


def _write_whole(fd: int, data: Any, /, _write: Callable[[int, Any], int] = posix.write) -> int:
    """As `os.write`, which the host lets take 8 KB at a time; a pipe of other sandboxes takes all."""
    with memoryview(data) as view, view.cast("B") as content:
        written = 0
        while written < len(content):
            written += _write(fd, content[written:])
    return written


def _close_range(files: Files) -> Callable[[int, int], None]:
    def closerange(fd_low: int, fd_high: int, /) -> None:
        for fd in range(fd_low, fd_high):
            if files.holds(fd):
                files.close(fd)

    return closerange


def _open_function() -> Callable[..., Any]:
    """`open` as the standard library has it in Python, on the buffers that it has in C."""
    written = inspect.unwrap(_pyio.open)
    names = {**vars(_pyio), "FileIO": FileIO, "open": None}
    for name in ("BufferedRandom", "BufferedReader", "BufferedWriter", "TextIOWrapper", "text_encoding"):
        names[name] = getattr(io, name)
    code = written.__code__.replace(
        co_consts=tuple(_WORDS.get(each, each) for each in written.__code__.co_consts)
    )
    function = types.FunctionType(code, names, "open", written.__defaults__)
    function.__module__, function.__doc__ = "_io", written.__doc__
    return staticmethod(function)


def _disk_usage(path: Any) -> Usage:
    """As `shutil.disk_usage`."""
    found = os.statvfs(path)
    free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    return Usage(total, total - free, free)


def _connect(
    database: Any, *arguments: Any, _connect: Callable[..., Any] = sqlite3.connect, **options: Any
) -> Any:
    """As `sqlite3.connect`; a database lives in memory here."""
    text = os.fsdecode(database)
    if text not in {"", ":memory:"} and not (
        options.get("uri") and ("mode=memory" in text or ":memory:" in text)
    ):
        raise sqlite3.OperationalError(
            f'unable to open database file {text!r}: here SQLite cannot reach files; use ":memory:", and `iterdump` or '
            f"`serialize` to keep it in one"
        )
    return _connect(database, *arguments, **options)
