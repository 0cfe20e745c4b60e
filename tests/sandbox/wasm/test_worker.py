"""The worker processes of the embedded sandbox, seen from outside: what they hold, what ends and what spares them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest

from alita_mcp.progress import ignore_stage
from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.sandbox.wasm.worker.linux import COMPLAINT_BYTES, OPEN_FILES
from alita_mcp.sandbox.wire.link import WorkerLost
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests.sandbox.leftovers import busy_host, nothing_left, wasm_leftovers

WAIT_SECONDS = 120
ADD = Job(code="def f(a, b):\n    return a + b\n", function="f", arguments={"a": 2, "b": 40})
WAITS = Job(code="import time\ndef f():\n    time.sleep(600)\n", function="f", arguments={})
BLOCKED = "import select\ndef f(seconds):\n    select.select([], [], [], seconds)\n    return seconds\n"
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def warm_workers() -> None:
    """None: these workers are started as they are for a user."""


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncIterator[WasmSandbox]:
    sandbox = WasmSandbox(settings)
    yield sandbox
    await sandbox.aclose()


async def worker_of(sandbox: WasmSandbox) -> psutil.Process:
    """The process of the only worker."""
    assert (await sandbox.run(ADD)).value == 42
    (number,) = wasm_leftovers(os.getpid())
    return psutil.Process(int(number))


def told(worker: psutil.Process, name: str) -> list[str]:
    """Lines that Linux tells of a process."""
    return Path(f"/proc/{worker.pid}/{name}").read_text().splitlines()


def open_files(worker: psutil.Process) -> dict[int, str]:
    return {int(entry.name): str(entry.readlink()) for entry in Path(f"/proc/{worker.pid}/fd").iterdir()}


def thread_filters(worker: psutil.Process) -> set[str]:
    threads = Path(f"/proc/{worker.pid}/task").iterdir()
    return {
        line
        for thread in threads
        for line in (thread / "status").read_text().splitlines()
        if "Seccomp:" in line
    }


@linux
async def test_a_worker_holds_three_pipes_and_the_compiled_file_and_no_variable(sandbox: WasmSandbox) -> None:
    with open("/etc/hostname") as inherited:  # noqa: PTH123, ASYNC230 - a descriptor that must not be inherited
        os.set_inheritable(inherited.fileno(), True)
        worker = await worker_of(sandbox)
    files = open_files(worker)
    assert {files.pop(number).partition(":")[0] for number in (0, 1)} <= {"pipe", "socket"}
    assert "deleted" in files.pop(2)
    (compiled,) = {name for name in files.values() if "anon_inode" not in name and ":[" not in name}
    assert compiled.endswith(".cwasm")
    assert told(worker, "environ") == []


@linux
async def test_a_worker_keeps_no_right_and_its_limits_are_tight(sandbox: WasmSandbox) -> None:
    worker = await worker_of(sandbox)
    status = dict(line.split(":\t", 1) for line in told(worker, "status") if ":\t" in line)
    assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
    assert {status[name] for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {"0" * 16}
    assert thread_filters(worker) == {"Seccomp:\t2"}
    limits = [line.split() for line in told(worker, "limits")]
    assert ["Max", "core", "file", "size", "0", "0", "bytes"] in limits
    assert ["Max", "open", "files", str(OPEN_FILES), str(OPEN_FILES), "files"] in limits
    assert ["Max", "file", "size", str(COMPLAINT_BYTES), str(COMPLAINT_BYTES), "bytes"] in limits
    if os.geteuid() == 0:
        assert "0" not in status["Uid"].split() + status["Gid"].split()
        assert status["Groups"].strip() == ""


@pytest.mark.slow
async def test_a_call_that_waits_for_the_host_is_ended_with_its_process(sandbox: WasmSandbox) -> None:
    worker = await worker_of(sandbox)
    limits = Limits(wall_seconds=1)
    with anyio.fail_after(WAIT_SECONDS):
        job = Job(code=BLOCKED, function="f", arguments={"seconds": 600}, limits=limits)
        result = await sandbox.run(job)
        assert (result.status, result.message) == ("timeout", "took more than 1 s (wall_seconds)")
        again = await sandbox.run(job.model_copy(update={"arguments": {"seconds": 0}}))
        assert (again.value, (await sandbox.run(ADD)).value) == (0, 42)
    assert worker.is_running(), "another tool's worker was ended, too"


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("sent", [signal.SIGABRT, signal.SIGKILL])
async def test_an_engine_that_aborts_ends_one_worker_and_its_call_only(
    sandbox: WasmSandbox, sent: int
) -> None:
    lost, others = [], []

    async def wait() -> None:
        with pytest.raises(WorkerLost) as end:
            await sandbox.run(WAITS)
        lost.append(end.value)

    async def add_on() -> None:
        while not lost:
            others.append((await sandbox.run(ADD)).value)

    bystander = await worker_of(sandbox)
    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            tasks.start_soon(add_on)
            while not (workers := set(wasm_leftovers(os.getpid())) - {str(bystander.pid)}):  # noqa: ASYNC110 - a process
                await anyio.sleep(0.01)
            os.kill(int(workers.pop()), sent)
        assert set(others) <= {42}
        assert (await sandbox.run(ADD)).value == 42
        assert (await sandbox.run(WAITS.model_copy(update={"code": "def f():\n    return 1\n"}))).value == 1
    assert bystander.is_running()


@pytest.mark.process
async def test_workers_that_are_busy_die_with_a_server_that_is_killed(tmp_path: Path) -> None:
    with anyio.fail_after(WAIT_SECONDS):
        async with await busy_host("wasm", tmp_path, workers=2) as host:
            assert len(wasm_leftovers(host.pid)) == 2
            host.kill()
        await nothing_left(wasm_leftovers, host.pid)


_OPENS = """
import sys
from pathlib import Path
from wasmtime import WasmtimeError
from alita_mcp.sandbox.wasm.worker.engine import Instances
from alita_mcp.sandbox.wasm.worker.features import BASE_BYTES

instances = Instances(Path(sys.argv[1]), lambda _name, _question: "")
for memory_bytes in (BASE_BYTES - (2 << 20), BASE_BYTES):
    try:
        instances.open_instance(memory_bytes, lambda _stream, _data: None)
        print("opens")
    except WasmtimeError:
        print("is too small")
"""


async def test_an_instance_begins_with_as_much_memory_as_limits_assume(sandbox: WasmSandbox) -> None:
    compiled = await sandbox.ready(ignore_stage)
    command = [sys.executable, "-c", _OPENS, str(compiled.path)]
    ran = await anyio.to_thread.run_sync(partial(subprocess.run, command, capture_output=True, text=True))
    assert ran.stdout.splitlines() == ["is too small", "opens"], ran.stderr
