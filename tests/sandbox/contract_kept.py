"""What holds for back ends that keep workers between calls, as a suite: subclasses give `sandbox` and `left`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.interface import EgressPolicy, Job, RunResult
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.values import Grants, Limits

WAIT_SECONDS = 120
COUNTS = """
import os
CALLS = []
def f(path):
    CALLS.append(1)
    there = os.path.exists(path)
    with open(path, "w") as file:
        file.write("x")
    return [len(CALLS), there]
"""
SINGLE_USE = {
    "threads": "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n",
    "open files": "import tempfile\nFILE = tempfile.TemporaryFile()\n",
    "shared memory": "import mmap\nSHARED = mmap.mmap(-1, 4096)\n",
    "processes": "import subprocess\nCHILD = subprocess.Popen(['sleep', '600'])\n",
}
MESSAGES = {
    "open_files": (
        "def f():\n    held = []\n    while True:\n        held.append(open('/dev/null'))\n",
        {"open_files": 40}, "40 open files (open_files)",
    ),
    "file_size": (
        "def f():\n    with open('/tmp/x', 'wb') as file:\n        while True:\n            file.write(b'x' * 65536)\n",
        {"scratch_bytes": 1 << 20}, "1048576 bytes in one file (scratch_bytes)",
    ),
    "scratch_bytes": (
        "def f():\n    for n in range(99):\n        open(f'/tmp/{n}', 'wb').write(b'x' * 100_000)\n",
        {"scratch_bytes": 1 << 20}, "1048576 bytes in the scratch directory (scratch_bytes)",
    ),
    "scratch_files": (
        "def f():\n    for n in range(99):\n        open(f'/tmp/{n}', 'wb').close()\n    return 'it made them all'\n",
        {"scratch_files": 64}, "64 files and folders in the scratch directory (scratch_files)",
    ),
    "shared_memory": (
        "def f():\n    for n in range(99):\n        open(f'/dev/shm/{n}', 'wb').write(b'x' * (1 << 20))\n",
        {}, "16777216 bytes of shared memory",
    ),
    "threads": (
        "from threading import Timer\ndef f():\n    while True:\n        Timer(600, print).start()\n",
        {"processes": 12}, "12 processes and threads (processes)",
    ),
    "result_bytes": ("def f():\n    return 'x' * 5000\n", {"result_bytes": 4096}, "4096 (result_bytes)"),
    "json_depth": ("def f():\n    return [[[[1]]]]\n", {"json_depth": 3}, "3 (json_depth)"),
    "import": (
        "import time\ntime.sleep(600)\n", {"wall_seconds": 1}, "1 s (wall_seconds), while the module was imported"
    ),
}  # fmt: skip
"""Calls that hit a limit and words of their message, beyond the claims of `alita doctor --sandbox` about limits."""


DIES_BETWEEN_CALLS = """
import os, socket, time
receive, asked = socket.recv_fds, []
def recv_fds(*words):
    asked.append(1)
    found = receive(*words)
    if len(asked) == 2:
        time.sleep(0.3)
        os._exit(1)
    return found
socket.recv_fds = recv_fds
def f(n):
    return n
"""
"""Where a zygote is told of the second call's process, it is still there when the first call is over, and then ends."""


class Oracle:
    """A broker that echoes, refuses what says so, and counts."""

    egress_policy: EgressPolicy | None = None

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    async def answer(self, door: str, words: dict[str, Any]) -> Any:
        self.asked.append((door, words["prompt"]))
        if words["prompt"] == "refuse":
            raise PermissionError("not that")
        return words["prompt"].upper()


class KeptContract:
    """Subclasses give the fixtures `sandbox` and `left`."""

    absent_limits: Collection[str] = ()
    """Limits that bite otherwise or bound nothing in this back end."""

    async def test_calls_of_one_tool_share_a_worker_and_nothing_else(self, sandbox: IsolatedSandbox) -> None:
        values = [await value(sandbox, COUNTS, path="/tmp/trace") for _ in range(3)]
        assert values == [[1, False]] * 3
        assert (sandbox.figures().started, sandbox.figures().reused) == (1, 2)

    async def test_a_fresh_call_has_a_worker_of_its_own(self, sandbox: IsolatedSandbox) -> None:
        for _ in range(2):
            job = Job(code=COUNTS, function="f", arguments={"path": "/tmp/x"}, fresh=True)
            assert (await run(sandbox, job)).value == [1, False]
        assert (sandbox.figures().started, sandbox.figures().idle) == (2, 0)

    async def test_a_spare_worker_serves_the_first_call_of_any_tool_without_a_network(
        self, sandbox: IsolatedSandbox
    ) -> None:
        for _ in range(2):
            await sandbox.warm_up()
        connects = Job(
            code=COUNTS, function="f", arguments={"path": "/tmp/x"}, grants=Grants(network=("a.org",))
        )
        assert (await run(sandbox, connects, Oracle())).value == [1, False]
        assert sandbox.figures().started == 2
        assert [await value(sandbox, COUNTS, path="/tmp/trace") for _ in range(2)] == [[1, False]] * 2
        assert sandbox.figures().started == 2

    async def test_an_import_that_leaves_what_calls_would_share_gets_workers_of_one_call(
        self, sandbox: IsolatedSandbox
    ) -> None:
        for done, left_behind in enumerate(SINGLE_USE, 1):
            code = SINGLE_USE[left_behind] + "def f(n):\n    return n\n"
            assert [await value(sandbox, code, n=n) for n in range(2)] == [0, 1]
            assert sandbox.figures().started == 2 * done, left_behind

    async def test_a_call_whose_zygote_dies_before_it_begins_gets_another_worker(
        self, sandbox: IsolatedSandbox
    ) -> None:
        for n in range(3):
            assert await value(sandbox, DIES_BETWEEN_CALLS, n=n) == n

    async def test_libraries_that_would_start_threads_are_asked_not_to(
        self, sandbox: IsolatedSandbox
    ) -> None:
        code = "import os\nSEEN = os.environ.get('OPENBLAS_NUM_THREADS')\n"
        code += "def f():\n    return [SEEN, os.environ.get('OPENBLAS_NUM_THREADS')]\n"
        assert await value(sandbox, code) == ["1", None]

    @pytest.mark.parametrize("kind", ["files", "others"])
    async def test_who_hits_a_limit_is_told_which_and_how_large_it_is(
        self, sandbox: IsolatedSandbox, kind: str
    ) -> None:
        found: dict[str, str] = {}

        async def hit(limit: str) -> None:
            code, limits, message = MESSAGES[limit]
            result = await run(sandbox, Job(code=code, function="f", arguments={}, limits=Limits(**limits)))
            if result.ok or message not in result.message:
                found[limit] = str(result)

        async with anyio.create_task_group() as tasks:
            for limit in MESSAGES:
                if limit not in self.absent_limits and ("file" in limit or "scratch" in limit) == (
                    kind == "files"
                ):
                    tasks.start_soon(hit, limit)
        assert found == {}
        assert await value(sandbox, "def f():\n    return 1\n") == 1

    async def test_too_few_processes_for_the_sandbox_itself_are_refused(
        self, sandbox: IsolatedSandbox
    ) -> None:
        with pytest.raises(SandboxRefused, match="4 processes is too small"):
            await run(sandbox, Job(code="", function="f", arguments={}, limits=Limits(processes=4)))
        assert await value(sandbox, "def f():\n    return 1\n", limits=Limits(processes=5)) == 1

    async def test_large_arguments_and_results_go_through(self, sandbox: IsolatedSandbox) -> None:
        limits = Limits(result_bytes=8 << 20)
        text = "x" * (6 << 20)
        for _ in range(2):
            assert await value(sandbox, "def f(text):\n    return text\n", limits=limits, text=text) == text

    async def test_the_first_calls_time_holds_the_import_and_later_ones_do_not(
        self, sandbox: IsolatedSandbox
    ) -> None:
        code = "import time\ntime.sleep(1)\ndef f():\n    return 1\n"
        first, second = [await run(sandbox, Job(code=code, function="f", arguments={})) for _ in range(2)]
        assert first.wall_seconds >= 1 > second.wall_seconds

    async def test_what_an_import_prints_is_shown_only_when_it_fails(self, sandbox: IsolatedSandbox) -> None:
        code = "print('x' * 500_000)\ndef f():\n    print('called')\n"
        results = [await run(sandbox, Job(code=code, function="f", arguments={})) for _ in range(2)]
        assert [(result.status, result.stdout) for result in results] == [("ok", "called\n")] * 2
        failed = await run(sandbox, Job(code="print('here')\n1 / 0\n", function="f", arguments={}))
        assert (failed.status, failed.error_type, failed.stdout) == (
            "load_failed",
            "ZeroDivisionError",
            "here\n",
        )

    async def test_questions_are_answered_refused_and_counted(self, sandbox: IsolatedSandbox) -> None:
        code = """
import alita_tool
def f(prompts):
    answers = []
    for prompt in prompts:
        try:
            answers.append(alita_tool.complete(prompt))
        except Exception as refused:
            answers.append([type(refused).__name__, str(refused)])
    return answers
"""
        job = Job(
            code=code, function="f", arguments={"prompts": ["a", "refuse", "b", "c", "d"]},
            grants=Grants(model=True), limits=Limits(broker_calls=3),
        )  # fmt: skip
        for _ in range(2):
            oracle = Oracle()
            result = await run(sandbox, job, oracle)
            assert result.value[:3] == ["A", ["PermissionError", "not that"], "B"], result
            assert [name for name, _ in result.value[3:]] == ["RuntimeError"] * 2
            assert "3 times" in result.value[3][1]
            assert oracle.asked == [("complete", "a"), ("complete", "refuse"), ("complete", "b")]
        assert sandbox.figures().started == 1


async def run(sandbox: IsolatedSandbox, job: Job, broker: Oracle | None = None) -> RunResult:
    with anyio.fail_after(WAIT_SECONDS):
        return await sandbox.run(job, broker)


async def value(
    sandbox: IsolatedSandbox, code: str, limits: Limits = Limits(), **arguments: Any  # noqa: B008 - frozen
) -> Any:  # fmt: skip
    result = await run(sandbox, Job(code=code, function="f", arguments=arguments, limits=limits))
    assert result.ok, result
    return result.value
