"""Shutdown of a serving process: by a signal, with a deadline."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple, NoReturn

import anyio
import anyio.from_thread
import anyio.to_thread

from alita_mcp.sandbox.temporary import remove_temporary_folder
from alita_mcp.tracing import flush_traces

END_WITHIN_S = 2.2
"""A client kills a server about 3 s after it asked it to end; by then the sandboxes must be closed."""
RESERVE_S = 0.7
"""What a busy machine takes of that to end the process."""

_log = logging.getLogger(__name__)


class Drain(NamedTuple):
    """What a server finishes after SIGTERM before it ends."""

    finish: Callable[[], Awaitable[None]]
    within_s: float
    """How long that takes at most."""


def leave(status: int) -> NoReturn:
    """Ends the process now: a thread that blocks in `read` would hold up an ordinary exit."""
    flush_traces()
    remove_temporary_folder()
    logging.shutdown()
    sys.stderr.flush()
    os._exit(status)


def start_exit_timer(status: int, drains_s: float = 0.0) -> None:
    """Ends the process in time, whatever the event loop is doing; there is no way back."""

    def overdue() -> None:
        _log.error("The clean-up took longer than %s s; exiting without finishing it.", END_WITHIN_S)
        leave(status)

    timer = threading.Timer(drains_s + END_WITHIN_S - RESERVE_S, overdue)
    timer.daemon = True
    timer.start()


async def wait_for_signal(notice: str = "", drain: Drain | None = None) -> int:
    """Waits for a signal that asks the process to end; returns the exit status to end with.

    Writes `notice` to stderr once no signal can be missed. After SIGTERM it drains first; another signal cuts that off.

    The time in which it has to end runs from the signal itself: a loop that is busy hears of it seconds later.
    A signal that the parent process chose to ignore (`nohup`, a shell's background job) stays ignored.
    Windows has no such receiver: there Ctrl-C arrives as `KeyboardInterrupt` and cancels the main task.
    """
    if sys.platform == "win32":
        sys.stderr.write(notice)
        await anyio.sleep_forever()
    asked = [
        number
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]
    readable, written = os.pipe()
    os.set_blocking(written, False)
    for number in asked:  # for good: another signal does not cut the clean-up off
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    sys.stderr.write(notice)
    noting, noted = anyio.create_memory_object_stream[int](len(signal.valid_signals()))
    drains_s = drain.within_s if drain else 0.0
    read = partial(_read_signals, readable, noting.send_nowait, drains_s)
    try:
        with noting, noted:
            async with anyio.create_task_group() as tasks:
                limiter = anyio.CapacityLimiter(1)
                tasks.start_soon(
                    partial(anyio.to_thread.run_sync, read, abandon_on_cancel=True, limiter=limiter)
                )
                received = await noted.receive()
                if drain is not None and received == signal.SIGTERM:
                    async with anyio.create_task_group() as draining:

                        async def cut_off() -> None:
                            await noted.receive()
                            draining.cancel_scope.cancel()

                        draining.start_soon(cut_off)
                        await drain.finish()
                        draining.cancel_scope.cancel()
                tasks.cancel_scope.cancel()
        return 128 + received
    finally:
        signal.set_wakeup_fd(-1)
        os.close(written)


def _read_signals(readable: int, note: Callable[[int], None], drains_s: float) -> None:
    """Notes each signal and starts the time that is left: with the drain after a first SIGTERM, else without it."""
    with os.fdopen(readable, "rb", buffering=0) as pipe:
        while received := pipe.read(1):
            number = received[0]
            start_exit_timer(128 + number, drains_s if number == signal.SIGTERM else 0.0)
            drains_s = 0.0
            with suppress(
                RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.WouldBlock
            ):
                anyio.from_thread.run_sync(note, number)
