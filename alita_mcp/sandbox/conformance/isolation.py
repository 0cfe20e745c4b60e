"""Conformance claims about isolation: nothing of the host is read, written, reached or signalled.

An attempt that fails in any way at all is a success; only one that gets through breaks the claim.
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alita_mcp.sandbox.conformance.claims import Broken, Claim, Subject, chapter
from alita_mcp.settings import inherited_environment
from alita_mcp.values import Limits

_USUAL = frozenset({"PATH", "LANG", "HOME", "TMPDIR", "LC_ALL", "LC_CTYPE", "TZ", "PWD", "SHLVL", "_"})
_SHORT = 8
"""Values of variables shorter than this may be equal by chance."""
_ENVIRONMENT = "import os\ndef f(**_canary):\n    return [[name, os.environ[name]] for name in os.environ]\n"
_RIGHTS = """
import os
def f(**_canary):
    held = ['uid 0'] if os.getuid() == 0 else []
    try:
        lines = open('/proc/self/status').read().splitlines()
    except OSError:
        return held
    return held + [line for line in lines if line.startswith('Cap') and set(line.split()[1]) != {'0'}]
"""


def _nothing(
    sentence: str, code: str, judge: Callable[[Any], Any] = bool, *, essential: bool = False
) -> Claim:
    """Claim that a program comes back with nothing; `judge` picks out what it must not have.

    The program gets a `file` of the host that holds a secret, the `address` of a listener on the host's loopback and
    the `pid` of this process.
    """

    async def attempt(subject: Subject) -> None:
        with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
            secret = secrets.token_hex(16)
            file = Path(folder) / f"canary-{secret[:8]}"
            file.write_text(secret, "ascii")
            canary = {"file": str(file), "address": list(listener.getsockname()), "pid": os.getpid()}
            result = await subject.run(code, canary, limits=Limits(wall_seconds=20))
            if result.ok and judge(result.value):
                raise Broken(f"it got {str(judge(result.value))[:200]!r} from {str(result.value)[:200]}")

    return Claim("", sentence, attempt, essential)


def _none_of(sentence: str, imports: str, targets: str, attempt: str, *, essential: bool = False) -> Claim:
    """Claim that an attempt, an expression that gives a list, comes back empty or with an OSError for each `target`."""
    code = f"""
import {imports}
def f(file, address, pid):
    found = []
    for target in {targets}:
        try:
            found += {attempt}
        except OSError:
            pass
    return found
"""
    return _nothing(sentence, code, essential=essential)


def _leaked(variables: list[list[str]]) -> list[str]:
    ours = inherited_environment()
    return [
        name
        for name, value in variables
        if name not in _USUAL and len(value) >= _SHORT and ours.get(name) == value
    ]


ISOLATION = chapter(
    "isolation",
    _none_of("reads no file of the host", "pathlib", """(
        lambda: open(file).read(), lambda: pathlib.Path(file).read_text(), lambda: open('/proc/1/root' + file).read(),
        lambda: open('../../../../../../../..' + file).read())""", "[target()]", essential=True),
    _none_of("lists no folder of the host", "os", "[os.path.dirname(file)]",
             "[name for name in os.listdir(target) if name == os.path.basename(file)]"),
    _none_of("writes to no file of the host", "os", "[file, file + '-new']", "open(target, 'a').close() or [target]"),
    _none_of("may write to no system folder", "os", "['/', '/usr', '/etc', '/dev', '/proc/sys/kernel']",
             "[target] if os.access(target, os.W_OK) else []"),
    _none_of("connects to no address", "socket", "[tuple(address), ('192.0.2.1', 443), ('169.254.169.254', 80)]",
             "socket.create_connection(target, timeout=1).close() or [target[0]]"),
    _none_of("sees no network interface", "os", "['/proc/net/dev']",
             "{line.split(':')[0].strip() for line in open(target) if ':' in line} - {'lo'}"),
    _none_of("opens no socket that a network namespace does not hold", "socket",
             "[('vsock', 40, 1), ('packet', 17, 3), ('alg', 38, 5), ('raw', 2, 3)]",
             "socket.socket(target[1], target[2]).close() or [target[0]]"),
    _nothing("sees no variable of the server", _ENVIRONMENT, _leaked),
    _none_of("signals no process of the host", "os", "[pid]", "os.kill(target, 0) or ['the server']"),
    _nothing("holds no rights", _RIGHTS),
    _none_of("opens no setting of the kernel", "os",
             "['/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/self/mem/../../1/mem']",
             "os.close(os.open(target, os.O_WRONLY)) or [target]"),
    _none_of("finds no socket of an engine", "os", """[
        '/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock', '/run/podman/podman.sock',
        '/run/dbus/system_bus_socket']""", "[target] if os.path.exists(target) else []"),
)  # fmt: skip
