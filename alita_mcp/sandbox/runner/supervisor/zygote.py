"""Zygote of a tool as the supervisor sees it, untrusted: start, result of the import, what it left."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from typing import Any

from alita_mcp.sandbox.runner.supervisor.child_process import ChildProcess
from alita_mcp.sandbox.runner.supervisor.facts import oom_kills
from alita_mcp.sandbox.runner.supervisor.loop import Loop
from alita_mcp.sandbox.runner.supervisor.processes import Reaper, others, spawn
from alita_mcp.sandbox.wire.reports import Output, read_report

MAX_REPORT = 64 << 10
FLOOD = 1024
"""How many times `output_bytes` an import may print; only the first `output_bytes` are kept."""
_OWN_FDS = {"0", "1", "2", "3"}


class Zygote(ChildProcess):
    """Process that imports the tool and forks a child for each call.

    Calls `on_loaded(self, head)` once, and `on_lost()` when it cannot be used any more.
    """

    def __init__(self, loop: Loop, reaper: Reaper, order: dict[str, Any]) -> None:
        super().__init__(loop, reaper, largest_message=MAX_REPORT)
        self.loaded = False
        self.lost = False
        limit = order["output_bytes"]
        self.output = Output(limit, FLOOD * max(limit, 1 << 10))
        """What the import printed."""
        self.on_loaded: Callable[[Zygote, dict[str, Any]], None] = lambda _zygote, _head: None
        self.on_lost: Callable[[], None] = lambda: None
        self.on_output, self.on_message, self.on_end = self._take_output, self._take_message, self._take_end
        self._order = order

    def start(self, boot: str, bundle: dict[str, Any], code: bytes) -> None:
        """Starts it from the bundle of its modules; it imports the code at once."""
        ends = self.open(socket.SOCK_SEQPACKET)
        self.begin(oom_kills())
        text = json.dumps(bundle | {"options": self._order["options"]}).encode()
        self.pid = spawn(boot, b"%d\n" % len(text) + text + code, self._order, ends)
        for fd in ends:
            os.close(fd)
        self._reaper.watch(self.pid)

    def check(self) -> None:
        """Notices that it died or was stopped."""
        if self._reaper.end_of(self.pid) is not None:
            self.collect()
            self._take_end()
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
        super().close()

    def leaves_something_shared(self) -> bool:
        """Whether the import left what two calls would share: threads, memory, open files, processes."""
        folder = f"/proc/{self.pid}"
        try:
            with open(f"{folder}/status") as file:
                threads = next(line.split()[1] for line in file if line.startswith("Threads:"))
            with open(f"{folder}/maps") as file:
                shared = any(line.split()[1][1::2] == "ws" for line in file)
            opened = set(os.listdir(f"{folder}/fd")) - _OWN_FDS
        except (OSError, StopIteration, IndexError):
            return True  # what it holds cannot be seen
        return threads != "1" or shared or bool(opened) or bool(others(1, self.pid))

    def _take_output(self, stream: int, data: bytes) -> None:
        self.output.add(stream, data)
        if self.output.is_flood:
            limit = FLOOD * self._order["output_bytes"]
            message = f"wrote more than {limit} bytes to stdout and stderr ({FLOOD} x output_bytes)"
            self._end({"status": "output_flood", "message": f"{message}, while the module was imported"})

    def _take_message(self, kind: bytes, payload: bytes) -> None:
        try:
            if kind != b"L" or self.loaded:
                raise ValueError(kind)
            head = read_report(payload)
        except ValueError:
            self._end({"status": "load_failed", "message": "wrote invalid data to its channel"})
            return
        self.loaded = head["status"] == "ok"
        self.on_loaded(self, head)

    def _take_end(self) -> None:
        death = self.describe_end(self._order["rlimits"]["cpu_seconds"])
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
                self.on_loaded(self, head)
