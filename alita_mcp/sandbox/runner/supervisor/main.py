"""Supervisor of a sandbox (PID 1): attests, hardens itself, carries out the host's orders. Never runs tool code."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from alita_mcp.sandbox.runner.supervisor.facts import facts
from alita_mcp.sandbox.runner.supervisor.hardening import PR_SET_DUMPABLE, install_filter, prctl
from alita_mcp.sandbox.runner.supervisor.loop import Loop
from alita_mcp.sandbox.runner.supervisor.warm import WarmTool

FATAL = 5
"""Exit code after which stderr says why."""


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
        loop = Loop()
        tool = WarmTool(loop, options, attestation)

        def on_child_signal(_events: int) -> None:
            try:
                os.read(wake, 4096)
            except BlockingIOError:
                pass
            tool.on_child_signal()

        wake, signalled = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(signalled, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        loop.watch(wake, on_child_signal)
        loop.run()
    except BaseException as problem:
        sys.stderr.write(f"supervisor: {type(problem).__name__}: {problem}"[:2000])
        sys.stderr.flush()
    finally:
        os._exit(FATAL)
