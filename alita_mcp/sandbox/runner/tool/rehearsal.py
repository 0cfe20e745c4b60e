"""What makes the world of a rehearsed call the same each time: a moved clock and seeded random numbers.

The clock moves all times that code reads, file times too, so that nothing shows the real one; `isinstance` works on.
"""

from __future__ import annotations

import datetime
import os
import posix
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

_RealDate = datetime.date
_RealDatetime = datetime.datetime
_NANO = 1_000_000_000
_OF_THE_WALL = (time.CLOCK_REALTIME, getattr(time, "CLOCK_REALTIME_COARSE", 5))
_OF_THE_PROCESSOR = (time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID)
_FILE_TIMES = ("st_atime", "st_mtime", "st_ctime")
_FIRST_TIME = 7
"""Where the whole seconds of `_FILE_TIMES` stand in a result of `stat`."""


def shift_clock(offset: int) -> None:
    """Shifts the clocks and file times for the rest of this process; clocks of the processor stay."""
    real_ns = time.time_ns
    _replace_clocks(offset, lambda: real_ns() + offset * _NANO)


def stand_at(moment: int) -> Callable[[], None]:
    """Sets a wall clock that counts whole seconds from `moment`; the function that is returned sets it back.

    So calls that take less than a second see one time, and a loop that waits for a later one ends.
    """
    monotonic = time.monotonic
    began = monotonic()

    def restart() -> None:
        nonlocal began
        began = monotonic()

    _replace_clocks(moment - int(time.time()), lambda: (moment + int(monotonic() - began)) * _NANO)
    return restart


def draw_from(seed: int) -> Callable[[], None]:
    """Seeds all sources of randomness for the rest of this process; the function that is returned seeds them anew.

    `random.Random(seed)` is what the functions of `random` draw from; a generator without a seed gets one from it.
    """
    import random  # takes its time, and few calls need it

    source = random.Random(seed)  # noqa: S311 - to be foreseen is the point
    set_seed = random.Random.seed

    def bytes_of(size: int, _flags: int = 0) -> bytes:
        return source.randbytes(size)

    def seed_generator(generator: random.Random, a: Any = None, version: int = 2) -> None:
        set_seed(generator, source.getrandbits(64) if a is None else a, version)

    def restart() -> None:
        set_seed(source, seed)
        random.seed(seed)
        if numpy := sys.modules.get("numpy.random"):
            numpy.seed(seed)

    random.Random.seed = seed_generator  # type: ignore[method-assign, assignment]
    vars(random)["_urandom"] = bytes_of
    vars(os).update(urandom=bytes_of, getrandom=bytes_of)
    return restart


def _replace_clocks(offset: int, now_ns: Callable[[], int]) -> None:
    _shift_file_times(offset)
    real_clock, real_clock_ns = time.clock_gettime, time.clock_gettime_ns
    real_localtime, real_strftime, real_asctime = time.localtime, time.strftime, time.asctime

    def now() -> float:
        return now_ns() / _NANO

    def with_default(convert: Any) -> Any:
        return lambda seconds=None: convert(now() if seconds is None else seconds)

    def later(read: Any, offset: int) -> Any:
        return lambda: read() + offset

    def shift_of(clock: int) -> int:
        return offset if clock >= 0 and clock not in _OF_THE_PROCESSOR else 0

    def moment(given: Any) -> Any:
        return real_localtime(now()) if given is None else given

    vars(time).update(
        {
            "time": now,
            "time_ns": now_ns,
            "monotonic": later(time.monotonic, offset),
            "monotonic_ns": later(time.monotonic_ns, offset * _NANO),
            "perf_counter": later(time.perf_counter, offset),
            "perf_counter_ns": later(time.perf_counter_ns, offset * _NANO),
            "clock_gettime": lambda clock: (
                now() if clock in _OF_THE_WALL else real_clock(clock) + shift_of(clock)
            ),
            "clock_gettime_ns": lambda clock: (
                now_ns() if clock in _OF_THE_WALL else real_clock_ns(clock) + shift_of(clock) * _NANO
            ),
            "localtime": with_default(real_localtime),
            "gmtime": with_default(time.gmtime),
            "ctime": with_default(time.ctime),
            "asctime": lambda given=None: real_asctime(moment(given)),
            "strftime": lambda form, given=None: real_strftime(form, moment(given)),
        }
    )
    # under the real names, so that pickles and type names look as they do without a shift
    for shifted, name in ((ShiftedDate, "date"), (ShiftedDatetime, "datetime")):
        shifted.__module__, shifted.__name__, shifted.__qualname__ = "datetime", name, name
        setattr(datetime, name, shifted)


class _Kind(type):
    """Lets a shifted class stand for the real one in `isinstance` and `issubclass`; its subclasses are themselves."""

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, kind: type) -> bool:
        real = {ShiftedDate: _RealDate, ShiftedDatetime: _RealDatetime}.get(cls)
        return issubclass(kind, real) if real else type.__subclasscheck__(cls, kind)


class ShiftedDate(_RealDate, metaclass=_Kind):
    """`datetime.date` of the moved clock."""

    @classmethod
    def today(cls) -> Any:
        """Today by the moved clock."""
        return cls.fromtimestamp(time.time())

    def __repr__(self) -> str:
        return _repr(self, _RealDate.__repr__(self), ShiftedDate)


class ShiftedDatetime(_RealDatetime, metaclass=_Kind):
    """`datetime.datetime` of the moved clock."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        """Now by the moved clock."""
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        """Now in UTC without a time zone."""
        return cls.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        """Now, as `now()`."""
        return cls.fromtimestamp(time.time())

    def date(self) -> Any:
        """The day, of the moved class too."""
        return ShiftedDate(self.year, self.month, self.day)

    def __repr__(self) -> str:
        return _repr(self, _RealDatetime.__repr__(self), ShiftedDatetime)


def _repr(value: object, text: str, shifted: type) -> str:
    return f"datetime.{text}" if type(value) is shifted else text


def _shift_file_times(offset: int) -> None:
    """Replaces `stat`, `scandir` and `utime` in `os` by shifted ones."""
    # imports compare times of files with those kept in compiled ones
    sys.modules["_frozen_importlib_external"].__dict__["_os"] = SimpleNamespace(**vars(posix))
    real_utime, real_scandir = os.utime, os.scandir

    def reader(real: Any) -> Any:
        return lambda *words, **more: _shift_result(real(*words, **more), offset)

    def utime(path: Any, times: Any = None, *, ns: Any = None, **more: Any) -> None:
        if ns is not None:
            more["ns"] = tuple(each - offset * _NANO for each in ns)
        elif times is not None:
            more["times"] = tuple(each - offset for each in times)
        real_utime(path, **more)

    shifted = {name: reader(getattr(os, name)) for name in ("stat", "lstat", "fstat")}
    shifted |= {"utime": utime, "scandir": lambda path=".": _Entries(real_scandir(path), offset)}
    for name, function in shifted.items():
        for supported in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if getattr(os, name) in supported:
                supported.add(function)
        for module in (os, posix):
            setattr(module, name, function)


def _shift_result(found: os.stat_result, offset: int) -> os.stat_result:
    parts: Any = found.__reduce__()
    plain, named = parts[1]
    times = {name: named[name] + offset for name in _FILE_TIMES}
    nanos = {f"{name}_ns": named[f"{name}_ns"] + offset * _NANO for name in _FILE_TIMES}
    seconds = [each + offset for each in plain[_FIRST_TIME:]]
    return os.stat_result([*plain[:_FIRST_TIME], *seconds], {**named, **times, **nanos})


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


class _Entries(Iterator[_Entry], AbstractContextManager["_Entries"]):
    """What `os.scandir` gives."""

    def __init__(self, real: Any, offset: int) -> None:
        self._real, self._offset = real, offset
        self.close = real.close

    def __next__(self) -> _Entry:
        return _Entry(next(self._real), self._offset)

    def __exit__(self, *_error: object) -> None:
        self.close()
