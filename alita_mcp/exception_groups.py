"""Errors without the groups that anyio's task groups raise them in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def innermost_error(failure: BaseException) -> BaseException:
    """The error inside exception groups that hold a single one each; otherwise the failure itself."""
    while isinstance(failure, BaseExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return failure


@contextmanager
def unwrap_groups() -> Iterator[None]:
    """Raises the only error of a group as itself; a group of several errors stays a group."""
    try:
        yield
    except BaseExceptionGroup as group:
        failure = innermost_error(group)
        if failure is group:
            raise
        raise failure from failure.__cause__
