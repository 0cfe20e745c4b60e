"""Current time in the form that the library stores."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """This moment, ISO 8601, UTC, to the microsecond, so that the order of texts is the order of times."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
