"""What a process that serves does before all else: private descriptors for JSON-RPC, signals, imports.

Standard library only: this runs before every other import.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import NamedTuple


class Wire(NamedTuple):
    """Private descriptors that carry JSON-RPC; no other part of the process knows them."""

    reads: int
    writes: int


def claim_standard_streams() -> Wire:
    """Moves stdin and stdout to private descriptors.

    Descriptor 0 becomes the null device and descriptor 1 becomes stderr, so whatever a library, a tool's
    child process or C code prints cannot reach the client. To be called before anything that may print.
    """
    # Where 0, 1 or 2 is closed, the null device takes its place, so that no duplicate lands there.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    wire = Wire(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    if sys.stderr is None:  # it was closed: Python opened no stream for it
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    sys.stdout = sys.stderr
    return wire


def end_on_signals(end: Callable[[int], object]) -> None:
    """Has `end` called with the exit status when a signal asks this process to end; what is ignored stays ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda received, _frame: end(128 + received))


def prepare_imports() -> None:
    """Makes this process ready to load much: collecting garbage meanwhile would take a tenth of the start."""
    gc.disable()
    tolerate_warnings()


def tolerate_warnings() -> None:
    """Keeps a library's warning from failing a call where PYTHONWARNINGS turns warnings into errors; call it first."""
    if sys.warnoptions:
        warnings.simplefilter("default")
