"""Ctrl-C as an end that work can tidy up after: the work in, its result, or that it was interrupted, out."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import anyio
from anyio.abc import TaskStatus

T = TypeVar("T")


async def until_interrupted(work: Callable[[], Awaitable[T]]) -> tuple[T | None, bool]:
    """The work's result, and whether Ctrl-C or SIGTERM ended it.

    The work is cancelled, and waited for; the next Ctrl-C ends the process as ever.
    """
    if os.name == "nt":  # whose event loop takes no signals: Ctrl-C is an exception there
        return await work(), False
    result: T | None = None
    interrupted = False
    with _handlers_kept(), anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:

            async def watch(*, task_status: TaskStatus[None]) -> None:
                nonlocal interrupted
                with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                    task_status.started()
                    async for _ in signals:
                        interrupted = True
                        scope.cancel()
                        return

            await tasks.start(watch)
            result = await work()
            tasks.cancel_scope.cancel()
    return result, interrupted


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """An event loop that lets go of a signal leaves it with the platform's handler, not with ours."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
