"""Sessions in each sandbox: what they keep, what no step does to others, and that tools go on working beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.runs.code_run import CodeRequest, CodeRun
from alita_mcp.runs.sessions.registry import Sessions, open_sessions
from alita_mcp.runs.sessions.session import Patience, Place
from alita_mcp.sandbox.choose import load_sandbox
from alita_mcp.sandbox.interface import Job, Sandbox
from alita_mcp.settings import Settings

pytestmark = pytest.mark.slow
WAIT_SECONDS = 180
PATIENCE = Patience(120.0, 120.0)
SHORT = Patience(120.0, 2.0)
ASK = "import sys\nask = vars(sys.modules['alita_tool'])['_ask']\n"
ENGINES = {"bubblewrap": "bubblewrap", "docker": "docker_engine"}


@pytest.fixture(
    params=[
        "wasm",
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.exhaustive]),
    ]
)
async def sandbox(request: pytest.FixtureRequest, settings: Settings) -> AsyncIterator[Sandbox]:
    if request.param in ENGINES:
        request.getfixturevalue(ENGINES[request.param])
    sandbox = load_sandbox(request.param, settings.model_copy(update={"max_workers": 3}))
    yield sandbox
    await sandbox.aclose()


class Steps:
    """Steps of sessions in a real sandbox."""

    def __init__(self, sessions: Sessions, sandbox: Sandbox) -> None:
        self.sessions = sessions
        self.sandbox = sandbox

    async def __call__(self, code: str, name: str = "one", **arguments: Any) -> CodeRun:
        request = CodeRequest(code=code, arguments=arguments, session=name)
        return await self.sessions.run_step(request, "me", self.opened)

    async def result(self, code: str, name: str = "one", **arguments: Any) -> Any:
        run = await self(code, name, **arguments)
        assert run.ok, run
        return run.result

    async def heard(self, code: str) -> CodeRun | str:
        """What came of a step, or that the session had ended before it."""
        try:
            return await self(code)
        except UsageError as gone:
            return str(gone)

    async def assert_well(self) -> None:
        """A session and a tool work, whatever happened before."""
        told = await self.heard("1 + 1")
        if isinstance(told, str):
            assert "has ended" in told
            told = await self("1 + 1")
        assert told.result == 2
        job = Job(code="def f(a):\n    return a + 1\n", function="f", arguments={"a": 41})
        assert (await self.sandbox.run(job)).value == 42

    async def opened(self) -> Place:
        return Place(self.sandbox)


@asynccontextmanager
async def steps_in(sandbox: Sandbox, patience: Patience = PATIENCE) -> AsyncIterator[Steps]:
    with anyio.fail_after(WAIT_SECONDS):
        async with open_sessions(Settings(max_workers=3), patience) as sessions:
            yield Steps(sessions, sandbox)


async def test_what_a_step_makes_the_next_one_finds(sandbox: Sandbox) -> None:
    async with steps_in(sandbox) as step:
        assert await step.result("import math\ndef area(r):\n    return math.pi * r ** 2\nn = 3") is None
        assert await step.result("round(area(n), 2)") == 28.27
        assert await step.result("n += more\nopen('kept.txt', 'w').write('x')\nn", more=4) == 7
        assert await step.result("open('kept.txt').read() * n") == "xxxxxxx"
        failed = await step("n = 8\nprint('so far')\n1 / 0")
        assert (failed.status, failed.error_type, failed.stdout) == ("error", "ZeroDivisionError", "so far\n")
        assert 'File "script-5.py", line 3' in failed.trace
        assert await step.result("n") == 8
        assert (await step("n", "two")).error_type == "NameError"


@pytest.mark.embedded_first
async def test_each_step_has_its_own_output(sandbox: Sandbox) -> None:
    async with steps_in(sandbox) as step:
        first = await step(
            "import logging, sys\nlogging.basicConfig()\nprint('out'); print('err', file=sys.stderr)"
        )
        assert (first.stdout, first.stderr) == ("out\n", "err\n")
        second = await step("logging.warning('late')\nsys.stdout.buffer.write(b'\\xff')\nNone")
        assert (second.stdout, second.stderr) == ("\N{REPLACEMENT CHARACTER}", "WARNING:root:late\n")
        assert (await step("1")).stdout == ""


async def test_what_processes_print_is_the_steps_output(sandbox: Sandbox) -> None:
    if sandbox.kind == "wasm":
        return  # it starts no processes
    async with steps_in(sandbox) as step:
        code = "import os, subprocess\nprint('a', flush=True)\nos.system('echo b')\nsubprocess.run(['echo', 'c'])\nNone"
        assert (await step(code)).stdout == "a\nb\nc\n"
        assert (await step("print('d')")).stdout == "d\n"


@pytest.mark.embedded_first
async def test_large_results_come_whole(sandbox: Sandbox) -> None:
    async with steps_in(sandbox) as step:
        assert await step.result("text * 1_000", text='é"\\' * 100) == 'é"\\' * 100_000
        assert await step.result("list(range(100_000))") == list(range(100_000))
        assert (await step("[0] * 600_000")).status in {"ok", "bad_result"}
        await step.assert_well()


@pytest.mark.embedded_first
async def test_a_flood_ends_its_step_and_not_the_session(sandbox: Sandbox) -> None:
    async with steps_in(sandbox) as step:
        await step("kept = 1")
        flood = await step(
            "while True:\n    try:\n        print('x' * 1000)\n    except Exception:\n        pass"
        )
        assert (flood.error_type, flood.stdout[64 << 10 :][:3]) == ("OutputFlood", "… (")
        assert await step.result("kept") == 1
        assert (await step("print('y')")).stdout == "y\n"


HOSTILE = (
    "import os\nwhile True: os.write(1, b'x' * 100_000)",
    "kept = []\nwhile True: kept.append(bytearray(1 << 20))",
    "import os\nos._exit(0)",
    "while True: pass",
    "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "import os\nos.fork()",
    "import os\nos.kill(-1, 9)",
    "import os\nos.closerange(3, 200)",
    "import os\nwhile True: os.write(3, b'A\\0\\0\\0\\1x')",
    "import threading\nwhile True: threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()",
    "def f(): f()\nf()",
)
FORGING = (
    "ask('session.next', {})",
    "ask('session.next', {'piece': '[]', 'more': False})",
    "while True: ask('session.next', {'piece': 'x' * 900_000, 'more': True})",
    "ask('session.next', {'piece': 'x' * 2_000_000, 'more': True})",
    "ask('x' * 900_000, {})",
    "ask('tools.call', {'name': 'x'})",
    "ask('secret', {'name': 'x'})",
    "for _ in range(3): ask('session.next', {'piece': '{\"value\": {}}', 'more': False})",
    """import threading
for _ in range(9): threading.Thread(target=ask, args=('session.next', {'piece': '', 'more': False})).start()""",
    "vars(sys.modules['tool']).clear()",
    "sys.modules['alita_tool']._ask = None\nsys.stdout = None\n1 / 0",
    "import builtins, json\njson.dumps = builtins.len = None",
)


async def test_a_hostile_step_harms_its_own_session_at_most(sandbox: Sandbox) -> None:
    async with steps_in(sandbox, SHORT) as step:
        await step("1", "other")
        for number, code in enumerate(HOSTILE, 2):
            run = await step.heard(code)
            assert isinstance(run, CodeRun), run
            assert not run.ok or "while True" not in code, (code, run)
            assert (await step("1", "other")).step == number
            await step.heard("import os\nos._exit(0)")  # half dead, it would end later
            await step.assert_well()


SEARCH = """
import gc, os, sys
needle = half + other
found = []
def is_it(value):
    return type(value) is str and value == needle
for thing in gc.get_objects():
    if isinstance(thing, dict):
        found += [name for name, value in list(thing.items()) if is_it(value) and name != 'needle']
for name, module in list(sys.modules.items()):
    found += [name for value in list(vars(module).values()) if is_it(value) and name != '__main__']
for top in ('/tmp', '/dev/shm', '/var/tmp', '/proc', '.'):
    for folder, folders, files in os.walk(top):
        if folder.count('/') > 3 or folder.startswith('/proc/self') or folder.startswith('/proc/thread-self'):
            folders.clear()
        for name in files:
            if folder.startswith('/proc') and name not in ('environ', 'cmdline', 'comm'):
                continue
            try:
                with open(os.path.join(folder, name), 'rb') as file:
                    if needle.encode() in file.read(1 << 20):
                        found.append(os.path.join(folder, name))
            except OSError:
                pass
found
"""


async def test_no_session_finds_anything_of_another_one(sandbox: Sandbox) -> None:
    async with steps_in(sandbox) as step:
        hide = (
            "import builtins, os, sys\nsecret = builtins.secret = sys.secret = half + other\n"
            "os.environ['SECRET'] = secret\nopen('secret.txt', 'w').write(secret)\nNone"
        )
        halves = {"half": "hunter2-", "other": "forty-two"}
        assert (await step(hide, "one", **halves)).ok
        assert await step.result(SEARCH, "two", **halves) == []
        seen = await step.result(SEARCH, "one", **halves)  # the search finds what is there
        assert "secret" in seen
        assert any(name.endswith("secret.txt") for name in seen)
