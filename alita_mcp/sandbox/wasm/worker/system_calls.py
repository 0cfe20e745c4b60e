"""Seccomp filter of a worker on Linux: allows the few system calls that running an instance takes.

A list of what may be done, for the process does one thing only. What is not on it gets ENOSYS: C libraries then
fall back to older calls.
"""

from __future__ import annotations

import errno
import os

from alita_mcp.sandbox.runner.supervisor.hardening import (
    ALLOW,
    ANY_BIT,
    EQUAL,
    FIRST_ARGUMENT,
    LOAD,
    NAMESPACES,
    SECOND_ARGUMENT,
    THIRD_ARGUMENT,
    Instruction,
    assemble,
    each_of,
    refuse,
    where,
)

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


def worker_filter(machine: str) -> bytes:
    """Makes the filter as a BPF program for this process, on `x86_64` or `aarch64`.

    Raises:
        KeyError: it is another machine.
    """
    return assemble(machine, _rules)


def _rules(column: int) -> list[Instruction]:
    program = [*each_of(_ALLOWED.values(), column, ALLOW)]
    for numbers in (_MMAP, _MPROTECT):  # the code that runs was mapped before: nothing becomes code any more
        program += where(numbers[column], THIRD_ARGUMENT, ANY_BIT, _PROT_EXEC, refuse(), ALLOW)
    # threads, never processes; clone3 hides its flags in memory, so it is not on the list and clone is taken
    program += [
        (EQUAL, 0, 6, _CLONE[column]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 0, 3, _CLONE_THREAD),
        (ANY_BIT, 1, 0, NAMESPACES),
        ALLOW,
        refuse(),
        refuse(),
    ]
    program += [
        (EQUAL, 0, 2 + 2 * len(_OF_DESCRIPTORS), _FCNTL[column]),
        (LOAD, 0, 0, SECOND_ARGUMENT),
        *(step for command in _OF_DESCRIPTORS for step in ((EQUAL, 0, 1, command), ALLOW)),
        refuse(),
    ]
    program += where(_PRCTL[column], FIRST_ARGUMENT, EQUAL, _PR_SET_NAME, ALLOW, refuse())
    program += where(_TGKILL[column], FIRST_ARGUMENT, EQUAL, os.getpid(), ALLOW, refuse())
    return [*program, refuse(errno.ENOSYS)]
