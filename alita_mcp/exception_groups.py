"""Errors taken out of the groups that anyio's task groups raise them in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def innermost(failure: BaseException) -> BaseException:
    """The error inside of exception groups that hold a single one each; else the failure itself."""
    while isinstance(failure, BaseExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return failure


@contextmanager
def unwrapped() -> Iterator[None]:
    """Raises the only error of a group as itself; a group of several stays one."""
    try:
        yield
    except BaseExceptionGroup as group:
        failure = innermost(group)
        if failure is group:
            raise
        raise failure from failure.__cause__
