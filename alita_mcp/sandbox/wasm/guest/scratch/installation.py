"""Installation of the scratch folder in memory into `os`, `io`, `builtins` and their users.

pyfakefs was considered: it searches all modules for what to patch at every start, counts no files, and is ten times as
long.
"""

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
from typing import Any

from alita_mcp.sandbox.wasm.guest.scratch.files import DirEntry, Files
from alita_mcp.sandbox.wasm.guest.scratch.tree import error

_BY_DESCRIPTOR = """
    close read readinto write lseek ftruncate fstat isatty fsync
""".split()
_BY_PATH = """
    open stat lstat access statvfs listdir scandir mkdir rmdir remove unlink rename replace readlink chmod utime
    chdir getcwd getcwdb
""".split()
_NOT_HERE = """
    link symlink fchmod fchdir fdatasync get_inheritable set_inheritable closerange dup dup2 pread pwrite preadv pwritev
    truncate umask
""".split()


class FileIO(_pyio.FileIO):
    """A file without a buffer."""

    __module__ = "_io"


def install() -> Files:
    """Hides the machine's files for good; returns the files in memory that replace them."""
    files = Files()
    swaps: dict[int, tuple[Any, Any]] = {}

    def replace(modules: tuple[types.ModuleType, ...], name: str, new: Any) -> None:
        for module in modules:
            if hasattr(module, name):
                old = getattr(module, name)
                swaps[id(old)] = (old, new)  # the old one lives on, so its id stays its own
            setattr(module, name, new)

    for name in _BY_PATH:
        replace((os, posix), name, getattr(files, name))
    for name in _BY_DESCRIPTOR:
        theirs = _write_whole if name == "write" else getattr(posix, name, None)
        replace((os, posix), name, _choose_by_descriptor(files, getattr(files, name), theirs))
    for number, name in ((1, "stdout"), (2, "stderr")):
        # without a buffer; it takes all of what is written, as `print` relies on
        raw = FileIO(number, "wb", closefd=False)
        raw.name = f"<{name}>"
        stream = io.TextIOWrapper(raw, "utf-8", getattr(sys, name).errors, write_through=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    replace((os, posix), "DirEntry", DirEntry)
    vars(os)["O_CLOEXEC"] = 1 << 19  # or `open` would call a function that is not here
    # `open` as the standard library has it in Python, on the buffers that it has in C
    written = inspect.unwrap(_pyio.open)
    names = {**vars(_pyio), "FileIO": FileIO, "open": None}
    for name in ("BufferedRandom", "BufferedReader", "BufferedWriter", "TextIOWrapper", "text_encoding"):
        names[name] = getattr(io, name)
    function = types.FunctionType(written.__code__, names, "open", written.__defaults__)
    function.__module__, function.__doc__ = "_io", written.__doc__
    replace((builtins, io, _io), "open", staticmethod(function))
    replace((io, _io), "FileIO", FileIO)
    replace((io, _io), "open_code", files.read_code)
    replace((sqlite3, sqlite3.dbapi2), "connect", _connect)
    for name in _NOT_HERE:
        for module in (os, posix):
            vars(module).pop(name, None)
    _swap_in_users(swaps)
    for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        able.clear()
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    dbm._names.remove("dbm.sqlite3")  # type: ignore[attr-defined]  # it opens its file in C
    return files


def _swap_in_users(swaps: dict[int, tuple[Any, Any]]) -> None:
    """Gives the new functions to modules, classes and defaults of arguments that took the old ones at their import."""

    def new(value: Any) -> Any:
        return swaps[id(value)][1] if id(value) in swaps else value

    def swap_defaults(function: Any) -> None:
        if isinstance(function, types.FunctionType) and function.__defaults__:
            function.__defaults__ = tuple(map(new, function.__defaults__))

    for module in [*sys.modules.values()]:
        if module is sys.modules[__name__]:
            continue
        for name, value in [*vars(module).items()]:
            if id(value) in swaps:
                setattr(module, name, new(value))
            swap_defaults(value)
            if isinstance(value, type) and value.__module__ == module.__name__:
                for inner, part in [*vars(value).items()]:
                    function = getattr(part, "__func__", part)
                    swap_defaults(function)
                    if id(function) in swaps and function is not _pyio.open:
                        setattr(value, inner, staticmethod(new(function)))


def _choose_by_descriptor(
    files: Files, ours: Callable[..., Any], theirs: Callable[..., Any] | None
) -> Callable[..., Any]:
    """For descriptors of files here, and for those of the streams that the component was given."""

    def function(fd: int, *arguments: Any, **options: Any) -> Any:
        if files.has_open(fd):
            return ours(fd, *arguments, **options)
        if theirs is None or (fd not in (0, 1, 2) and isinstance(fd, int)):
            raise error(errno.EBADF)
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
