"""File times of a rehearsed clock, so that a new file does not show the real time."""

from __future__ import annotations

import os
import posix
import sys
from types import SimpleNamespace
from typing import Any

_NANO = 1_000_000_000
_TIMES = ("st_atime", "st_mtime", "st_ctime")
_FIRST_TIME = 7
"""Where the whole seconds of `_TIMES` stand in a result of `stat`."""
_SUPPORTED = ("supports_dir_fd", "supports_fd", "supports_follow_symlinks")


def shift(offset: int) -> None:
    """Replaces `stat`, `scandir` and `utime` in `os` by shifted ones for the rest of this process."""
    # imports compare times of files with those kept in compiled ones
    sys.modules["_frozen_importlib_external"].__dict__["_os"] = SimpleNamespace(**vars(posix))
    readers = {name: _reader(getattr(os, name), offset) for name in ("stat", "lstat", "fstat")}
    for name, function in {**readers, "utime": _setter(os.utime, offset), "scandir": _lister(offset)}.items():
        real = getattr(os, name)
        for supported in (getattr(os, each) for each in _SUPPORTED):
            if real in supported:
                supported.add(function)
        for module in (os, posix):
            setattr(module, name, function)


def _shift_result(found: os.stat_result, offset: int) -> os.stat_result:
    parts: Any = found.__reduce__()
    plain, named = parts[1]
    times = {name: named[name] + offset for name in _TIMES}
    nanos = {f"{name}_ns": named[f"{name}_ns"] + offset * _NANO for name in _TIMES}
    seconds = [each + offset for each in plain[_FIRST_TIME:]]
    return os.stat_result([*plain[:_FIRST_TIME], *seconds], {**named, **times, **nanos})


def _reader(real: Any, offset: int) -> Any:
    return lambda *words, **more: _shift_result(real(*words, **more), offset)


def _setter(real: Any, offset: int) -> Any:
    def utime(path: Any, times: Any = None, *, ns: Any = None, **more: Any) -> None:
        if ns is not None:
            more["ns"] = tuple(each - offset * _NANO for each in ns)
        elif times is not None:
            more["times"] = tuple(each - offset for each in times)
        real(path, **more)

    return utime


class _Entry:
    """An `os.DirEntry` of the moved clock."""

    def __init__(self, real: Any, offset: int) -> None:
        self._real, self._offset = real, offset

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __fspath__(self) -> Any:
        return self._real.__fspath__()

    def __repr__(self) -> str:
        return repr(self._real)

    def stat(self, **more: Any) -> os.stat_result:
        return _shift_result(self._real.stat(**more), self._offset)


class _Entries:
    """What `os.scandir` gives."""

    def __init__(self, real: Any, offset: int) -> None:
        self._real, self._offset = real, offset

    def __iter__(self) -> _Entries:
        return self

    def __next__(self) -> _Entry:
        return _Entry(next(self._real), self._offset)

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self._real.close()


def _lister(offset: int) -> Any:
    real = os.scandir
    return lambda path=".": _Entries(real(path), offset)
