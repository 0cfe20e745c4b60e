"""Reader and writer of the client's pipe on the event loop itself, where that cannot block: a thread costs more.

Elsewhere (Windows, regular files, terminals, full pipes) the caller uses a thread.
"""

from __future__ import annotations

import os
import select
import stat
import sys

import anyio

CHUNK_BYTES = 65_536


class PipeReader:
    """Reader of lines from a pipe or a socket."""

    def __init__(self, descriptor: int, read: bytes = b"") -> None:
        """`read` came from the descriptor before."""
        self._descriptor = descriptor
        self._unread = bytearray(read)

    @staticmethod
    def can_read(descriptor: int) -> bool:
        """Whether the event loop notices when there is something to read."""
        mode = os.fstat(descriptor).st_mode
        return sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))

    async def line(self) -> str:
        """The next line with its end, what is left when there is no end, or an empty text at the end."""
        searched = 0
        while (end := self._unread.find(b"\n", searched)) < 0:
            searched = len(self._unread)
            await anyio.wait_readable(self._descriptor)
            try:
                chunk = os.read(self._descriptor, CHUNK_BYTES)
            except BlockingIOError:  # another process shares the descriptor and was faster
                continue
            except ConnectionError:
                chunk = b""
            if not chunk:
                end = len(self._unread) - 1
                break
            self._unread += chunk
        line = self._unread[: end + 1].decode("utf-8", "replace")
        del self._unread[: end + 1]
        return line


class PipeWriter:
    """Writer of small texts into a pipe that has space for them."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = None
        if sys.platform != "win32" and stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            self._poll = select.poll()
            self._poll.register(descriptor, select.POLLOUT)

    def write(self, text: str) -> bool:
        """Whether the text was written; nothing of it was when it would have had to wait.

        Raises:
            OSError: the reader is gone.
        """
        if self._poll is None or len(text) > select.PIPE_BUF:
            return False
        data = text.encode()
        if len(data) > select.PIPE_BUF or not self._poll.poll(0):
            return False
        os.write(self._descriptor, data)  # all or nothing: that is what PIPE_BUF means
        return True
