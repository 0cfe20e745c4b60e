"""A command on a terminal of its own."""

from __future__ import annotations

import os
import select
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.cli.conftest import PATIENCE_S

ALITA = ("-m", "alita_mcp.cli.main")
AGAIN_S = 10


@dataclass
class Terminal:
    """The person's end of a terminal, and the process at the other one."""

    handle: int
    process: subprocess.Popen[bytes]
    said: bytearray = field(default_factory=bytearray)

    def until(self, words: bytes) -> None:
        """Reads until these words stand there."""
        while words not in self.said:
            self.said += os.read(self.handle, 65_536)

    def type(self, text: str) -> None:
        os.write(self.handle, text.encode())

    def end(self, again: str = "") -> tuple[int, str]:
        """The exit status, and all that was shown.

        Ctrl-C must be typed `again` by a person, too, where it comes just before CPython's blocking read: the
        signal is seen, but not looked at until the read returns.
        """
        try:
            while True:
                if again and not select.select([self.handle], [], [], AGAIN_S)[0]:
                    self.type(again)
                elif piece := os.read(self.handle, 65_536):
                    self.said += piece
                else:
                    break
        except OSError:
            pass  # Linux says so when the other end is closed
        return self.process.wait(PATIENCE_S), self.said.decode("utf-8", "replace")


@contextmanager
def on_terminal(
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    program: Sequence[str] = ALITA,
    rows: int = 24,
    columns: int = 80,
    term: str = "xterm-256color",
) -> Iterator[Terminal]:
    """Runs a program of Python, `alita` by default, as long as the block lasts; typed control characters reach it."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, *program, *words],
        stdin=theirs, stdout=theirs, stderr=theirs, env={**environment, "TERM": term},
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
