"""Programs that attack a sandbox of processes; each says what must come of it. The function is always `f`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from alita_mcp.sandbox.interface import RunResult
from alita_mcp.values import Grants, Limits

Expected = Callable[[RunResult], bool]


class Hostile(NamedTuple):
    """One program and its expected end."""

    name: str
    code: str
    expected: Expected
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    limits: Limits = Limits(wall_seconds=20)
    times: int = 1
    """How often it is called in a row; each time the same must come of it."""
    distinct: bool = False
    """Whether no two calls may give the same value."""
    spoils_itself: bool = False
    """Whether the module breaks its own later calls while it is imported, so that another tool is called after it."""
    grants: Grants = Grants()
    embedded: Expected | None = None
    """What else may come of it where there is no process, no file and no descriptor of a system."""


def ends(*statuses: str) -> Expected:
    return lambda result: result.status in statuses


def gives(claim: Callable[[Any], bool]) -> Expected:
    return lambda result: result.status == "ok" and claim(result.value)


def fails(kind: str, *words: str) -> Expected:
    return lambda result: (
        (result.status, result.error_type) == ("error", kind)
        and all(word in result.message for word in words)
    )


def anything(result: RunResult) -> bool:
    """Whatever the program does to itself; the host, the sandbox and later calls must not notice."""
    return bool(result.status)


def all_refused(value: Any) -> bool:
    """Every attempt of `TRY` failed."""
    return bool(value) and all(attempt[0] != "OK" for attempt in value)


def all_denied(value: Any) -> bool:
    """Every system call of `TRY` failed for want of rights, not for its arguments."""
    return bool(value) and set(value) <= {"EPERM", "ENOSYS"}


SHORT = Limits(wall_seconds=1)
TRY = """
import ctypes, errno, os, platform, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
def t(action):
    try:
        return ["OK", repr(action())[:200]]
    except BaseException as refused:
        return [type(refused).__name__, str(refused)[:100]]
def put(path, data):
    # at once: a buffer would swallow the refusal
    fd = os.open(path, os.O_WRONLY)
    try:
        return os.write(fd, data)
    finally:
        os.close(fd)
def sc(number, *words):
    if not x86:
        return "ENOSYS"
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(word) for word in words])
    return "OK" if answer >= 0 else errno.errorcode.get(ctypes.get_errno())
"""
OTHERS = """
import os
def others(first=2):
    numbers = [int(name) for name in os.listdir('/proc') if name.isdigit()]
    return [number for number in numbers if number >= first and number != os.getpid()]
"""
"""`others()`: the processes beside this one that are not PID 1: in a warm worker the zygote and the next child."""
SOCKETS = """
import os, socket, stat
def sockets():
    found = []
    for fd in range(3, 1024):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                found.append(fd)
        except OSError:
            pass
    return found
"""
"""`sockets()`: what the process was started with to talk to its supervisor."""
FORGE = """
import json, os, struct
def forge(head, raw):
    text = json.dumps(head).encode()
    body = struct.pack(">I", len(text)) + text + raw
    data = struct.pack(">cI", b"R", len(body)) + body
    while data:
        data = data[os.write(3, data):]
"""


def does(name: str, body: str, expected: Expected, *, imports: str = "", **more: Any) -> Hostile:
    """A program whose function has this body."""
    head = f"import {imports}\n" if imports else ""
    return Hostile(
        name, f"{head}def f():\n{textwrap.indent(textwrap.dedent(body), '    ')}\n", expected, **more
    )


def refused(name: str, *attempts: str, each: Sequence[Any] = ("",), head: str = "", **more: Any) -> Hostile:
    """A program all of whose attempts must fail; each is made with `it` for all of `each`."""
    tries = "".join(f"t(lambda: {attempt}), " for attempt in attempts)
    code = (
        f"{TRY}{head}\ndef f(**words):\n    return [tried for it in {tuple(each)!r} for tried in ({tries})]\n"
    )
    return Hostile(name, code, gives(all_refused), **more)


def denied(name: str, *calls: str) -> Hostile:
    """A program all of whose system calls, given by number and words, must fail for want of rights."""
    return Hostile(
        name, f"{TRY}\ndef f():\n    return [{', '.join(f'sc({it})' for it in calls)}]\n", gives(all_denied)
    )
