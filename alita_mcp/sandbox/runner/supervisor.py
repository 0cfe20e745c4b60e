"""PID 1 of a sandbox: attests, hardens itself, runs one child as the host orders, reports. Never runs tool code."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from alita_mcp.sandbox.frames import CHUNK, Frame, Kind, pieces
from alita_mcp.sandbox.runner.execution import Execution
from alita_mcp.sandbox.runner.facts import facts
from alita_mcp.sandbox.runner.hardening import PR_SET_DUMPABLE, install_filter, prctl
from alita_mcp.sandbox.runner.loop import HostLink, Loop
from alita_mcp.sandbox.runner.tunnel import Tunnel

PAYLOAD_FILE, RESULT_FILE = "/tmp/payload", "/tmp/result"
FATAL = 5
"""Exit code after which stderr says why."""


class Supervisor:
    """One order at a time: what comes from the host is trusted, what comes from the child is not."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._child_boot: str = options["boot"]
        self._child_bundle: str = options["child"]
        self._loop = Loop()
        self._link = HostLink(self._loop, bytes.fromhex(options["token"]), self._on_frame)
        self._tunnel = Tunnel(self._loop, self._link) if options["egress"] else None
        self._payload = bytearray()
        self._execution: Execution | None = None
        self._order: dict[str, Any] = {}
        self._kept = {1: bytearray(), 2: bytearray()}
        self._written = 0
        self._loaded = False
        self._finished = False

    def run(self, attestation: dict[str, object]) -> None:
        """Says hello and serves until the host closes the wire."""
        wake, signalled = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(signalled, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        self._loop.watch(wake, lambda _events: self._on_child_signal(wake))
        self._link.send_json(Kind.HELLO, attestation)
        self._loop.run()

    def _on_frame(self, frame: Frame) -> None:
        if frame.kind == Kind.PAYLOAD:
            self._payload += frame.payload
        elif frame.kind == Kind.CALL:
            self._start(json.loads(frame.payload), bytes(self._payload))
        elif frame.kind == Kind.BUILD:
            with open(PAYLOAD_FILE, "wb") as file:
                file.write(self._payload)
            self._start(json.loads(frame.payload), b"")
        elif self._tunnel is not None:
            self._tunnel.on_frame(frame)

    def _start(self, order: dict[str, Any], payload: bytes) -> None:
        self._payload = bytearray()
        self._order = order
        execution = self._execution = Execution(self._loop, order)
        execution.on_output = self._on_live_output if order["live"] else self._on_output
        execution.on_message = self._on_message
        execution.on_end = self._on_channel_closed
        self._link.on_room = lambda: execution.pause_output(paused=False)
        self._loop.on_deadline = self._on_deadline
        self._loop.deadline = execution.started + order["wall_seconds"]
        bundle = json.loads(self._child_bundle)
        bundle["entry"], bundle["options"] = order["entry"], order["options"]
        text = json.dumps(bundle).encode()
        execution.start(self._child_boot, b"%d\n" % len(text) + text + payload)

    def _on_output(self, stream: int, data: bytes) -> None:
        kept, limit = self._kept[stream], self._order["output_bytes"]
        kept += data[: max(0, limit - len(kept))]
        self._written += len(data)
        if self._written > 16 * limit:
            message = f"wrote more than {16 * limit} bytes to stdout and stderr (16 x output_bytes)"
            self._finish({"status": "output_flood", "message": message})

    def _on_live_output(self, stream: int, data: bytes) -> None:
        self._link.send(Kind.OUTPUT, stream, data)
        if self._link.full and self._execution is not None:
            self._execution.pause_output(paused=True)

    def _on_message(self, kind: bytes, payload: bytes) -> None:
        if kind == b"L":
            self._loaded = True
        elif kind == b"R":
            self._on_result(payload)
        else:
            self._finish({"status": "crashed", "message": "wrote garbage on its channel"})

    def _on_result(self, payload: bytes) -> None:
        length = int.from_bytes(payload[:4])
        try:
            head = _cleaned(json.loads(payload[4 : 4 + length]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._finish({"status": "crashed", "message": "wrote garbage on its channel"})
            return
        self._finish(head, [payload[4 + length :]])

    def _on_channel_closed(self) -> None:
        """The child is dying or has closed the channel itself; a short wait tells which."""
        execution = self._execution
        if execution is None:
            return
        until = time.monotonic() + 0.5
        while execution.status is None and time.monotonic() < until:
            time.sleep(0.002)
            execution.reap()
        if execution.status is None:
            self._finish({"status": "crashed", "message": "closed its channel to the supervisor"})
            return
        if self._order["live"]:
            self._finish(*self._build_result(execution))
        else:
            self._finish(self._death(execution))

    def _death(self, execution: Execution) -> dict[str, Any]:
        death = execution.death()
        if death["status"] == "crashed" and not self._loaded:
            death |= {
                "status": "load_failed",
                "message": f"{death['message']}, while the module was imported",
            }
        return death

    def _build_result(self, execution: Execution) -> tuple[dict[str, Any], Iterable[bytes]]:
        status = execution.status or 0
        if not os.WIFEXITED(status):
            return execution.death(), ()
        code = os.WEXITSTATUS(status)
        return {"status": "ok", "exit_code": code}, _file_pieces(RESULT_FILE) if code == 0 else ()

    def _on_deadline(self) -> None:
        wall = self._order["wall_seconds"]
        where = "" if self._loaded or self._order["live"] else ", while the module was imported"
        self._finish({"status": "timeout", "message": f"took more than {wall:g} s (wall_seconds){where}"})

    def _on_child_signal(self, wake: int) -> None:
        try:
            os.read(wake, 4096)
        except BlockingIOError:
            pass
        execution = self._execution
        while execution is not None and execution.reap():
            continue
        if execution is not None and execution.status is not None and not self._finished:
            # children that it left behind may keep its end of the channel open for ever
            execution.collect()
            self._on_channel_closed()

    def _finish(self, head: dict[str, Any], result: Iterable[bytes] = ()) -> None:
        execution = self._execution
        if self._finished or execution is None:
            return
        self._finished = True
        seconds = time.monotonic() - execution.started
        execution.stop()
        for stream, kept in self._kept.items():
            for piece in pieces(bytes(kept)):
                self._link.send(Kind.OUTPUT, stream, piece)
        self._link.finish(result, head | {"seconds": seconds})


def _cleaned(head: dict[str, Any]) -> dict[str, Any]:
    """What a child may say about itself, cut to size; anything else is an error."""
    if head["status"] not in {"ok", "error", "bad_result", "load_failed", "memory"}:
        raise ValueError(head["status"])
    cleaned: dict[str, Any] = {
        name: str(head.get(name, ""))[:4000] for name in ("status", "error_type", "message")
    }
    cleaned["trace"] = [str(line)[:400] for line in head.get("trace", [])][:10]
    return cleaned


def _file_pieces(path: str) -> Iterator[bytes]:
    """The program's result; it is gone by now, so nobody swaps the file while it is read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    if stat.S_ISREG(os.fstat(fd).st_mode):
        while piece := os.read(fd, CHUNK):
            yield piece


def main(_source: int, options: dict[str, Any]) -> None:
    """Entry of the supervisor's bundle."""
    try:
        os.closerange(3, 1024)  # whatever the starter left open, a folder of the host perhaps
        attestation = facts()
        if os.getpid() != 1 or os.getuid() == 0:
            raise PermissionError(f"the supervisor has pid {os.getpid()} and uid {os.getuid()}")
        for number in range(1, signal.NSIG):
            if number not in {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 32, 33}:
                signal.signal(number, signal.SIG_IGN)
        prctl(PR_SET_DUMPABLE, 0)  # closes /proc/1/{fd,mem,environ} to tools of the same user
        install_filter()
        os.umask(0o077)
        Supervisor(options).run(attestation)
    except BaseException as problem:
        sys.stderr.write(f"supervisor: {type(problem).__name__}: {problem}"[:2000])
        sys.stderr.flush()
    finally:
        os._exit(FATAL)
