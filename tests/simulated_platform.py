"""Python as it is on another system, as far as our modules see: names that are missing there cannot be used.

`python simulated_platform.py win32 alita_mcp.server.transports.entry [arguments]` runs a program of ours that way.
Libraries and the standard library stay those of this machine; what they do there is theirs to test.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib
import json
import ntpath
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import anyio

ROOT = Path(__file__).resolve().parents[1]
# What the standard library has on Linux, but not on macOS (LINUX_…), and not on Windows (both).
LINUX_OS = """
    CLD_CONTINUED O_DIRECT O_LARGEFILE O_NOATIME O_PATH O_TMPFILE P_PIDFD copy_file_range eventfd eventfd_read
    eventfd_write getrandom getresgid getresuid getxattr listxattr memfd_create pidfd_open posix_fadvise
    posix_fallocate removexattr sched_getaffinity sched_setaffinity sched_getparam sched_setscheduler setns setresgid
    setresuid setxattr splice unshare
"""
LINUX_TIME = "CLOCK_BOOTTIME CLOCK_TAI pthread_getcpuclockid"
LINUX_SOCKET = "AF_NETLINK AF_PACKET AF_VSOCK SOCK_CLOEXEC SOCK_NONBLOCK SO_PASSCRED SO_PEERCRED"
POSIX_MODULES = "crypt fcntl grp nis ossaudiodev posix pty pwd resource spwd syslog termios tty"
POSIX_OS = """
    EX_OK F_LOCK O_CLOEXEC O_DIRECTORY O_DSYNC O_NDELAY O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC PRIO_PROCESS WEXITSTATUS
    WIFEXITED WIFSIGNALED WNOHANG WTERMSIG chown chroot confstr ctermid fchdir fchmod fchown fork forkpty fpathconf
    fstatvfs getegid geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getsid getuid initgroups killpg
    lchown lockf major makedev minor mkfifo mknod nice openpty pathconf pipe2 posix_spawn pread preadv pwrite pwritev
    register_at_fork sched_yield sendfile set_blocking setegid seteuid setgid setgroups setpgid setpriority setregid
    setreuid setsid setuid statvfs sync sysconf tcgetpgrp tcsetpgrp ttyname uname wait wait3 wait4 waitid writev
"""  # set_blocking: Windows has it since Python 3.12
POSIX_TIME = """
    CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID CLOCK_REALTIME CLOCK_THREAD_CPUTIME_ID clock_getres clock_gettime
    clock_settime tzset
"""
WINDOWS_FLAGS = "CREATE_BREAKAWAY_FROM_JOB CREATE_NEW_PROCESS_GROUP CREATE_NO_WINDOW DETACHED_PROCESS"
POSIX_SOCKET = "AF_UNIX CMSG_LEN SCM_RIGHTS recv_fds send_fds sethostname"
POSIX_SIGNAL = """
    SIG_BLOCK SIG_SETMASK SIG_UNBLOCK SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPROF SIGQUIT
    SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ alarm getitimer pause
    pthread_kill pthread_sigmask setitimer siginterrupt sigpending sigtimedwait sigwait sigwaitinfo
"""


class Without(ModuleType):
    """A module as another system has it."""

    def __init__(self, real: ModuleType, missing: str, **other: Any) -> None:
        super().__init__(real.__name__)
        kept = vars(real).keys() - set(missing.split())
        self.__dict__.update({name: getattr(real, name) for name in kept} | other)


class System(ModuleType):
    """`sys`, with another platform; all else is the one that there is."""

    def __init__(self, platform: str) -> None:
        super().__init__("sys")
        self.__dict__["platform"] = platform

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(sys, name, value)


def simulate(platform: str) -> None:
    """From now on modules of ours find what there is on `platform`, `win32` or `darwin`; none may be imported yet."""
    windows = platform == "win32"
    named: dict[str, Any] = {}
    if windows:
        path = Without(os.path, "", expandvars=ntpath.expandvars)
        named = {"name": "nt", "supports_dir_fd": set(), "path": path}
    other: dict[str, ModuleType] = {
        "os": Without(os, LINUX_OS + POSIX_OS * windows, **named),
        "time": Without(time, f"{LINUX_TIME} {POSIX_TIME * windows}"),
        "socket": Without(socket, f"{LINUX_SOCKET} {POSIX_SOCKET * windows}"),
        "signal": Without(signal, POSIX_SIGNAL * windows),
        "sys": System(platform),
    }
    if windows:
        other["anyio"] = Without(anyio, "", open_process=_open_on_windows)
        other["subprocess"] = Without(subprocess, "", **dict.fromkeys(WINDOWS_FLAGS.split(), 0))
    else:
        other["ctypes"] = Without(ctypes, "", CDLL=_library_of_macos)
    blocked = (POSIX_MODULES * windows).split()
    real = builtins.__import__

    def imported(name: str, *rest: Any, **named: Any) -> ModuleType:
        of, _local, names, level = (*rest, *[None, None, (), 0][len(rest) :])
        ours = of is not None and str(of.get("__name__")).partition(".")[0] == "alita_mcp"
        first = name.partition(".")[0]
        if ours and not level and first in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if ours and not level and first in other and not (names and "." in name):
            return other[first]
        return real(name, *rest, **named)

    assert not [name for name in sys.modules if name.startswith("alita_mcp.")]
    builtins.__import__ = imported


def _library_of_macos(path: str) -> SimpleNamespace:
    """The system's library that takes a profile for a process."""
    assert path == "/usr/lib/libsandbox.1.dylib", path
    return SimpleNamespace(sandbox_init=lambda *_words: 0)


async def _open_on_windows(command: Any, *, creationflags: int = 0, **options: Any) -> Any:
    """Starts a process with what Windows takes, but for its flags."""
    assert not {"start_new_session", "pass_fds", "preexec_fn", "user", "group", "umask"} & {
        name for name, value in options.items() if value
    }, options
    return await anyio.open_process(command, **options)


def modules() -> list[str]:
    """All modules of ours that a host imports, by name."""
    inside = (
        "alita_mcp.sandbox.runner", "alita_mcp.sandbox.wasm.guest", "alita_mcp.runs.guest",
        "alita_mcp.starter_tools",
        "alita_mcp.sandbox.wasm.worker.linux",  # what its name says
    )  # fmt: skip
    folder = Path(__file__).resolve().parents[1] / "alita_mcp"
    names = [
        ".".join(("alita_mcp", *file.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        for file in sorted(folder.rglob("*.py"))
    ]
    return [name for name in names if not name.startswith(inside) and not name.endswith("__main__")]


def import_all() -> None:
    """Imports each; tells those that cannot be, as JSON."""
    failed = {}
    for name in modules():
        try:
            importlib.import_module(name)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is told
            failed[name] = repr(problem)
    print(json.dumps({"imported": len(modules()), "failed": failed}))


def main() -> None:
    """Calls a function of a module of ours, with workers under the same simulation; or imports all of them."""
    platform, module, *arguments = sys.argv[1:]
    sys.argv[:] = [module, *arguments]
    simulate(platform)
    if module == "all":
        import_all()
        return
    from alita_mcp.sandbox.wasm import process

    here = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.simulated_platform import simulate; "
    process._ENTER = here + f"simulate({platform!r}); " + process._ENTER
    servers = importlib.import_module("alita_mcp.server.transports.local.servers")
    servers.PROGRAM = (__file__, platform, *servers.PROGRAM[1:])
    importlib.import_module(module).main()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
