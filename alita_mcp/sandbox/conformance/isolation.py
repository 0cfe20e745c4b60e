"""Conformance claims about isolation: nothing of the host is read, written, reached or signalled.

An attempt that fails in any way at all is a success; only one that gets through breaks the claim.
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from alita_mcp.sandbox.conformance.claims import Broken, Claim, Subject, chapter
from alita_mcp.settings import inherited_environment
from alita_mcp.values import Limits

_USUAL = frozenset({"PATH", "LANG", "HOME", "TMPDIR", "LC_ALL", "LC_CTYPE", "TZ", "PWD", "SHLVL", "_"})
_SHORT = 8
"""Values of variables shorter than this may be equal by chance."""
_READS = """
from pathlib import Path
def f(path, other):
    found = []
    try:
        found.append(open(path).read())
    except OSError:
        pass
    try:
        found.append(Path(path).read_text())
    except OSError:
        pass
    try:
        found.append(open('/proc/1/root' + path).read())
    except OSError:
        pass
    try:
        found.append(open('../../../../../../../..' + path).read())
    except OSError:
        pass
    return found
"""
_LISTS = """
import os
def f(path, other):
    try:
        return [name for name in os.listdir(path) if name == other]
    except OSError:
        return []
"""
_WRITES = """
def f(path, other):
    done = []
    for target in (path, other):
        try:
            open(target, 'a').close()
            done.append(target)
        except OSError:
            pass
    return done
"""
_SYSTEM = """
import os
def f(path, other):
    return [folder for folder in ('/', '/usr', '/etc', '/dev', '/proc/sys/kernel') if os.access(folder, os.W_OK)]
"""
_CONNECTS = """
import socket
def f(path, other):
    done = []
    for address in (tuple(path), ('192.0.2.1', 443), ('169.254.169.254', 80)):
        try:
            socket.create_connection(address, timeout=1).close()
            done.append(address[0])
        except OSError:
            pass
    return done
"""
_INTERFACES = """
def f(path, other):
    try:
        lines = open('/proc/net/dev').read().splitlines()
    except OSError:
        return []
    names = [line.split(':')[0].strip() for line in lines if ':' in line]
    return [name for name in names if name != 'lo']
"""
_FAMILIES = """
import socket
def f(path, other):
    done = []
    for name, family, kind in (('vsock', 40, 1), ('packet', 17, 3), ('alg', 38, 5), ('raw', 2, 3)):
        try:
            socket.socket(family, kind).close()
            done.append(name)
        except OSError:
            pass
    return done
"""
_ENVIRONMENT = (
    "import os\ndef f(path, other):\n    return [[name, os.environ[name]] for name in os.environ]\n"
)
_SIGNALS = """
import os
def f(path, other):
    try:
        os.kill(path, 0)
        return ['the server']
    except OSError:
        return []
"""
_RIGHTS = """
import os
def f(path, other):
    held = ['uid 0'] if os.getuid() == 0 else []
    try:
        lines = open('/proc/self/status').read().splitlines()
    except OSError:
        return held
    return held + [line for line in lines if line.startswith('Cap') and set(line.split()[1]) != {'0'}]
"""
_KERNEL = """
import os
def f(path, other):
    done = []
    for target in ('/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/self/mem/../../1/mem'):
        try:
            os.close(os.open(target, os.O_WRONLY))
            done.append(target)
        except OSError:
            pass
    return done
"""
_ENGINES = """
import os
def f(path, other):
    sockets = ('/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock',
               '/run/podman/podman.sock', '/run/dbus/system_bus_socket')
    return [place for place in sockets if os.path.exists(place)]
"""


class Canary:
    """Secret in a file of the host and a listener on its loopback address."""

    def __init__(self, stack: ExitStack) -> None:
        self.secret = secrets.token_hex(16)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.file = folder / f"canary-{self.secret[:8]}"
        self.file.write_text(self.secret, "ascii")
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.address = list(listener.getsockname())


Words = Callable[[Canary], tuple[Any, Any]]
Judge = Callable[[Any], Any]


def _nothing(
    sentence: str, code: str, words: Words, judge: Judge = bool, *, essential: bool = False
) -> Claim:
    """A claim that a program comes back with nothing; `judge` picks out what it must not have."""

    async def attempt(subject: Subject) -> None:
        with _canary() as canary:
            path, other = words(canary)
            result = await subject.run(code, {"path": path, "other": other}, limits=Limits(wall_seconds=20))
            if result.ok and judge(result.value):
                raise Broken(f"it got {str(judge(result.value))[:200]!r} from {str(result.value)[:200]}")

    return Claim("", sentence, attempt, essential)


@contextmanager
def _canary() -> Iterator[Canary]:
    with ExitStack() as stack:
        yield Canary(stack)


def _leaked(variables: list[list[str]]) -> list[str]:
    ours = inherited_environment()
    return [
        name
        for name, value in variables
        if name not in _USUAL and len(value) >= _SHORT and ours.get(name) == value
    ]


ISOLATION = chapter(
    "isolation",
    _nothing("reads no file of the host", _READS, lambda canary: (str(canary.file), ""), essential=True),
    _nothing("lists no folder of the host", _LISTS, lambda canary: (str(canary.file.parent), canary.file.name)),
    _nothing("writes to no file of the host", _WRITES,
             lambda canary: (str(canary.file), str(canary.file) + "-new")),
    _nothing("may write to no system folder", _SYSTEM, lambda _: ("", "")),
    _nothing("connects to no address", _CONNECTS, lambda canary: (canary.address, "")),
    _nothing("sees no network interface", _INTERFACES, lambda _: ("", "")),
    _nothing("opens no socket that a network namespace does not hold", _FAMILIES, lambda _: ("", "")),
    _nothing("sees no variable of the server", _ENVIRONMENT, lambda _: ("", ""), _leaked),
    _nothing("signals no process of the host", _SIGNALS, lambda _: (os.getpid(), "")),
    _nothing("holds no rights", _RIGHTS, lambda _: ("", "")),
    _nothing("opens no setting of the kernel", _KERNEL, lambda _: ("", "")),
    _nothing("finds no socket of an engine", _ENGINES, lambda _: ("", "")),
)  # fmt: skip
