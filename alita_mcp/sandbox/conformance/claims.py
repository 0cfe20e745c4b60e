"""Claims about the isolation of a sandbox: programs that try what no tool may do, and what must come of each.

Programs are bounded in themselves: on a back end that limits and isolates nothing they must not harm the machine. Each
is called with a `file` of the host that holds a secret, the `address` of a listener on the host's loopback and the
`pid` of this process, and asks for twice as much as its limit allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from alita_mcp.sandbox.interface import RunResult
from alita_mcp.settings import inherited_environment
from alita_mcp.values import Limits

Holds = Callable[[RunResult], bool]


class Claim(NamedTuple):
    """Claim about every back end: one sentence, the program that tries it, and what its result must be."""

    chapter: str
    sentence: str
    code: str
    holds: Holds
    limits: Limits = Limits(wall_seconds=20)
    times: int = 1
    """How often the program is called in a row; the claim must hold each time."""
    essential: bool = False
    """Whether a back end that refuses it is of no use at all."""


_USUAL = frozenset({"PATH", "LANG", "HOME", "TMPDIR", "LC_ALL", "LC_CTYPE", "TZ", "PWD", "SHLVL", "_"})
_SHORT = 8
"""Values of variables shorter than this may be equal by chance."""


def _got_nothing(result: RunResult) -> bool:
    """An attempt that fails in any way at all is a success; only one that gets through breaks the claim."""
    return not (result.ok and result.value)


def _saw_no_variable_of_ours(result: RunResult) -> bool:
    ours = inherited_environment()
    seen: list[list[str]] = result.value if result.ok else []
    return not any(
        name not in _USUAL and len(value) >= _SHORT and ours.get(name) == value for name, value in seen
    )


def _ends(status: str, word: str) -> Holds:
    """The limit ends the call, and the message names its value."""
    return lambda result: result.status == status and word in result.message


def _gets_at_most(bound: int) -> Holds:
    def holds(result: RunResult) -> bool:
        if result.ok:
            return isinstance(result.value, int) and 0 <= result.value <= bound
        return result.status == "memory" or str(bound) in result.message

    return holds


def _isolation(sentence: str, imports: str, targets: str, attempt: str, *, essential: bool = False) -> Claim:
    """Claim that `attempt`, an expression that gives a list, is empty or an OSError for each of `targets`."""
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
    return Claim("isolation", sentence, code, _got_nothing, essential=essential)


def _limit(
    sentence: str,
    code: str,
    holds: Holds,
    *,
    essential: bool = False,
    wall_seconds: float = 60,
    **limits: Any,
) -> Claim:
    return Claim(
        "limits", sentence, code, holds, Limits(wall_seconds=wall_seconds, **limits), essential=essential
    )


def _counted(imports: str, take: str, most: int) -> str:
    """Program that takes something until it is refused, at most so many times, and returns how often it got it."""
    return f"""
import {imports}
def f(**_canary):
    held = []
    try:
        while len(held) < {most}:
            held.append({take})
    except OSError:
        pass
    return len(held)
"""


def _forgets(sentence: str, head: str, look: str, leave: str, *, essential: bool = False) -> Claim:
    """Claim that `look` finds nothing of what `leave` left in an earlier call of the same code."""
    code = f"{head}\ndef f(**_canary):\n    found = {look}\n    {leave}\n    return found\n"
    return Claim(
        "cleanliness between calls",
        sentence,
        code,
        lambda result: result.ok and not result.value,
        times=3,
        essential=essential,
    )


_MEMORY = 64 << 20
_LOOP = """
import time
def f(**_canary):
    until = time.monotonic() + 30
    while time.monotonic() < until:
        pass
    return 'it ran on'
"""
_FORKS = """
import os, signal, time
def f(**_canary):
    children = []
    try:
        while len(children) < 48:
            child = os.fork()
            if child == 0:
                time.sleep(20)
                os._exit(0)
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    return len(children)
"""
_SCRATCH = """
import tempfile
def f(**_canary):
    written = 0
    with tempfile.TemporaryFile() as file:
        try:
            while written < 16 << 20:
                file.write(b'x' * 65536)
                file.flush()
                written += 65536
        except OSError:
            pass
    return written
"""
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
_ASKS = """
import alita_tool
def f(**_canary):
    got = []
    for grant, ask in (('model', lambda: alita_tool.complete('x')), ('tools', lambda: alita_tool.call_tool('x')),
                       ('secrets', lambda: alita_tool.secret('x')), ('workspace', lambda: alita_tool.read_text('x'))):
        try:
            got.append(str(ask()))
        except PermissionError as refused:
            got += [] if grant in str(refused) else [str(refused)]
    return got
"""
_FETCHES = """
import urllib.request
def f(**_canary):
    with urllib.request.urlopen('http://host.example/', timeout=20) as answer:
        return answer.status
"""

CLAIMS: tuple[Claim, ...] = (
    Claim("results", "gives what the function returns", "def f(file, **_canary):\n    return [1, 2.5, None, file]\n",
          lambda result: result.ok and str(result.value).startswith("[1, 2.5, None, '"), essential=True),
    _isolation("reads no file of the host", "pathlib", """(
        lambda: open(file).read(), lambda: pathlib.Path(file).read_text(), lambda: open('/proc/1/root' + file).read(),
        lambda: open('../../../../../../../..' + file).read())""", "[target()]", essential=True),
    _isolation("lists no folder of the host", "os", "[os.path.dirname(file)]",
               "[name for name in os.listdir(target) if name == os.path.basename(file)]"),
    _isolation("writes to no file of the host", "os", "[file, file + '-new']", "open(target, 'a').close() or [target]"),
    _isolation("may write to no system folder", "os", "['/', '/usr', '/etc', '/dev', '/proc/sys/kernel']",
               "[target] if os.access(target, os.W_OK) else []"),
    _isolation("connects to no address", "socket", "[tuple(address), ('192.0.2.1', 443), ('169.254.169.254', 80)]",
               "socket.create_connection(target, timeout=1).close() or [target[0]]"),
    _isolation("sees no network interface", "os", "['/proc/net/dev']",
               "{line.split(':')[0].strip() for line in open(target) if ':' in line} - {'lo'}"),
    _isolation("opens no socket that a network namespace does not hold", "socket",
               "[('vsock', 40, 1), ('packet', 17, 3), ('alg', 38, 5), ('raw', 2, 3)]",
               "socket.socket(target[1], target[2]).close() or [target[0]]"),
    Claim("isolation", "sees no variable of the server",
          "import os\ndef f(**_canary):\n    return [[name, os.environ[name]] for name in os.environ]\n",
          _saw_no_variable_of_ours),
    _isolation("signals no process of the host", "os", "[pid]", "os.kill(target, 0) or ['the server']"),
    Claim("isolation", "holds no rights", _RIGHTS, _got_nothing),
    _isolation("opens no setting of the kernel", "os",
               "['/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/self/mem/../../1/mem']",
               "os.close(os.open(target, os.O_WRONLY)) or [target]"),
    _isolation("finds no socket of an engine", "os", """[
        '/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock', '/run/podman/podman.sock',
        '/run/dbus/system_bus_socket']""", "[target] if os.path.exists(target) else []"),
    _limit("ends a loop at wall_seconds", _LOOP, _ends("timeout", "1 s"), wall_seconds=1, essential=True),
    _limit("ends a sleep at wall_seconds", "import time\ndef f(**_canary):\n    time.sleep(5)\n    return 1\n",
           _ends("timeout", "1 s"), wall_seconds=1),
    _limit("ends a loop at cpu_seconds", _LOOP, _ends("timeout", "1 s"), cpu_seconds=1),
    _limit("ends a call at memory_bytes",
           "def f(**_canary):\n    held = [[n] * 500000 for n in range(80)]\n    return 'it had all of it'\n",
           _ends("memory", str(_MEMORY)), memory_bytes=_MEMORY, essential=True),
    _limit("ends a flood of output", "def f(**_canary):\n    for _ in range(20000):\n        print('x' * 100)\n",
           _ends("output_flood", str(16 * 4096)), output_bytes=4096, essential=True),
    _limit("allows no more than so many processes", _FORKS, _gets_at_most(24), processes=24),
    _limit("allows no more than so many open files", _counted("os", "os.open('/dev/null', os.O_RDONLY)", 128),
           _gets_at_most(64), open_files=64),
    _limit("allows no more than so many bytes of scratch", _SCRATCH, _gets_at_most(8 << 20), scratch_bytes=8 << 20),
    _limit("allows no more than so many files of scratch", _counted("tempfile", "tempfile.mkdtemp()", 400),
           _gets_at_most(200), scratch_files=200),
    _forgets("forgets globals", "N = []", "len(N)", "N.append(1)", essential=True),
    _forgets("forgets variables", "import os", "os.environ.get('LEAK', '')", "os.environ['LEAK'] = 'x'"),
    _forgets("wipes files", "import os, tempfile\nAT = [os.path.join(tempfile.gettempdir(), 'leak'), 'leak']",
             "[at for at in AT if os.path.exists(at)]", "[open(at, 'w').close() for at in AT]"),
    _forgets("ends processes that a call started",
             "import os, socket, time\ndef there():\n    s = socket.socket(socket.AF_UNIX)\n    try:\n"
             "        s.connect('\\0alita-leak')\n        return True\n    except OSError:\n        return False\n"
             "def stay():\n    s = socket.socket(socket.AF_UNIX)\n    s.bind('\\0alita-leak')\n    s.listen()\n"
             "    if os.fork() == 0:\n        os.setsid()\n        time.sleep(20)\n        os._exit(0)",
             "there()", "stay()"),
    Claim("grants", "gives no model, tool, secret or workspace without a grant", _ASKS,
          lambda result: result.ok and not result.value),
    Claim("grants", "reaches no host without a grant", _FETCHES, _got_nothing),
)  # fmt: skip
"""All claims, chapter by chapter."""
