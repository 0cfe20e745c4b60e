"""Seccomp filter of a worker on Linux: allows the few system calls that running an instance takes.

A list of what may be done, for the process does one thing only. What is not on it gets ENOSYS: C libraries then
fall back to older calls.
"""

from __future__ import annotations

import errno
import os
import struct

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
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_CLONE_THREAD = 0x00010000
_NAMESPACES = 0x7E020000
"""Every CLONE_NEW… flag."""
_PROT_EXEC = 4
_PR_SET_NAME = 15

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 24, 32
_Instruction = tuple[int, int, int, int]
_YES: _Instruction = (_RETURN, 0, 0, _ALLOW)
_NO: _Instruction = (_RETURN, 0, 0, _ERRNO | errno.EPERM)


def worker_filter(machine: str) -> bytes:
    """Makes the filter as a BPF program for this process, on `x86_64` or `aarch64`.

    Raises:
        KeyError: it is another machine.
    """
    column, architecture = _ARCHITECTURES[machine]
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if column == 0:  # the x32 calls of an x86_64 kernel have numbers of their own
        program += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    for numbers in _ALLOWED.values():
        if (number := numbers[column]) is not None:
            program += [(_EQUAL, 0, 1, number), _YES]
    for numbers in (_MMAP, _MPROTECT):  # the code that runs was mapped before: nothing becomes code any more
        program += _where(numbers[column], _THIRD_ARGUMENT, (_ANY_BIT, 0, 1, _PROT_EXEC), bad_if=True)
    # threads, never processes; clone3 hides its flags in memory, so it is not on the list and clone is taken
    program += [
        (_EQUAL, 0, 6, _CLONE[column]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 3, _CLONE_THREAD),
        (_ANY_BIT, 1, 0, _NAMESPACES),
        _YES,
        _NO,
        _NO,
    ]
    program += [
        (_EQUAL, 0, 2 + 2 * len(_OF_DESCRIPTORS), _FCNTL[column]),
        (_LOAD, 0, 0, _SECOND_ARGUMENT),
        *(step for command in _OF_DESCRIPTORS for step in ((_EQUAL, 0, 1, command), _YES)),
        _NO,
    ]
    program += _where(_PRCTL[column], _FIRST_ARGUMENT, (_EQUAL, 0, 1, _PR_SET_NAME), bad_if=False)
    program += _where(_TGKILL[column], _FIRST_ARGUMENT, (_EQUAL, 0, 1, os.getpid()), bad_if=False)
    program.append((_RETURN, 0, 0, _ERRNO | errno.ENOSYS))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _where(number: int, argument: int, test: _Instruction, *, bad_if: bool) -> list[_Instruction]:
    """A system call that is allowed or not by one of its arguments."""
    first, second = (_NO, _YES) if bad_if else (_YES, _NO)
    return [(_EQUAL, 0, 4, number), (_LOAD, 0, 0, argument), test, first, second]
