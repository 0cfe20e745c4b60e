"""Shutdown of a serving process: by a signal, with a deadline."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import anyio

END_WITHIN_S = 2.2
"""A client kills a server about 3 s after it asked it to end; by then the sandboxes must be closed."""

_log = logging.getLogger(__name__)


def leave(status: int) -> NoReturn:
    """Ends the process now: a thread that blocks in `read` would hold up an ordinary exit."""
    logging.shutdown()
    sys.stderr.flush()
    os._exit(status)


@contextmanager
def exit_deadline(status: int) -> Iterator[None]:
    """Ends the process after `END_WITHIN_S` unless the block ends first, whatever the event loop is doing."""

    def overdue() -> None:
        _log.error("The clean-up took longer than %s s; exiting without finishing it.", END_WITHIN_S)
        leave(status)

    timer = threading.Timer(END_WITHIN_S, overdue)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


async def wait_for_signal() -> int:
    """Waits for a signal that asks the process to end; returns the exit status to end with.

    A signal that the parent process chose to ignore (`nohup`, a shell's background job) stays ignored.
    Windows has no such receiver: there Ctrl-C arrives as `KeyboardInterrupt` and cancels the main task.
    """
    if sys.platform == "win32":
        await anyio.sleep_forever()
    asked = [
        number
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]
    with anyio.open_signal_receiver(*asked) as received:
        async for number in received:
            return 128 + number
    raise AssertionError("a signal receiver never ends by itself")
