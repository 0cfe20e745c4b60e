"""Processes forked from one that has imported what tests run in them, so that each starts in milliseconds."""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from io import StringIO
from multiprocessing.connection import Connection

FORKED = multiprocessing.get_context("forkserver")

FORKED.set_forkserver_preload(
    [
        "alita_mcp.sandbox.broker.requests",
        "alita_mcp.sandbox.broker.workspace",
        "csv", "shutil", "sqlite3", "tempfile", "urllib.request",
        "tests.library.processes",
        "tests.verification.trusting_sandbox",
    ]
)  # fmt: skip


def printed(program: str) -> str:
    """What a program prints in a process of its own; its failure is the caller's."""
    ours, theirs = FORKED.Pipe()
    with ours:
        process = FORKED.Process(target=_print, args=(theirs, program))
        process.start()
        theirs.close()
        assert ours.poll(60)
        said, failure = ours.recv()
        process.join()
    assert not failure, failure
    return str(said)


def _print(line: Connection, program: str) -> None:
    failure = ""
    with redirect_stdout(StringIO()) as said:
        try:
            exec(program, {"__name__": "printed"})
        except BaseException:  # noqa: BLE001 - told to the caller
            failure = traceback.format_exc()
    line.send((said.getvalue(), failure))


class Forked:
    """A function in a process of its own, with pipes for its standard input and output."""

    def __init__(self, function: Callable[..., None], *arguments: str) -> None:
        theirs_in, ours_out = FORKED.Pipe(duplex=False)
        ours_in, theirs_out = FORKED.Pipe(duplex=False)
        with theirs_in, ours_out, ours_in, theirs_out:
            self._process = FORKED.Process(target=_run, args=(theirs_in, theirs_out, function, arguments))
            self._process.start()
            self.stdin = os.fdopen(os.dup(ours_out.fileno()), "w")
            self.stdout = os.fdopen(os.dup(ours_in.fileno()))
        self.pid = self._process.pid
        self._rest = ""

    def send_line(self, line: str) -> None:
        self.stdin.write(f"{line}\n")
        self.stdin.flush()

    def read_line(self) -> str:
        return self.stdout.readline().strip()

    def kill(self) -> None:
        self._process.kill()

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def wait(self) -> tuple[int, str]:
        """Ends its input and waits; exit status and the rest of its output."""
        with suppress(BrokenPipeError):
            self.stdin.close()
        if not self.stdout.closed:
            with self.stdout:
                self._rest = self.stdout.read().strip()
        self._process.join(120)
        assert self._process.exitcode is not None, "it did not end"
        return self._process.exitcode, self._rest


def _run(
    source: Connection, sink: Connection, function: Callable[..., None], arguments: tuple[str, ...]
) -> None:
    with source, sink:
        os.dup2(source.fileno(), 0)
        os.dup2(sink.fileno(), 1)
    with os.fdopen(0, closefd=False) as sys.stdin, os.fdopen(1, "w", closefd=False) as sys.stdout:
        function(*arguments)
