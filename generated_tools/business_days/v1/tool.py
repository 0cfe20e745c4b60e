"""Working days between two dates, with weekends and holidays left out."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def business_days(
    start: str,
    end: str,
    holidays: list[str] | None = None,
    weekend: list[
        Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    ]
    | None = None,
) -> int:
    """Counts the working days between two dates, both included, like NETWORKDAYS in a spreadsheet.

    Args:
        start: YYYY-MM-DD.
        end: YYYY-MM-DD; before `start` the count is negative.
        holidays: Days off, YYYY-MM-DD.
        weekend: Saturday and sunday by default.

    Returns:
        How many days of the span are neither on the weekend nor a holiday.

    Raises:
        ValueError: A date is not a real day written as YYYY-MM-DD, or a weekday is unknown.
    """
    first, last = _day(start), _day(end)
    sign = 1 if first <= last else -1
    if first > last:
        first, last = last, first
    closed = _weekend(weekend)
    span = (last - first).days + 1
    whole_weeks, rest = divmod(span, 7)
    worked = whole_weeks * (7 - len(closed))
    for offset in range(rest):
        if (first + timedelta(days=offset)).weekday() not in closed:
            worked += 1
    off = {_day(holiday) for holiday in holidays or []}
    return sign * (worked - len([day for day in off if first <= day <= last and day.weekday() not in closed]))


def _weekend(names: list[str] | None) -> set[int]:
    if names is None:
        return {5, 6}
    closed: set[int] = set()
    for name in names:
        if name not in _DAYS:
            raise ValueError(f"{name!r} is not a weekday")
        closed.add(_DAYS.index(name))
    return closed


def _day(text: str) -> date:
    parts = text.split("-")
    if [len(part) for part in parts] != [4, 2, 2] or not all(part.isdigit() for part in parts):
        raise ValueError(f"{text!r} is not a date written as YYYY-MM-DD")
    try:
        return date(int(parts[0]), int(parts[1]), int(parts[2]))
    except ValueError:
        raise ValueError(f"there is no day {text}") from None
