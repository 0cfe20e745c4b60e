"""Rehearsed clock: moves the times that code reads, file times too (`file_times`); `isinstance` goes on working."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

from alita_mcp.sandbox.runner.tool import file_times

_RealDate = datetime.date
_RealDatetime = datetime.datetime
_NANO = 1_000_000_000
_OF_THE_WALL = (time.CLOCK_REALTIME, getattr(time, "CLOCK_REALTIME_COARSE", 5))
_OF_THE_PROCESSOR = (time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID)


def shift(offset: int) -> None:
    """Shifts the clocks and file times for the rest of this process; clocks of the processor stay."""
    _replace(offset, None)


def stand_at(moment: int) -> Callable[[], None]:
    """Sets a wall clock that counts whole seconds from `moment`; the function that is returned sets it back.

    So calls that take less than a second see one time, and a loop that waits for a later one ends.
    """
    monotonic = time.monotonic
    began = monotonic()

    def restart() -> None:
        nonlocal began
        began = monotonic()

    _replace(moment - int(time.time()), lambda: float(moment + int(monotonic() - began)))
    return restart


def _replace(offset: int, standing: Callable[[], float] | None) -> None:
    file_times.shift(offset)
    for name, function in _readers(offset, standing).items():
        setattr(time, name, function)
    _install(ShiftedDate, "date")
    _install(ShiftedDatetime, "datetime")


def _readers(offset: int, standing: Callable[[], float] | None) -> dict[str, Any]:
    real_time, real_time_ns = time.time, time.time_ns
    real_clock, real_clock_ns = time.clock_gettime, time.clock_gettime_ns
    real_localtime, real_strftime, real_asctime = time.localtime, time.strftime, time.asctime

    def now() -> float:
        return standing() if standing else real_time() + offset

    def now_ns() -> int:
        return int(standing()) * _NANO if standing else real_time_ns() + offset * _NANO

    def with_default(convert: Any) -> Any:
        return lambda seconds=None: convert(now() if seconds is None else seconds)

    def shift_of(clock: int) -> int:
        return offset if clock >= 0 and clock not in _OF_THE_PROCESSOR else 0

    def moment(given: Any) -> Any:
        return real_localtime(now()) if given is None else given

    running = ("monotonic", "perf_counter")
    return {
        **{name: _later(getattr(time, name), offset) for name in running},
        **{f"{name}_ns": _later(getattr(time, f"{name}_ns"), offset * _NANO) for name in running},
        "time": now,
        "time_ns": now_ns,
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


def _later(read: Any, offset: int) -> Any:
    return lambda: read() + offset


class _Kind(type):
    """Lets a shifted class stand for the real one in `isinstance` and `issubclass`; its subclasses are themselves."""

    def __instancecheck__(cls, instance: object) -> bool:
        real = _REAL.get(cls)
        return isinstance(instance, real) if real else type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, kind: type) -> bool:
        real = _REAL.get(cls)
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


_REAL: dict[type, type] = {ShiftedDate: _RealDate, ShiftedDatetime: _RealDatetime}


def _install(shifted: type, name: str) -> None:
    """Under the real name, so that pickles and type names look as they do without a shift."""
    shifted.__module__, shifted.__name__, shifted.__qualname__ = "datetime", name, name
    setattr(datetime, name, shifted)


def _repr(value: object, text: str, shifted: type) -> str:
    return f"datetime.{text}" if type(value) is shifted else text
