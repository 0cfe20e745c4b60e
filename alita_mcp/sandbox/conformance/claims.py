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


class Trial(NamedTuple):
    """Program that is called in a sandbox, and the claims that its result must bear out."""

    chapter: str
    code: str
    claims: dict[str, Holds]
    """By sentence."""
    limits: Limits = Limits(wall_seconds=60)
    times: int = 1
    """How often the program is called in a row; its claims must hold each time."""
    essential: bool = True
    """Whether a back end that refuses it is of no use at all."""
    is_probe: bool = False
    """Whether a back end is used only where this trial succeeded on this machine."""


_USUAL = frozenset({"PATH", "LANG", "HOME", "TMPDIR", "LC_ALL", "LC_CTYPE", "TZ", "PWD", "SHLVL", "_"})
_SHORT = 8
"""Values of variables shorter than this may be equal by chance."""
_MEMORY = 64 << 20

_ATTEMPTS = """
import os, socket
def f(file, address, pid):
    def rights():
        lines = open('/proc/self/status').read().splitlines()
        return [line for line in lines if line.startswith('Cap') and set(line.split()[1]) != {'0'}]
    attempts = {
        'files': [
            lambda: [open(file).read()], lambda: [open('/proc/1/root' + file).read()],
            lambda: [open('../../../../../../../..' + file).read()],
            lambda: [name for name in os.listdir(os.path.dirname(file)) if name == os.path.basename(file)],
        ],
        'written': [lambda: open(file, 'a').close() or [file], lambda: open(file + '-new', 'a').close() or [file]],
        'folders': [lambda at=at: [at] if os.access(at, os.W_OK) else []
                    for at in ('/', '/usr', '/etc', '/dev', '/proc/sys/kernel')],
        'addresses': [lambda at=at: socket.create_connection(at, timeout=1).close() or [at[0]]
                      for at in (tuple(address), ('192.0.2.1', 443), ('169.254.169.254', 80))],
        'interfaces': [lambda: {line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line} - {'lo'}],
        'signalled': [lambda: os.kill(pid, 0) or ['the server']],
        'rights': [lambda: ['uid 0'] if os.getuid() == 0 else [], rights],
        'variables': [lambda: [[name, os.environ[name]] for name in os.environ]],
    }
    found = {name: [] for name in attempts}
    for name, tries in attempts.items():
        for attempt in tries:
            try:
                found[name] += attempt()
            except Exception:
                pass
    return found
"""
_LOOP = """
import time
def f(**_canary):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        pass
    return 'it ran on'
"""
_HOARD = "def f(**_canary):\n    held = [[n] * 500000 for n in range(80)]\n    return 'it had all of it'\n"
_FLOOD = "def f(**_canary):\n    for _ in range(20000):\n        print('x' * 100)\n"
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
_LEAVES = """
import os, tempfile
N = []
AT = [os.path.join(tempfile.gettempdir(), 'leak'), 'leak']
def f(**_canary):
    found = {'globals': len(N), 'files': [at for at in AT if os.path.exists(at)]}
    N.append(1)
    for at in AT:
        open(at, 'w').close()
    return found
"""
_STAYS = """
import os, socket, time
def f(**_canary):
    found = {'left': []}
    try:
        socket.socket(socket.AF_UNIX).connect('\\0alita-leak')
        found['left'].append('a listener')
    except OSError:
        pass
    s = socket.socket(socket.AF_UNIX)
    s.bind('\\0alita-leak')
    s.listen()
    if os.fork() == 0:
        os.setsid()
        time.sleep(20)
        os._exit(0)
    return found
"""
_ASKS = """
import alita_tool, urllib.request
def f(**_canary):
    got = {'asked': [], 'fetched': []}
    for grant, ask in (('model', lambda: alita_tool.complete('x')), ('tools', lambda: alita_tool.call_tool('x')),
                       ('secrets', lambda: alita_tool.secret('x')), ('workspace', lambda: alita_tool.read_text('x'))):
        try:
            got['asked'].append(str(ask()))
        except PermissionError as refused:
            got['asked'] += [] if grant in str(refused) else [str(refused)]
    try:
        with urllib.request.urlopen('http://host.example/', timeout=20) as answer:
            got['fetched'].append(answer.status)
    except OSError:
        pass
    return got
"""


def _finds_no(name: str) -> Holds:
    """Holds when the call succeeded and found nothing under this name."""
    return lambda result: result.ok and not result.value[name]


def _sees_no_variable_of_ours(result: RunResult) -> bool:
    ours = inherited_environment()
    seen: list[list[str]] = result.value["variables"] if result.ok else []
    return result.ok and not any(
        name not in _USUAL and len(value) >= _SHORT and ours.get(name) == value for name, value in seen
    )


def _ends(status: str, word: str) -> Holds:
    """Holds when the limit ended the call and the message names its value."""
    return lambda result: result.status == status and word in result.message


def _gets_at_most(bound: int) -> Holds:
    def holds(result: RunResult) -> bool:
        if result.ok:
            return isinstance(result.value, int) and 0 <= result.value <= bound
        return result.status == "memory" or str(bound) in result.message

    return holds


def _limits(**limits: Any) -> Limits:
    return Limits(**{"wall_seconds": 60, **limits})


TRIALS: tuple[Trial, ...] = (
    Trial("results", "def f(file, **_canary):\n    return [1, 2.5, None, file]\n", {
        "gives what the function returns": lambda result: str(result.value).startswith("[1, 2.5, None, '"),
    }, is_probe=True),
    Trial("isolation", _ATTEMPTS, {
        "reads no file of the host": _finds_no("files"),
        "writes to no file of the host": _finds_no("written"),
        "may write to no system folder": _finds_no("folders"),
        "connects to no address": _finds_no("addresses"),
        "sees no network interface": _finds_no("interfaces"),
        "signals no process of the host": _finds_no("signalled"),
        "holds no rights": _finds_no("rights"),
        "sees no variable of the server": _sees_no_variable_of_ours,
    }, is_probe=True),
    Trial("limits", _LOOP, {"ends a loop at wall_seconds": _ends("timeout", "0.5 s")},
          _limits(wall_seconds=0.5), is_probe=True),
    Trial("limits", _HOARD, {"ends a call at memory_bytes": _ends("memory", str(_MEMORY))},
          _limits(memory_bytes=_MEMORY), is_probe=True),
    Trial("limits", _FORKS, {"allows no more than so many processes": _gets_at_most(24)},
          _limits(processes=24), essential=False, is_probe=True),
    Trial("limits", _FLOOD, {"ends a flood of output": _ends("output_flood", str(16 * 4096))},
          _limits(output_bytes=4096)),
    Trial("limits", _SCRATCH, {"allows no more than so many bytes of scratch": _gets_at_most(8 << 20)},
          _limits(scratch_bytes=8 << 20), essential=False),
    Trial("cleanliness between calls", _LEAVES, {
        "forgets globals": _finds_no("globals"), "wipes files": _finds_no("files"),
    }, times=3),
    Trial("cleanliness between calls", _STAYS, {"ends processes that a call started": _finds_no("left")},
          times=3, essential=False),
    Trial("grants", _ASKS, {
        "gives no model, tool, secret or workspace without a grant": _finds_no("asked"),
        "reaches no host without a grant": _finds_no("fetched"),
    }),
)  # fmt: skip
"""All trials, chapter by chapter; the first one shows that the back end works at all."""
