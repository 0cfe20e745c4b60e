"""Shutdown of a serving process: by a signal, with a deadline."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from typing import NoReturn

import anyio
import anyio.to_thread

from alita_mcp.sandbox.temporary import remove_temporary_folder

END_WITHIN_S = 2.2
"""A client kills a server about 3 s after it asked it to end; by then the sandboxes must be closed."""
RESERVE_S = 0.7
"""What a busy machine takes of that to end the process."""

_log = logging.getLogger(__name__)


def leave(status: int) -> NoReturn:
    """Ends the process now: a thread that blocks in `read` would hold up an ordinary exit."""
    remove_temporary_folder()
    logging.shutdown()
    sys.stderr.flush()
    os._exit(status)


def start_exit_timer(status: int) -> None:
    """Ends the process in time, whatever the event loop is doing; there is no way back."""

    def overdue() -> None:
        _log.error("The clean-up took longer than %s s; exiting without finishing it.", END_WITHIN_S)
        leave(status)

    timer = threading.Timer(END_WITHIN_S - RESERVE_S, overdue)
    timer.daemon = True
    timer.start()


async def wait_for_signal(notice: str = "") -> int:
    """Waits for a signal that asks the process to end; returns the exit status to end with.

    Writes `notice` to stderr once no signal can be missed.

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
    try:
        return await anyio.to_thread.run_sync(
            _read_signal, readable, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
        )
    finally:
        signal.set_wakeup_fd(-1)
        os.close(written)


def _read_signal(readable: int) -> int:
    """The exit status of the first signal; meaningless where nobody waits for it any more."""
    with os.fdopen(readable, "rb", buffering=0) as pipe:
        received = pipe.read(1)
    status = 128 + (received[0] if received else 0)
    if received:
        start_exit_timer(status)
    return status
