"""Claims about the isolation of a sandbox, tried on a back end: programs that attempt what no tool may do.

Programs are bounded in themselves: on a back end that limits and isolates nothing they must not harm the machine. Each
is called with a `file` of the host that holds a secret, the `address` of a listener on the host's loopback and the
`pid` of this process, and asks for twice as much as its limit allows.
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.sandbox.interface import EgressRefused, Job, Probe, ProbeReport, RunResult, Sandbox
from alita_mcp.settings import child_environment
from alita_mcp.values import Limits

PATIENCE_SECONDS = 120.0
"""How long one call may take in all, its sandbox's start included, before the back end counts as hanging."""
_USUAL = frozenset({"PATH", "LANG", "HOME", "TMPDIR", "LC_ALL", "LC_CTYPE", "TZ", "PWD", "SHLVL", "_"})
_SHORT = 8
"""Values of variables shorter than this may be equal by chance."""
_MEMORY = 64 << 20
Holds = Callable[[RunResult], bool]


class Trial(NamedTuple):
    """Program that is called in a sandbox, and the claims that its result must bear out."""

    code: str
    claims: dict[str, Holds]
    """By sentence."""
    limits: Limits = Limits(wall_seconds=60)
    times: int = 1
    """How often the program is called in a row; its claims must hold each time."""
    is_probe: bool = False
    """Whether a back end is used only where this trial succeeded on this machine."""


async def try_claims(sandbox: Sandbox, trials: Sequence[Trial]) -> tuple[Probe, ...]:
    """Tries claims on a back end: those of the first trial, then, if these hold, all others at once; does not close it.

    Raises:
        SandboxUnavailable: the back end does not work here at all, so nothing can be said about it.
    """
    first, *others = trials
    found: dict[str, list[Probe]] = {trial.code: [] for trial in trials}

    async def judge(trial: Trial) -> None:
        found[trial.code] = await _judge(trial, sandbox, canary, is_first=trial is first)

    with _canary() as canary:
        await judge(first)
        if all(each.passed for each in found[first.code]):
            async with anyio.create_task_group() as tasks:
                for trial in others:
                    tasks.start_soon(judge, trial)
    return tuple(each for probes in found.values() for each in probes)


async def probe(sandbox: Sandbox, hint: str) -> ProbeReport:
    """Tries the claims that decide whether a back end is used; `hint` is how to make it work where it does not."""
    try:
        probes = await try_claims(sandbox, [trial for trial in TRIALS if trial.is_probe])
    except SandboxUnavailable as problem:
        starts = Probe(name="starts", passed=False, detail=problem.message)
        return ProbeReport(kind=sandbox.kind, probes=(starts,), hint=problem.hint or hint)
    report = ProbeReport(kind=sandbox.kind, probes=probes)
    if report.isolates:
        return report
    said_once = [each.model_copy(update={"detail": each.detail.replace(hint, "").strip()}) for each in probes]
    return ProbeReport(kind=sandbox.kind, probes=tuple(said_once), hint=hint)


@contextmanager
def _canary() -> Iterator[dict[str, Any]]:
    """Arguments of every program: what of this machine it reaches for."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        file = Path(folder) / "canary"
        file.write_text(secrets.token_hex(16), "ascii")
        yield {"file": str(file), "address": list(listener.getsockname()), "pid": os.getpid()}


class _RecordingBroker:
    """Broker and egress policy that record what reaches them and refuse it: no claim has a grant."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.egress_policy = self

    async def answer(self, service: str, _words: dict[str, Any]) -> Any:
        self.requests.append(service)
        raise PermissionError("the grant does not cover this")

    async def open(self, host: str, port: int) -> Any:
        self.requests.append(f"{host}:{port}")
        raise EgressRefused(403, f"{host}:{port} is not granted")


async def _judge(trial: Trial, sandbox: Sandbox, canary: dict[str, Any], *, is_first: bool) -> list[Probe]:
    """What came of each claim of a trial.

    Raises:
        SandboxUnavailable: the back end does not work, in the first trial of all.
    """
    broken: dict[str, str] = {}
    try:
        for _ in range(trial.times):
            broker = _RecordingBroker()
            job = Job(code=trial.code, function="f", arguments=canary, limits=trial.limits)
            with anyio.fail_after(PATIENCE_SECONDS):
                result = await sandbox.run(job, broker)
            for claim in [claim for claim, holds in trial.claims.items() if not holds(result)]:
                value = result.value
                if isinstance(value, dict):  # of several findings those that are none say nothing
                    value = {name: found for name, found in value.items() if found}
                error = f"{result.error_type}: " if result.error_type else ""
                words = f"{error}{result.message}" or repr(value)
                broken.setdefault(claim, f"{result.status}: {words}")
            if broker.requests:
                words = f"without a grant {broker.requests[0]} was asked for"
                broken = dict.fromkeys(trial.claims, words)
    except TimeoutError:
        broken = dict.fromkeys(trial.claims, f"no end within {PATIENCE_SECONDS:g} s")
    except Exception as problem:
        if isinstance(problem, SandboxUnavailable) and is_first:
            raise
        words = str(problem) if isinstance(problem, SandboxError) else f"it raised {problem!r}"
        broken = dict.fromkeys(trial.claims, words)
    return [
        Probe(name=claim, passed=claim not in broken, detail=" ".join(broken.get(claim, "").split())[:300])
        for claim in trial.claims
    ]


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
    except (OSError, AttributeError):  # no more of them, or none at all
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    return len(children)
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
    ours = child_environment()
    seen: list[list[str]] = result.value["variables"] if result.ok else []
    return result.ok and not any(
        name not in _USUAL and len(value) >= _SHORT and ours.get(name) == value for name, value in seen
    )


def _ends(status: str, word: str) -> Holds:
    """Holds when the limit ended the call and the message names its value."""
    return lambda result: result.status == status and word in result.message


TRIALS: tuple[Trial, ...] = (
    Trial("def f(file, **_canary):\n    return [1, 2.5, None, file]\n", {
        "gives what the function returns": lambda result: str(result.value).startswith("[1, 2.5, None, '"),
    }, is_probe=True),
    Trial(_ATTEMPTS, {
        "reads no file of the host": _finds_no("files"),
        "writes to no file of the host": _finds_no("written"),
        "may write to no system folder": _finds_no("folders"),
        "connects to no address": _finds_no("addresses"),
        "sees no network interface": _finds_no("interfaces"),
        "signals no process of the host": _finds_no("signalled"),
        "holds no rights": _finds_no("rights"),
        "sees no variable of the server": _sees_no_variable_of_ours,
    }, is_probe=True),
    Trial(_LOOP, {"ends a loop at wall_seconds": _ends("timeout", "0.5 s")},
          Limits(wall_seconds=0.5), is_probe=True),
    Trial(_HOARD, {"ends a call at memory_bytes": _ends("memory", str(_MEMORY))},
          Limits(wall_seconds=60, memory_bytes=_MEMORY), is_probe=True),
    Trial(_FORKS, {
        "allows no more than so many processes": lambda result: result.ok and 0 <= result.value <= 24,
    },
          Limits(wall_seconds=60, processes=24), is_probe=True),
    Trial(_FLOOD, {"ends a flood of output": _ends("output_flood", str(16 * 4096))},
          Limits(wall_seconds=60, output_bytes=4096)),
    Trial(_LEAVES, {
        "forgets globals": _finds_no("globals"), "wipes files": _finds_no("files"),
    }, times=3),
    Trial(_ASKS, {
        "gives no model, tool, secret or workspace without a grant": _finds_no("asked"),
        "reaches no host without a grant": _finds_no("fetched"),
    }),
)  # fmt: skip
"""All trials; the first one shows that the back end works at all."""
