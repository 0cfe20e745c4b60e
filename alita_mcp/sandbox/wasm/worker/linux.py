"""Confinement of a worker on Linux: no network, user, capabilities, dumps or needless system calls.

Order matters: namespaces while there is one thread, the user while there are capabilities, the filter last.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Any

from alita_mcp.sandbox.runner.supervisor import hardening

USER = 65532
"""Whom a worker that was started by root becomes; no system gives this number to anybody."""
OPEN_FILES = 64
COMPLAINT_BYTES = 64 << 10
"""What may be written to files: there is one, stderr."""
_NEW_USER, _NEW_OTHERS = 0x10000000, 0x40000000 | 0x08000000 | 0x04000000
"""CLONE_NEWUSER; CLONE_NEWNET, CLONE_NEWIPC and CLONE_NEWUTS."""
_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, _PR_GET_DUMPABLE = 24, 47, 4, 3
_CAPABILITIES_V3 = 0x20080522
_MOST_CAPABILITIES = 64
_SHOWN = ("Uid", "Gid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Threads")
# name: (x86_64, aarch64); None where the architecture has no such call
_ALLOWED: dict[str, tuple[int, int | None]] = {
    "futex": (202, 98), "write": (1, 64), "read": (0, 63), "munmap": (11, 215), "clock_gettime": (228, 113),
    "madvise": (28, 233), "brk": (12, 214), "mremap": (25, 216), "writev": (20, 66), "readv": (19, 65),
    "close": (3, 57), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132), "sched_yield": (24, 124), "sched_getaffinity": (204, 123), "getcpu": (309, 168),
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "clock_getres": (229, 114),
    "gettimeofday": (96, 169), "restart_syscall": (219, 128), "getrandom": (318, 278), "gettid": (186, 178),
    "getpid": (39, 172), "set_robust_list": (273, 99), "set_tid_address": (218, 96), "rseq": (334, 293),
    "membarrier": (324, 283), "exit": (60, 93), "exit_group": (231, 94), "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21), "epoll_pwait": (281, 22), "epoll_wait": (232, None), "eventfd2": (290, 19),
    "poll": (7, None), "ppoll": (271, 73), "socketpair": (53, 199),
}  # fmt: skip
_CLONE, _MMAP, _MPROTECT, _PRCTL, _TGKILL = (56, 220), (9, 222), (10, 226), (157, 167), (234, 131)
_FCNTL = (72, 25)
_OF_DESCRIPTORS = (1, 2, 3, 4, 1030)
"""F_GETFD, F_SETFD, F_GETFL, F_SETFL and F_DUPFD_CLOEXEC; not F_SETOWN, which has signals sent to others."""
_CLONE_THREAD = 0x00010000
_PROT_EXEC = 4
_PR_SET_NAME = 15
_libc = ctypes.CDLL(None, use_errno=True)


def confine(compiled: Path) -> dict[str, Any]:
    """Drops these rights; returns what is in force."""
    descriptors = _descriptors(compiled.stat())
    alone = _libc.unshare(_NEW_OTHERS) == 0
    for number in range(_MOST_CAPABILITIES):
        _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    # who was root is no one, where that is allowed; all that is needed is open or mapped by now
    if os.geteuid() == 0:
        with suppress(OSError):
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
    own_network = alone or _libc.unshare(_NEW_USER | _NEW_OTHERS) == 0
    _libc.capset((ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)())
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    hardening.lower_limit(resource.RLIMIT_CORE, 0)
    hardening.lower_limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    hardening.lower_limit(resource.RLIMIT_FSIZE, COMPLAINT_BYTES)
    hardening.prctl(hardening.PR_SET_DUMPABLE, 0)
    interfaces = Path("/proc/self/net/dev").read_text().splitlines()[2:]
    found = {
        "own_network": own_network,
        "interfaces": [line.partition(":")[0].strip() for line in interfaces],
        "descriptors": descriptors,
        "dumpable": _libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0),
        "core_bytes": resource.getrlimit(resource.RLIMIT_CORE)[1],
    }
    # opened before the filter, read when no file can be opened any more
    with Path("/proc/self/status").open("rb", buffering=0) as status:
        hardening.install_filter(worker_rules)
        lines = status.read(1 << 16).decode().splitlines()
    shown = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return found | {"status": {name: shown.get(name, "") for name in _SHOWN}}


def _descriptors(compiled: os.stat_result) -> list[int]:
    """Those that are open, but for the engine's own of the file that instances get their memory from."""
    found = []
    for number in range(OPEN_FILES):
        with suppress(OSError):
            reads = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
            if not (reads and os.path.samestat(os.fstat(number), compiled)):
                found.append(number)
    return found


def worker_rules(column: int) -> list[hardening.Instruction]:
    """Seccomp filter: a list of what may be done, for the process does one thing only.

    What is not on it gets ENOSYS: C libraries then fall back to older calls.
    """
    program = [*hardening.each_of(_ALLOWED.values(), column, hardening.ALLOW)]
    # nothing becomes code any more: the code that runs was mapped before
    no, yes, first, third = (
        hardening.refuse(),
        hardening.ALLOW,
        hardening.FIRST_ARGUMENT,
        hardening.THIRD_ARGUMENT,
    )
    for call, argument, operation, value, decisions in (
        (_MMAP, third, hardening.ANY_BIT, _PROT_EXEC, (no, yes)),
        (_MPROTECT, third, hardening.ANY_BIT, _PROT_EXEC, (no, yes)),
        (_PRCTL, first, hardening.EQUAL, _PR_SET_NAME, (yes, no)),
        (_TGKILL, first, hardening.EQUAL, os.getpid(), (yes, no)),
    ):
        program += hardening.where(call[column], argument, operation, value, *decisions)
    # threads, never processes; clone3 hides its flags in memory, so it is not on the list and clone is taken
    program += [
        (hardening.EQUAL, 0, 6, _CLONE[column]),
        (hardening.LOAD, 0, 0, hardening.FIRST_ARGUMENT),
        (hardening.ANY_BIT, 0, 3, _CLONE_THREAD),
        (hardening.ANY_BIT, 1, 0, hardening.NAMESPACES),
        hardening.ALLOW,
        hardening.refuse(),
        hardening.refuse(),
    ]
    program += [
        (hardening.EQUAL, 0, 2 + 2 * len(_OF_DESCRIPTORS), _FCNTL[column]),
        (hardening.LOAD, 0, 0, hardening.SECOND_ARGUMENT),
        *(
            step
            for command in _OF_DESCRIPTORS
            for step in ((hardening.EQUAL, 0, 1, command), hardening.ALLOW)
        ),
        hardening.refuse(),
    ]
    return [*program, hardening.refuse(errno.ENOSYS)]
