"""One sandbox for many hostile programs, and what of the host they must not have touched."""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from alita_mcp.sandbox.interface import EgressPolicy, Job, RunResult, Sandbox
from alita_mcp.sandbox.wire.link import WorkerLost
from alita_mcp.settings import Settings
from tests.sandbox.hostile import Hostile, gives

WAIT_SECONDS = 120
CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")
SECRET = f"hunter2-{secrets.token_hex(8)}"
"""In this process's environment and in a file of the host; no result and no output may hold it."""
AFTERWARDS = """

_attack = f
def f(**words):
    if "afterwards" not in words:
        return _attack(**words)
    import os, tempfile
    own, processes = os.path.realpath(os.getcwd()), []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            state = open(f"/proc/{number}/stat").read().rpartition(")")[2].split()[0]
            processes.append([int(number), state, open(f"/proc/{number}/comm").read()])
        except OSError:
            pass
    files = [name for name in os.listdir("/tmp") if os.path.join("/tmp", name) != own]
    files += os.listdir("/dev/shm") + (os.listdir(own) if own != "/tmp" else [])
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 100_000)
    return {"sum": words["a"] + words["b"], "processes": processes, "files": files}
"""
"""Makes `f` of any module answer a second question: what it sees around it, besides a sum."""
HARMLESS = Hostile("harmless", "def f():\n    return 1\n", gives(lambda value: value == 1))


class Fussy:
    """A broker that counts, answers one door and waits for ever when it is asked to."""

    egress_policy: EgressPolicy | None = None

    def __init__(self) -> None:
        self.asked = 0

    async def answer(self, door: str, words: dict[str, Any]) -> Any:
        self.asked += 1
        assert type(door) is str
        if door != "complete":
            raise PermissionError(f"the grant for {door!r} is missing")
        if "never" in json.dumps(words):
            await anyio.sleep_forever()
        return "answer"


class Canaries:
    """Things of the host that programs reach for."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.file = folder / "canary"
        self.file.write_text(SECRET)
        self.name = f"alita-canary-{os.getpid()}-{secrets.token_hex(4)}"
        self._listeners = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))),
            stack.enter_context(socket.socket(socket.AF_UNIX)),
        ]
        self._listeners[1].bind(f"\0{self.name}")
        self._listeners[1].listen()
        for listener in self._listeners:
            listener.setblocking(False)
        os.environ["CANARY"] = SECRET
        stack.callback(os.environ.pop, "CANARY", None)
        self._core_pattern = CORE_PATTERN.read_text()

    def words(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments with the names of canaries replaced by what they stand for."""
        port = self._listeners[0].getsockname()[1]
        named = {"CANARY-FILE": str(self.file), "CANARY-SOCKET": self.name, "CANARY-PORT": port}
        return {
            name: named.get(value, value) if isinstance(value, str) else value
            for name, value in arguments.items()
        }

    def assert_untouched(self, *results: RunResult) -> None:
        assert CORE_PATTERN.read_text() == self._core_pattern
        assert self.file.read_text() == SECRET
        for listener in self._listeners:
            try:
                connection, _ = listener.accept()
            except BlockingIOError:
                continue
            connection.close()
            raise AssertionError("a program connected to a socket of the host")
        told = "".join(result.model_dump_json() for result in results)
        assert SECRET not in told


class Arena:
    """Runs programs one after the other in the same sandbox, and looks around after each."""

    def __init__(self, portal: BlockingPortal, sandbox: Sandbox, canaries: Canaries, *, looks: bool) -> None:
        self.sandbox = sandbox
        self.canaries = canaries
        self._portal = portal
        self._usual = self._look(self.job(HARMLESS)) if looks else {}

    def attack(self, program: Hostile, *, may_fall: bool = False) -> None:
        """Asserts the program's end, that the host is unharmed, and that the next call finds nothing of it.

        `may_fall`: where the sandbox has a kernel of its own, the program may also bring that one down.
        """
        job = self.job(program)
        results = []
        for _ in range(program.times):
            broker = Fussy()
            try:
                results.append(self.run(job, broker))
            except WorkerLost:
                assert may_fall
                continue
            assert program.expected(results[-1]), results[-1]
            assert broker.asked <= program.limits.broker_calls
        if program.distinct:
            values = [json.dumps(result.value) for result in results]
            assert len(set(values)) == len(values), values
        self.canaries.assert_untouched(*results)
        spoilt = program.spoils_itself or any(result.status == "load_failed" for result in results[-1:])
        self.assert_clean(self.job(HARMLESS) if spoilt else job)

    def assert_clean(self, job: Job) -> None:
        """The next call of the same version works, and sees as little as a call that comes first."""
        seen = self._look(job)
        assert seen["sum"] == 42
        assert len(seen["files"]) <= len(self._usual["files"]), seen
        assert len(seen["processes"]) <= len(self._usual["processes"]) + 1, seen
        assert all(state != "T" for _, state, _ in seen["processes"]), seen

    def run(self, job: Job, broker: Fussy | None = None) -> RunResult:
        return self._portal.call(self._in_time, job, broker or Fussy())

    def close(self) -> None:
        self._portal.call(self.sandbox.aclose)

    def call(self, action: Callable[..., Any], *words: Any) -> Any:
        """Runs a coroutine function in the sandbox's event loop."""
        return self._portal.call(action, *words)

    def _look(self, job: Job) -> dict[str, Any]:
        asked = job.model_copy(update={"arguments": {"afterwards": True, "a": 2, "b": 40}})
        for _ in range(4):  # a machine under load may need longer than the program's own short limits
            answer = self.run(asked)
            if answer.status != "timeout":
                break
        assert answer.ok, answer
        seen: dict[str, Any] = answer.value
        return seen

    def add(self) -> Any:
        """What a harmless tool gives now."""
        return self.run(
            Job(code="def f(a, b):\n    return a + b\n", function="f", arguments={"a": 2, "b": 40})
        ).value

    def job(self, program: Hostile, *, bare: bool = False) -> Job:
        """The program's call; `bare`: just as it is, so that it cannot be asked what it sees afterwards."""
        return Job(
            code=program.code if bare else program.code + AFTERWARDS,
            function="f",
            arguments=self.canaries.words(program.arguments),
            limits=program.limits,
            grants=program.grants,
        )

    async def _in_time(self, job: Job, broker: Fussy) -> RunResult:
        with anyio.fail_after(WAIT_SECONDS):
            return await self.sandbox.run(job, broker)


@contextmanager
def opened_arena(make: Callable[[Settings], Sandbox], folder: Path, *, looks: bool = True) -> Iterator[Arena]:
    """A sandbox in an event loop of its own, for as many tests as like."""
    with ExitStack() as stack:
        canaries = Canaries(folder, stack)
        portal = stack.enter_context(start_blocking_portal("asyncio"))
        sandbox = portal.call(partial(_made, make, Settings(home=folder / "home")))
        stack.callback(portal.call, sandbox.aclose)
        yield Arena(portal, sandbox, canaries, looks=looks)


async def _made(make: Callable[[Settings], Sandbox], settings: Settings) -> Sandbox:
    return make(settings)
