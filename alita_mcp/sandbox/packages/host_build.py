"""Process that runs the builder program on the host: it confines itself for good, then starts.

Standard library only. Nothing of a wheel runs here, but uv reads strangers' files: a flaw of its own must lead nowhere.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from alita_mcp.sandbox.packages import builder_program

if sys.platform == "linux":
    from alita_mcp.sandbox.runner.supervisor import hardening

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_BENEATH, _PORT = 1, 2
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE, _DEVICE_CALLS = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICE_CALLS
_CONNECT = 1 << 1
_BIND_AND_CONNECT = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives")
_ATTRIBUTES: tuple[tuple[int, int | None], ...] = (
    (90, None), (91, 52), (268, 53), (452, 452),  # chmod, fchmod, fchmodat, fchmodat2
    (92, None), (93, 55), (94, None), (260, 54),  # chown, fchown, lchown, fchownat
    (132, None), (235, None), (261, None), (280, 88),  # utime, utimes, futimesat, utimensat
    (188, 5), (189, 6), (190, 7), (463, 463),  # setxattr, lsetxattr, fsetxattr, setxattrat
    (197, 14), (198, 15), (199, 16), (466, 466),  # removexattr, lremovexattr, fremovexattr, removexattrat
)  # fmt: skip
_SOCKET = (41, 198)
_AND = 0x54


def main() -> None:
    """Runs the request in the file `sys.argv[1]` and writes its result to the file `sys.argv[2]`."""
    payload, result = sys.argv[1:3]
    request = json.loads(Path(payload).read_bytes())
    port = urlsplit(request["proxy"]).port or 0
    confine(Path(payload).parent, Path(request["uv"]), port)
    builder_program.main(payload, result)


def confine(work: Path, uv: Path, port: int) -> None:
    """Leaves this process and its children one folder, the interpreter's and uv's files, and a port on loopback.

    Linux alone has the means. Where its kernel lacks one of them (Landlock came with 5.13, and is of use since 5.19),
    the others hold; `docs/security.md` says what is left.
    """
    if sys.platform != "linux":
        return
    hardening.prctl(hardening.PR_SET_NO_NEW_PRIVS, 1)
    # root keeps the right to read what other users own, as the files of an interpreter may be, and nothing else
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    for kept in (0b110, 0):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH; others than root hold none of them
        if hardening.libc.capset(header, (ctypes.c_uint32 * 6)(kept, kept)) == 0:
            break
    restrict_files(work, uv, port)
    with suppress(KeyError):  # a machine whose system calls are not in the tables
        hardening.install_filter(_filter_rules)


def restrict_files(work: Path, uv: Path, port: int) -> None:
    """Applies Landlock rules for files, TCP ports and signals, as far as this kernel knows them."""
    version = hardening.libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 2:  # none, or one under which no file can be renamed into another folder
        return
    files = (_DEVICE_CALLS << 1) - 1 if version >= 5 else _DEVICE_CALLS - 1 if version >= 3 else _TRUNCATE - 1
    ports = _BIND_AND_CONNECT if version >= 4 else 0
    scope = _ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0
    rules = _check(
        hardening.libc.syscall(
            _CREATE_RULESET, (ctypes.c_uint64 * 3)(files, ports, scope), ctypes.c_size_t(24), 0
        )
    )
    readable = {Path(place) for place in (*_SYSTEM, sys.prefix, sys.base_prefix)}
    # and the folders of the libraries that this interpreter runs with, wherever a distribution keeps them
    with Path("/proc/self/maps").open() as maps:
        paths = [line.split(maxsplit=5)[5].strip() for line in maps if ".so" in line and "/" in line]
    readable |= {Path(path).parent for path in paths}
    places = dict.fromkeys(readable, _READ | _LIST | _EXECUTE)
    places |= {
        uv: _READ | _EXECUTE,
        Path("/dev/null"): _READ | _WRITE,
        Path("/dev/urandom"): _READ,
        work: files,
    }
    for place, rights in places.items():
        with suppress(FileNotFoundError):
            opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
            known = files if stat.S_ISDIR(os.fstat(opened).st_mode) else files & _OF_FILES
            rule = (rights & known).to_bytes(8, sys.byteorder) + opened.to_bytes(4, sys.byteorder)
            _check(hardening.libc.syscall(_ADD_RULE, rules, _BENEATH, rule, 0))
            os.close(opened)
    if ports:
        _check(hardening.libc.syscall(_ADD_RULE, rules, _PORT, (ctypes.c_uint64 * 2)(_CONNECT, port), 0))
    _check(hardening.libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def _filter_rules(column: int) -> Iterator[tuple[int, int, int, int]]:
    """The rules for tools, and two more: TCP alone, and no attribute of a file changes."""
    # Landlock looks at neither: a socket's path such as /run/docker.sock leads out, and so does a datagram
    yield from (
        (hardening.EQUAL, 0, 8, _SOCKET[column]),
        (hardening.LOAD, 0, 0, hardening.FIRST_ARGUMENT),
        (hardening.EQUAL, 1, 0, socket.AF_INET),
        (hardening.EQUAL, 0, 4, socket.AF_INET6),
        (hardening.LOAD, 0, 0, hardening.SECOND_ARGUMENT),
        (_AND, 0, 0, 0xF),
        (hardening.EQUAL, 0, 1, socket.SOCK_STREAM),
        hardening.ALLOW,
        hardening.refuse(errno.EACCES),
    )
    # nor at these; they seem to succeed, because uv sets modes and times of what it unpacks
    yield from hardening.each_of(_ATTRIBUTES, column, hardening.refuse(0))
    yield from hardening.tool_rules(column)


def _check(answer: int) -> int:
    """The answer of a system call.

    Raises:
        OSError: it failed.
    """
    if answer < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    return answer
