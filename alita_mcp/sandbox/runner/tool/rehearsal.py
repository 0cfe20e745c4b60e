"""What makes the world of a rehearsed call the same each time: a moved clock and seeded random numbers.

The wall clock is moved wherever code of the library reads it; `isinstance` works on. Clocks that count from the start
of a machine or a process, and the times of files, stay.
"""

from __future__ import annotations

import datetime
import os
import sys
import time
from collections.abc import Callable
from typing import Any

_RealDate = datetime.date
_RealDatetime = datetime.datetime
_NANO = 1_000_000_000
_OF_THE_WALL = (time.CLOCK_REALTIME, getattr(time, "CLOCK_REALTIME_COARSE", 5))


def shift_clock(offset: int) -> None:
    """Shifts the wall clock for the rest of this process."""
    real_ns = time.time_ns
    _replace_clock(lambda: real_ns() + offset * _NANO)


def stand_at(moment: int) -> Callable[[], None]:
    """Sets a wall clock that counts whole seconds from `moment`; the function that is returned sets it back.

    So calls that take less than a second see one time, and a loop that waits for a later one ends.
    """
    monotonic = time.monotonic
    began = monotonic()

    def restart() -> None:
        nonlocal began
        began = monotonic()

    _replace_clock(lambda: (moment + int(monotonic() - began)) * _NANO)
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


def _replace_clock(now_ns: Callable[[], int]) -> None:
    real_clock, real_clock_ns = time.clock_gettime, time.clock_gettime_ns
    real_localtime, real_strftime, real_asctime = time.localtime, time.strftime, time.asctime

    def now() -> float:
        return now_ns() / _NANO

    def with_default(convert: Any) -> Any:
        return lambda seconds=None: convert(now() if seconds is None else seconds)

    def moment(given: Any) -> Any:
        return real_localtime(now()) if given is None else given

    vars(time).update(
        {
            "time": now,
            "time_ns": now_ns,
            "clock_gettime": lambda clock: now() if clock in _OF_THE_WALL else real_clock(clock),
            "clock_gettime_ns": lambda clock: now_ns() if clock in _OF_THE_WALL else real_clock_ns(clock),
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
