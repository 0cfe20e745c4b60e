"""Hardening of the supervisor's process: a seccomp filter, no core dumps, resource limits."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import struct
from collections.abc import Callable, Iterable, Iterator

PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
PR_GET_NO_NEW_PRIVS = 39
libc = ctypes.CDLL(None, use_errno=True)

# name: (x86_64, aarch64); None where the architecture has no such call
_DENIED: dict[str, tuple[int, int | None]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "move_mount": (429, 429),
    "open_tree": (428, 428), "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268),
    "chroot": (161, 51), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "quotactl": (179, 60), "quotactl_fd": (443, 443), "syslog": (103, 116),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "adjtimex": (159, 171), "iopl": (172, None), "ioperm": (173, None), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "modify_ldt": (154, None), "memfd_secret": (447, 447),
    "lookup_dcookie": (212, 18), "nfsservctl": (180, 42), "vhangup": (153, 58), "sethostname": (170, 161),
    "setdomainname": (171, 162), "fanotify_init": (300, 262), "move_pages": (279, 239),
    "migrate_pages": (256, 238), "vmsplice": (278, 75), "uselib": (134, None), "ustat": (136, None),
    "sysfs": (139, None), "personality": (135, 92), "mq_open": (240, 180), "shmget": (29, 194),
    "semget": (64, 190), "msgget": (68, 186),
}  # fmt: skip
_CLONE, _CLONE3, _SOCKET, _PRCTL = (56, 220), (435, 435), (41, 198), (157, 167)
_OF_ONESELF = ((302, 261), (142, 118), (144, 119), (203, 122), (314, 274))
"""prlimit64, sched_setparam, …scheduler, …affinity, …attr: the first argument is a process, and 0 the caller."""
_PRIORITIES = (((141, 140), 0), ((251, 30), 1))
"""setpriority and ioprio_set with the number that says that a process is meant; the second argument is which."""
_SIGNALS = ((62, 129), (200, 130), (234, 131), (129, 138), (297, 240))
"""kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo: the first argument is whom; gVisor does not spare PID 1."""
NAMESPACES = 0x7E020000
"""Every CLONE_NEW… flag."""
_FAMILIES = (1, 2, 10, 16)
"""UNIX, INET, INET6, NETLINK. Not AF_VSOCK: it is in no network namespace, so it would reach the host."""

LOAD, EQUAL, _AT_LEAST, ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT, THIRD_ARGUMENT = 0, 4, 16, 24, 32
Instruction = tuple[int, int, int, int]
ALLOW: Instruction = (_RETURN, 0, 0, 0x7FFF0000)
_KILL: Instruction = (_RETURN, 0, 0, 0x80000000)


def prctl(option: int, value: int) -> None:
    """Calls prctl; raises OSError when it fails."""
    if libc.prctl(*(ctypes.c_ulong(word) for word in (option, value, 0, 0, 0))) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value})")


def has_no_new_privileges() -> bool:
    """Whether the kernel denies new privileges to all programs that this process starts."""
    return bool(libc.prctl(*(ctypes.c_ulong(word) for word in (PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))) == 1)


def assemble(machine: str, rules: Callable[[int], Iterable[Instruction]]) -> bytes:
    """BPF program of rules on the number of a system call; `rules(column)` takes it from the tables.

    Raises:
        KeyError: the machine is neither `x86_64` nor `aarch64`; it gets no sandbox.
    """
    column, architecture = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}[machine]
    head = [(LOAD, 0, 0, _ARCHITECTURE), (EQUAL, 1, 0, architecture), _KILL, (LOAD, 0, 0, _NUMBER)]
    if column == 0:  # the x32 calls of an x86_64 kernel would bypass the numbers of the rules
        head += [(_AT_LEAST, 0, 1, 0x40000000), refuse(errno.ENOSYS)]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in [*head, *rules(column)])


def refuse(number: int = errno.EPERM) -> Instruction:
    """Instruction that refuses a call with an error number."""
    return (_RETURN, 0, 0, 0x00050000 | number)


def each_of(
    calls: Iterable[tuple[int, int | None]], column: int, decision: Instruction
) -> Iterator[Instruction]:
    """Rules with one decision about each call that the architecture has."""
    for numbers in calls:
        if (number := numbers[column]) is not None:
            yield from ((EQUAL, 0, 1, number), decision)


def where(
    number: int, argument: int, operation: int, value: int, yes: Instruction, no: Instruction
) -> list[Instruction]:
    """Rule on a call with one decision where a test of an argument holds, and another where not."""
    return [(EQUAL, 0, 4, number), (LOAD, 0, 0, argument), (operation, 0, 1, value), yes, no]


def tool_rules(column: int) -> list[Instruction]:
    """Rules for processes that run strangers' code, supervisor included; the last one allows the rest."""
    rules = [
        *each_of(_DENIED.values(), column, refuse()),
        # clone3 hides its flags in memory, where no filter can look: without it the C library uses clone
        *each_of([_CLONE3], column, refuse(errno.ENOSYS)),
    ]
    # limits and priorities of oneself only: what a call did to the zygote's would outlast it
    for numbers in _OF_ONESELF:
        rules += where(numbers[column], FIRST_ARGUMENT, EQUAL, 0, ALLOW, refuse())
    for numbers, process in _PRIORITIES:
        rules += [
            (EQUAL, 0, 6, numbers[column]),
            (LOAD, 0, 0, FIRST_ARGUMENT),
            (EQUAL, 0, 3, process),
            (LOAD, 0, 0, SECOND_ARGUMENT),
            (EQUAL, 0, 1, 0),
            ALLOW,
            refuse(),
        ]
    for numbers in _SIGNALS:
        rules += where(numbers[column], FIRST_ARGUMENT, EQUAL, 1, refuse(), ALLOW)
    rules += where(_CLONE[column], FIRST_ARGUMENT, ANY_BIT, NAMESPACES, refuse(), ALLOW)
    # what is not dumpable stays so: a handler that the host pipes dumps to runs outside of every sandbox
    rules += [
        (EQUAL, 0, 6, _PRCTL[column]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (EQUAL, 0, 2, PR_SET_DUMPABLE),
        (LOAD, 0, 0, SECOND_ARGUMENT),
        (EQUAL, 0, 1, 0),
        ALLOW,
        refuse(),
    ]
    # sockets of the families on the list, to which the program's last instruction says yes
    count = len(_FAMILIES)
    rules += [(EQUAL, 0, count + 2, _SOCKET[column]), (LOAD, 0, 0, FIRST_ARGUMENT)]
    rules += [(EQUAL, count - position, 0, family) for position, family in enumerate(_FAMILIES)]
    return [*rules, refuse(errno.EAFNOSUPPORT), ALLOW]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install_filter(rules: Callable[[int], Iterable[Instruction]] = tool_rules) -> None:
    """Installs a seccomp filter of these rules on this process and all its children; it cannot be removed."""
    program = assemble(os.uname().machine, rules)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    mode = ctypes.c_ulong(2)
    if libc.prctl(ctypes.c_ulong(PR_SET_SECCOMP), mode, ctypes.byref(header), ctypes.c_ulong(0), 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def lower_limit(which: int, value: int, *, grace: int = 0) -> None:
    """Sets a resource limit, never above the one in force; `grace` is added to the hard limit."""
    hard = resource.getrlimit(which)[1]
    ceiling = value + grace if hard == resource.RLIM_INFINITY else min(value + grace, hard)
    resource.setrlimit(which, (min(value, ceiling), ceiling))
