"""Programs that attack a sandbox of processes; each says what must come of it. The function is always `f`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from alita_mcp.sandbox.seam import RunResult
from alita_mcp.values import Limits

Expected = Callable[[RunResult], bool]


class Hostile(NamedTuple):
    """One program and its expected end."""

    name: str
    code: str
    expected: Expected
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    limits: Limits = Limits(wall_seconds=20)


def ends(*statuses: str) -> Expected:
    return lambda result: result.status in statuses


def gives(claim: Callable[[Any], bool]) -> Expected:
    return lambda result: result.status == "ok" and claim(result.value)


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
def sc(number, *words):
    if not x86:
        return "ENOSYS"
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(word) for word in words])
    return "OK" if answer >= 0 else errno.errorcode.get(ctypes.get_errno())
"""
FORGE = """
import json, os, struct
def forge(head, raw):
    text = json.dumps(head).encode()
    body = struct.pack(">I", len(text)) + text + raw
    data = struct.pack(">cI", b"R", len(body)) + body
    while data:
        data = data[os.write(3, data):]
"""
