"""Supervisor of a sandbox (PID 1): attests, hardens itself, carries out the host's orders. Never runs tool code."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from alita_mcp.sandbox.runner.supervisor.facts import facts
from alita_mcp.sandbox.runner.supervisor.hardening import PR_SET_DUMPABLE, install_filter, prctl
from alita_mcp.sandbox.runner.supervisor.loop import HostLink, Loop
from alita_mcp.sandbox.runner.supervisor.processes import Program, Reaper
from alita_mcp.sandbox.runner.supervisor.tunnel import Tunnel
from alita_mcp.sandbox.runner.supervisor.warm import WarmTool
from alita_mcp.sandbox.wire.frames import Frame, Kind

FATAL = 5
"""Exit code after which stderr says why."""
_STREAMS = {Kind.OPEN, Kind.DATA, Kind.END, Kind.RESET, Kind.CREDIT}


class Supervisor:
    """Supervisor of a sandbox; it trusts what the host sends and nothing that the processes inside send."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._zygote = Program(options["boot"], options["zygote"])
        loop = Loop()
        self._loop = loop
        self._link = HostLink(loop, bytes.fromhex(options["token"]), self._on_frame)
        self._tunnel = Tunnel(loop, self._link) if options["egress"] else None
        self._tool = WarmTool(loop, self._link, Reaper(), self._tunnel)
        self._payload = bytearray()

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
            self._tool.call(self._take_payload())
        elif frame.kind == Kind.ANSWER:
            self._tool.answer(frame)
        elif frame.kind == Kind.LOAD:
            self._tool.load(self._zygote, json.loads(frame.payload), self._take_payload())
        elif self._tunnel is not None and frame.kind in _STREAMS:
            self._tunnel.on_frame(frame)

    def _take_payload(self) -> bytes:
        payload = bytes(self._payload)
        self._payload = bytearray()
        return payload

    def _on_child_signal(self, wake: int) -> None:
        try:
            os.read(wake, 4096)
        except BlockingIOError:
            pass
        self._tool.on_child_signal()


def main(_source: int, options: dict[str, Any]) -> None:
    """Entry point of the supervisor's bundle."""
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
