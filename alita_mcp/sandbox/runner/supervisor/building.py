"""Run of one package builder program in a sandbox of its own, from its order to its result."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import Any

from alita_mcp.sandbox.runner.supervisor.child_process import ChildProcess
from alita_mcp.sandbox.runner.supervisor.loop import HostLink, Loop
from alita_mcp.sandbox.runner.supervisor.reaper import Reaper, kill
from alita_mcp.sandbox.runner.supervisor.spawn import Program, spawn
from alita_mcp.sandbox.wire.frames import CHUNK, Kind

PAYLOAD_FILE, RESULT_FILE = "/tmp/payload", "/tmp/result"


class Building:
    """Builder program with its payload and result as files; its output goes to the host line by line."""

    def __init__(self, loop: Loop, link: HostLink, reaper: Reaper) -> None:
        self._loop = loop
        self._link = link
        self._reaper = reaper
        self._finished = False
        self._order: dict[str, Any] = {}
        self._process = ChildProcess(loop, reaper, largest_message=0)

    def start(self, program: Program, order: dict[str, Any], payload: bytes) -> None:
        """Starts the program."""
        with open(PAYLOAD_FILE, "wb") as file:
            file.write(payload)
        self._order = order
        process = self._process
        process.on_output = self._on_output
        process.on_message = lambda _kind, _payload: self._finish(
            {"status": "crashed", "message": "wrote garbage on its channel"}
        )
        process.on_end = self._on_end
        self._link.on_room = lambda: process.pause_output(paused=False)
        ends = process.open()
        process.begin()
        process.pid = spawn(program.boot, program.source(order["options"]), order, ends)
        for fd in ends:
            os.close(fd)
        self._reaper.watch(process.pid)
        wall = order["wall_seconds"]
        late = {"status": "timeout", "message": f"took more than {wall:g} s (wall_seconds)"}
        self._loop.alarm(process.started + wall, lambda: self._finish(late))

    def on_child_signal(self) -> None:
        """A process died or stopped."""
        if self._process.has_ended():
            # children that it left behind may keep its end of the channel open for ever
            self._process.collect()
            self._on_end()

    def _on_output(self, stream: int, data: bytes) -> None:
        self._link.send(Kind.OUTPUT, stream, data)
        if self._link.full:
            self._process.pause_output(paused=True)

    def _on_end(self) -> None:
        head = self._process.ended(self._order["rlimits"]["cpu_seconds"])
        code = self._process.exit_code()
        if code is None:
            self._finish(head)
        else:
            self._finish({"status": "ok", "exit_code": code}, _file_pieces if code == 0 else None)

    def _finish(self, head: dict[str, Any], result: Callable[[], Iterator[bytes]] | None = None) -> None:
        if self._finished:
            return
        self._finished = True
        seconds = self._process.seconds()
        kill(-1)
        self._process.close()
        self._reaper.wait_for_all()
        # no process is left that could swap the file while it is read
        self._link.finish(result() if result else (), head | {"seconds": seconds})


def _file_pieces() -> Iterator[bytes]:
    try:
        fd = os.open(RESULT_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    if stat.S_ISREG(os.fstat(fd).st_mode):
        while piece := os.read(fd, CHUNK):
            yield piece
