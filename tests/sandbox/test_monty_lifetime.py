"""Workers of the embedded sandbox end with the call, with the sandbox and with the process that started them."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import anyio
import psutil
import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.monty import MontySandbox
from alita_mcp.sandbox.monty_guard import Guard
from alita_mcp.sandbox.seam import Job
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests.living import alive
from tests.sandbox.interpreters import interpreters

LOOP = Job(
    code="def tool():\n    while True:\n        pass",
    function="tool",
    arguments={},
    limits=Limits(wall_seconds=600, cpu_seconds=600),
)
ONE = Job(code="def tool():\n    return 1", function="tool", arguments={})


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(180):
        while not holds():  # noqa: ASYNC110 - processes outside this one set no events
            await anyio.sleep(0.02)


async def test_a_cancelled_call_is_dead_at_once_and_the_pool_goes_on(settings: Settings) -> None:
    sandbox = MontySandbox(settings)
    with anyio.fail_after(180):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sandbox.run, LOOP)
            await until(lambda: len(interpreters()) == 1)
            await anyio.sleep(0.1)
            busy = interpreters()[0]
            tasks.cancel_scope.cancel()
        await until(lambda: not alive(busy))
        assert (await sandbox.run(ONE)).value == 1
        await sandbox.aclose()


async def test_closing_ends_all_processes(settings: Settings) -> None:
    sandbox = MontySandbox(settings)
    before = {process.pid for process in psutil.Process().children()}
    with anyio.fail_after(180):
        assert (await sandbox.run(ONE)).ok
        assert interpreters()
        await sandbox.aclose()
    assert interpreters() == []
    await until(lambda: {process.pid for process in psutil.Process().children()} <= before)


async def test_calls_run_side_by_side_up_to_the_limit(settings: Settings) -> None:
    sandbox = MontySandbox(settings.model_copy(update={"max_workers": 2}))
    results = []

    async def call() -> None:
        results.append((await sandbox.run(ONE)).value)

    with anyio.fail_after(180):
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(call)
        assert results == [1] * 20
        assert len(interpreters()) <= 2
        await sandbox.aclose()


async def test_a_worker_killed_from_outside_is_a_crash_and_is_replaced(settings: Settings) -> None:
    sandbox = MontySandbox(settings)
    results = []

    async def call() -> None:
        results.append(await sandbox.run(LOOP))

    with anyio.fail_after(180):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await until(lambda: len(interpreters()) == 1)
            await anyio.sleep(0.2)
            interpreters()[0].kill()
        assert results[0].status == "crashed"
        assert (await sandbox.run(ONE)).ok
        await sandbox.aclose()


HOST = """
import anyio
from alita_mcp.sandbox.monty import MontySandbox
from alita_mcp.sandbox.seam import Job
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests.sandbox.interpreters import interpreters

async def main():
    sandbox = MontySandbox(Settings())
    idle = Job(code="def tool():\\n    return 1", function="tool", arguments={})
    busy = Job(code="def tool():\\n    while True:\\n        pass", function="tool", arguments={},
               limits=Limits(wall_seconds=600, cpu_seconds=600))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sandbox.run, busy)
        await sandbox.run(idle)
        print("ready", flush=True)

anyio.run(main)
"""


@pytest.mark.process
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_no_worker_survives_the_process_that_started_it(end: signal.Signals) -> None:
    with anyio.fail_after(180):
        async with await anyio.open_process([sys.executable, "-c", HOST]) as host:
            assert host.stdout is not None
            assert (await host.stdout.receive()).startswith(b"ready")
            started = psutil.Process(host.pid).children(recursive=True)
            assert len(started) >= 2
            host.send_signal(end)
            await until(lambda: not any(map(alive, started)))


async def test_a_guard_that_was_killed_is_replaced() -> None:
    guard, others = Guard(), set(psutil.Process().children())
    with anyio.fail_after(180):
        await guard.watch(999_999_999)
        (guard_process,) = set(psutil.Process().children()) - others
        guard_process.kill()
        await until(lambda: not alive(guard_process))
        for _ in range(3):  # the first write into a broken pipe may go unnoticed
            await guard.watch(999_999_999)
            await guard.forget(999_999_999)
        await guard.aclose()
        await guard.aclose()


@pytest.mark.parametrize("program", ["/nowhere/monty", sys.executable])
async def test_an_interpreter_that_does_not_start_is_the_sandboxs_failure(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setenv("MONTY_BIN", program)
    sandbox = MontySandbox(settings)
    with anyio.fail_after(180), pytest.raises(SandboxError, match="interpreter"):
        await sandbox.run(ONE)
    report = await sandbox.probe()
    await sandbox.aclose()

    assert not report.isolates
    assert "interpreter" in report.probes[0].detail
    assert report.hint == "pip install --force-reinstall pydantic-monty"


async def test_without_a_guard_nothing_runs(settings: Settings, tmp_path: object) -> None:
    sandbox = MontySandbox(settings)
    sandbox._guard = Guard(python=f"{tmp_path}/no-such-python")

    with anyio.fail_after(180), pytest.raises(SandboxError, match="guard"):
        await sandbox.run(ONE)
    await sandbox.aclose()
