"""Supervisor's connection to a zygote, which is untrusted: start, result of the import, requests to fork."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

from alita_mcp.sandbox.runner.supervisor.child_process import ChildProcess
from alita_mcp.sandbox.runner.supervisor.loop import Loop
from alita_mcp.sandbox.runner.supervisor.processes import Ends, Program, Reaper, others, spawn
from alita_mcp.sandbox.wire.reports import Output, read_report

MAX_REPORT = 64 << 10
FLOOD = 1024
"""How many times `output_bytes` an import may print; only the first `output_bytes` are kept."""
_OWN_FDS = {"0", "1", "2", "3"}


class ZygoteLink:
    """Connection to one zygote; calls `on_loaded(head)` once, and `on_lost()` when it cannot be used any more."""

    def __init__(self, loop: Loop, reaper: Reaper, order: dict[str, Any]) -> None:
        self.loaded = False
        self.lost = False
        limit = order["output_bytes"]
        self.output = Output(limit, FLOOD * max(limit, 1 << 10))
        """What the import printed."""
        self.on_loaded: Callable[[dict[str, Any]], None] = lambda _head: None
        self.on_lost: Callable[[], None] = lambda: None
        self._reaper = reaper
        self._order = order
        self._process = ChildProcess(loop, reaper, largest_message=MAX_REPORT)

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    def start(self, program: Program, code: bytes) -> None:
        """Starts it; it imports the code at once."""
        process = self._process
        process.on_output = self._on_output
        process.on_message = self._on_message
        process.on_end = self._on_end
        ends = process.open(socket.SOCK_SEQPACKET)
        process.begin()
        order = self._order
        source = program.source(order["options"]) + code
        process.pid = spawn(program.boot, source, order, ends)
        for fd in ends:
            os.close(fd)
        self._reaper.watch(process.pid)

    def fork(self, ends: Ends) -> None:
        """Asks for a child with these file descriptors."""
        self._process.hand_over(ends)

    def seconds(self) -> float:
        """How long ago it was started."""
        return self._process.seconds()

    def check(self) -> None:
        """Notices that it died or was stopped."""
        if self._reaper.end_of(self.pid) is not None:
            self._process.collect()
            self._on_end()
        elif self._reaper.is_stopped(self.pid):
            message = "the process was stopped, while the module was imported"
            self._end({"status": "load_failed", "message": message})

    def is_fit(self) -> bool:
        """Whether it waits for the next request, as far as the kernel tells."""
        ended = self._reaper.end_of(self.pid) is not None
        return self.loaded and not (self.lost or ended or self._reaper.is_stopped(self.pid))

    def close(self) -> None:
        """Kills it and lets go of it."""
        self.lost = True
        self._process.close()

    def why_single_use(self) -> str:
        """What the import left that two calls would share; empty: nothing."""
        folder = f"/proc/{self.pid}"
        try:
            with open(f"{folder}/status") as file:
                threads = next(line.split()[1] for line in file if line.startswith("Threads:"))
            with open(f"{folder}/maps") as file:
                shared = any(line.split()[1][1::2] == "ws" for line in file)
            opened = set(os.listdir(f"{folder}/fd")) - _OWN_FDS
        except (OSError, StopIteration, IndexError):
            return "what it holds cannot be seen"
        if threads != "1":
            return "threads"
        if shared:
            return "shared memory"
        return "open files" if opened else "processes" if others(1, self.pid) else ""

    def _on_output(self, stream: int, data: bytes) -> None:
        self.output.add(stream, data)
        if self.output.is_flood:
            limit = FLOOD * self._order["output_bytes"]
            message = f"wrote more than {limit} bytes to stdout and stderr ({FLOOD} x output_bytes)"
            self._end({"status": "output_flood", "message": f"{message}, while the module was imported"})

    def _on_message(self, kind: bytes, payload: bytes) -> None:
        try:
            if kind != b"L" or self.loaded:
                raise ValueError(kind)
            head = read_report(payload)
        except ValueError:
            self._end({"status": "load_failed", "message": "wrote invalid data to its channel"})
            return
        self.loaded = head["status"] == "ok"
        self.on_loaded(head)

    def _on_end(self) -> None:
        death = self._process.describe_end(self._order["rlimits"]["cpu_seconds"])
        if death["status"] == "crashed":
            death["status"] = "load_failed"
        if "message" in death:
            death["message"] += ", while the module was imported"
        self._end(death)

    def _end(self, head: dict[str, Any]) -> None:
        if not self.lost:
            self.lost = True
            if self.loaded:
                self.on_lost()
            else:
                self.on_loaded(head)
