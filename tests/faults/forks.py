"""Forks of this process that answer within a deadline: one that imported everything forks thousands in no time."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import select
import signal
import struct
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from tests.forked import FORKED

PR_SET_PDEATHSIG = 1
DEADLINE_S = 90.0
"""Far more than any fork takes; only a hang is that slow."""


@dataclass
class Fork:
    """A process that runs one function."""

    pid: int
    answer: int
    """The pipe that its answer comes through."""

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Signals it, if it still runs."""
        os.kill(self.pid, number)

    def is_alive_after(self, seconds: float) -> bool:
        """Whether it still runs, at the latest after so long."""
        return not select.select([self.answer], [], [], seconds)[0]

    def wait(self, deadline_s: float = DEADLINE_S) -> Any:
        """What its function returned; None where it was killed.

        Raises:
            TimeoutError: it hangs, and was killed.
            AssertionError: the function raised; the message is the traceback.
        """
        end, content = time.monotonic() + deadline_s, b""
        try:
            while select.select([self.answer], [], [], max(0.0, end - time.monotonic()))[0]:
                part = os.read(self.answer, 1 << 20)
                content += part
                if not part:
                    break
            else:
                self.kill()
                raise TimeoutError(f"it hangs: no answer within {deadline_s:g} s")
        finally:
            os.close(self.answer)
            os.waitpid(self.pid, 0)
        if not content:
            return None
        failure, answer = pickle.loads(content)
        assert not failure, failure
        return answer


def fork(function: Callable[..., Any], *arguments: Any) -> Fork:
    """Starts a function in a fork of this process."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return Fork(pid, ours)
    try:
        os.close(ours)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            answer = (None, function(*arguments))
        except BaseException:  # noqa: BLE001 - told to who waits
            answer = (traceback.format_exc(), None)
        with os.fdopen(theirs, "wb") as sink:
            pickle.dump(answer, sink)
    finally:
        os._exit(0)


def drop_capabilities() -> None:
    """Makes root a user like others, for whom modes and owners of files count; call it before any thread starts."""
    if os.geteuid() == 0:
        header, none = struct.pack("Ii", 0x20080522, 0), bytes(24)
        assert ctypes.CDLL(None, use_errno=True).capset(header, none) == 0, ctypes.get_errno()


class Warm:
    """A process that imported everything, and forks itself for each function."""

    def __init__(self, line: Connection) -> None:
        self._line = line

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns in a fork of that process; raises as `Fork.wait`."""
        self._line.send((function, arguments))
        failure, answer = self._line.recv()
        assert not failure, failure
        return answer


@contextmanager
def open_warm(warm_up: Callable[..., None], *arguments: Any) -> Iterator[Warm]:
    """Starts such a process; `warm_up` prepares it."""
    ours, theirs = FORKED.Pipe()
    process = FORKED.Process(target=_keep_forking, args=(theirs, warm_up, arguments))
    process.start()
    theirs.close()
    with ours:
        yield Warm(ours)
    process.join()


def _keep_forking(line: Connection, warm_up: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    warm_up(*arguments)
    gc.freeze()
    with suppress(EOFError):
        while True:
            function, given = line.recv()
            try:
                line.send((None, fork(function, *given).wait(10 * DEADLINE_S)))
            except (AssertionError, TimeoutError) as failure:
                line.send((str(failure), None))
