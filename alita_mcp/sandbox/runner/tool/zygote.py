"""Zygote of a tool: imports its code as the module `tool` once, then forks a child for each call. Untrusted."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from alita_mcp.sandbox.runner.tool import call, calling, failures, grants, rehearsal

CHANNEL = 3
_PR_SET_DUMPABLE = 4
_CLONE_PARENT = 0x8000
_CO_COROUTINE = 0x80
_SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""There is one processor, and threads that an import starts cannot be forked: libraries must start none."""


def main(source: int, options: dict[str, Any]) -> None:
    """Entry point of the zygote's bundle; the code follows on the same file descriptor."""
    try:
        with open(source, "rb") as file:
            code = json.load(file)
        control = socket.socket(fileno=CHANNEL)
        control.set_inheritable(False)
        # taken before any code of the tool runs; the lock closes /proc/…/mem and /proc/…/fd to other processes of this
        # user, and core dumps to handlers of the host
        fork, prctl = _fork_of_sibling(), ctypes.CDLL(None).prctl
        words = [ctypes.c_ulong(word) for word in (_PR_SET_DUMPABLE, 0, 0, 0, 0)]
        child = call.Child(options)

        # 1. What the code finds: the library, its packages, `alita_tool`, in a rehearsal other clocks and numbers.
        sys.argv[:] = ["tool"]
        for name in [name for name in sys.modules if name.partition(".")[0] == "alita_mcp"]:
            del sys.modules[name]
        if options["packages"]:
            sys.path.append(options["packages"])  # after the standard library, and never read by `site`
        sys.modules["alita_tool"] = grants.module(options["grants"], child.caller.ask)
        if options["moment"] is not None:
            child.caller.before_call.append(rehearsal.stand_at(options["moment"]))
        elif options["clock_offset_s"]:
            rehearsal.shift_clock(options["clock_offset_s"])
        if options["random_seed"] is not None:
            child.caller.before_call.append(rehearsal.draw_from(options["random_seed"]))

        # 2. Its import.
        os.environ.update(dict.fromkeys(_SINGLE, "1"))
        function, failed = calling.import_tool(
            code, options["function"], lambda _module: compile(code, failures.FILE, "exec", dont_inherit=True)
        )
        child.caller.flush()
        if failed:
            _say(control, failed)
            os._exit(0)

        # 3. Nothing is left half done that every child would finish for itself.
        for name in _SINGLE:
            os.environ.pop(name, None)
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & _CO_COROUTINE:
            import asyncio  # noqa: F401 - once here, or each call would import it
        signal.setitimer(signal.ITIMER_REAL, 0)
        # signals of a call must not run the tool's handlers here: they would leave something for the next call
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        gc.collect()
        gc.freeze()
        _say(control, {"status": "ok"})

        # 4. A child for each request.
        while True:
            _word, fds, _flags, _address = socket.recv_fds(control, 16, 3)
            if len(fds) != 3:
                os._exit(0)
            # locked only now: until the first request the supervisor looks at what the import left open
            prctl(*words)
            if fork() == 0:
                child.run(fds, function)
                os._exit(96)
            for fd in fds:
                os.close(fd)
    finally:
        os._exit(96)


def _fork_of_sibling() -> Callable[[], int]:
    """A fork whose child is the supervisor's own, which alone learns how it ended."""
    number = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine)
    is_glibc = "CS_GNU_LIBC_VERSION" in os.confstr_names and os.confstr("CS_GNU_LIBC_VERSION")
    if number is None or not is_glibc:
        return _fork_twice  # another C library takes its own number for the child's after such a fork
    python, libc = ctypes.pythonapi, ctypes.PyDLL(None)  # which keep the interpreter's lock
    words = [ctypes.c_ulong(word) for word in (number, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)]
    clone, before = libc.syscall, python.PyOS_BeforeFork
    in_child, in_parent = python.PyOS_AfterFork_Child, python.PyOS_AfterFork_Parent

    def fork() -> int:
        before()
        pid: int = clone(*words)
        (in_parent if pid else in_child)()
        return pid if pid >= 0 else _fork_twice()

    return fork


def _fork_twice() -> int:
    """The same where there is no such fork: an orphan becomes the supervisor's child."""
    forked = os.fork()
    if forked == 0:
        if os.fork():
            os._exit(0)
        return 0
    os.waitpid(forked, 0)
    return forked


def _say(control: socket.socket, head: dict[str, Any], dumps: Any = json.dumps) -> None:
    text = dumps(head).encode()
    control.send(call.HEADER.pack(b"L", len(text)) + text)
