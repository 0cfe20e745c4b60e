"""Waiting without threads: sleeps that can be ended, an event loop of timers, executors that run at once."""

from __future__ import annotations

import asyncio
import asyncio.base_events
import asyncio.events
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

_STEP_SECONDS = 0.02
"""The engine ends a call between two steps; in one it waits for the host."""


def install() -> None:
    """Replaces sleeps, event loops and executors."""
    time.sleep = _sleep
    # the clock of the processor began to run where the component was built; one thread computes, and hardly waits
    time.process_time = time.thread_time = time.monotonic
    time.process_time_ns = time.thread_time_ns = time.monotonic_ns
    asyncio.new_event_loop = asyncio.events.new_event_loop = _Loop
    futures.ThreadPoolExecutor.submit = _submit


def _sleep(seconds: float, /, _sleep: Any = time.sleep, _now: Any = time.monotonic) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    end = _now() + seconds
    while (rest := end - _now()) > 0:
        _sleep(min(rest, _STEP_SECONDS))


class _Timers:
    """In place of a selector: with no sockets, an event loop waits for its next timer and nothing else."""

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("deadlock: nothing is scheduled and nothing can arrive")
        _sleep(max(timeout, 0))
        return []


class _Loop(asyncio.base_events.BaseEventLoop):
    """Runs callbacks and timers; executors run at once."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Timers()

    def _process_events(self, _events: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Does nothing: no other thread could be woken."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        return asyncio.wrap_future(_submit(executor, func, *args), loop=self)


def _submit(_executor: Any, function: Callable[..., Any], /, *args: Any, **words: Any) -> futures.Future[Any]:
    future: futures.Future[Any] = futures.Future()
    try:
        future.set_result(function(*args, **words))
    except BaseException as problem:
        future.set_exception(problem)
    return future
