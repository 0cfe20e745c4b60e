"""A model put to calibration tasks through the real litellm and in the embedded sandbox, whatever it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from alita_mcp.errors import ModelError, SandboxError
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.roles import RoleModels
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.synthesis.calibration.calibrating import Calibrating
from alita_mcp.synthesis.calibration.tasks import CalibrationTask, TaskSet, calibration_tasks
from alita_mcp.synthesis.model_records.records import ModelRecords
from alita_mcp.synthesis.model_records.result import TaskResult, counted
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from tests.models.openai_server import Answer, Fails, Reply, Request, openai_server
from tests.synthesis.calibrated import (
    TASKS,
    Calibrated,
    right_code,
    task_of,
    wrong_code,
    wrong_tests,
)

pytestmark = pytest.mark.slow
MODEL = "openai/scripted"
ONE = (TASKS["count_overlapping"],)
WAIT_S = 200


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")


@asynccontextmanager
async def calibrating(
    settings: Settings, sandbox: WasmSandbox, script: Answer, tasks: tuple[CalibrationTask, ...] = ONE
) -> AsyncIterator[Calibrating]:
    with openai_server(script) as (url, _asked):
        served = settings.model_copy(update={"model": MODEL, "model_base_url": url})
        role_models = RoleModels(served, patience=Patience(attempts=2, first_pause_s=0.01, max_pause_s=0.02))
        records = ModelRecords(settings.home)
        few = TaskSet(version="few", tasks=tasks)
        await records.begin(MODEL, few.version)
        with anyio.fail_after(WAIT_S):
            yield Calibrating(MODEL, role_models, Rehearsal(sandbox), records, few)


async def quiet(_said: str) -> None:
    return


async def result_of(settings: Settings, sandbox: WasmSandbox, script: Answer) -> TaskResult:
    async with calibrating(settings, sandbox, script) as work:
        await work.work(ONE, quiet)
    record = await work.records.of(MODEL)
    assert record is not None
    assert record.tasks == 1
    return TaskResult(
        right=bool(record.candidates.right),
        tests_right=int(record.tests.right),
        tests_wrong=int(record.tests.wrong),
        agreed=bool(record.misread.total),
    )


async def test_a_model_that_is_right_is_counted_as_right(settings: Settings, sandbox: WasmSandbox) -> None:
    found = await result_of(settings, sandbox, Calibrated())
    assert found == TaskResult(right=True, tests_right=6, tests_wrong=0, agreed=True)


async def test_a_wrong_module_that_passes_its_own_models_tests_is_a_misreading(
    settings: Settings, sandbox: WasmSandbox
) -> None:
    async with calibrating(settings, sandbox, Calibrated(wrong_code, misread_tests)) as work:
        await work.work(ONE, quiet)
    record = await work.records.of(MODEL)
    assert record is not None
    assert (record.candidates.wrong, record.misread.wrong, record.misread.right) == (1, 1, 0)
    assert (record.tests.right, record.tests.wrong) == (1, 2)


def misread_tests(task: CalibrationTask) -> Any:
    """As who thinks that places which overlap count once."""
    pairs = [({"text": "aaa", "part": "aa"}, 1), ({"text": "banana", "part": "ana"}, 1)]
    tests = [{"arguments": arguments, "expected": count} for arguments, count in pairs]
    return {"tests": [*tests, {"arguments": {"text": "abc", "part": "d"}, "expected": 0}]}


async def test_tests_that_contradict_the_reference_are_wrong_ones(
    settings: Settings, sandbox: WasmSandbox
) -> None:
    found = await result_of(settings, sandbox, Calibrated(tests=wrong_tests))
    assert found == TaskResult(right=True, tests_right=0, tests_wrong=6, agreed=False)


def module(*lines: str, before: str = "") -> Any:
    head = 'def count_overlapping(text: str, part: str) -> int:\n    """Counts."""\n'
    return {"code": before + head + "".join(f"    {line}\n" for line in lines)}


UNFIT: dict[str, Any] = {
    "is no JSON": "no JSON at all",
    "is broken JSON": '{"code": ',
    "does not parse": {"code": "def count_overlapping(text: str, part: str) -> int:\n    return ("},
    "acts when imported": {"code": "import os\nos.system('id')\n"},
    "loops": module("while True:", "    pass"),
    "prints megabytes": module("for _ in range(400):", '    print("x" * 100_000)', "return 1"),
    "reads files of the host": module('return len(open("/etc/passwd").read())'),
    "gives megabytes": module('return "x" * 5_000_000'),
    "equals everything": module(
        "return Anything()",
        before="class Anything:\n    def __eq__(self, other):\n        return True\n\n\n",
    ),
    "starts a process": module('return len(subprocess.check_output(["id"]))', before="import subprocess\n\n"),
    "brings a package from anywhere": {
        **right_code(TASKS["count_overlapping"]),
        "packages": ["https://127.0.0.1/evil.whl"],
    },
}


@pytest.mark.parametrize("what", UNFIT)
async def test_an_unfit_or_hostile_module_counts_as_wrong_and_breaks_nothing(
    settings: Settings, sandbox: WasmSandbox, what: str
) -> None:
    found = await result_of(settings, sandbox, Calibrated(code=lambda _task: UNFIT[what]))
    assert found == TaskResult(right=False, tests_right=6, tests_wrong=0, agreed=False)


def check(expression: str) -> Any:
    return {"tests": [{"arguments": {"text": "aaa", "part": "aa"}, "check": expression}]}


MANY = [{"arguments": {"text": str(number), "part": "0"}, "expected": 0} for number in range(1, 10)]


@pytest.mark.parametrize(
    ("tests", "right", "wrong"),
    [
        pytest.param("none", 0, 0, id="unreadable"),
        pytest.param({"tests": [{"arguments": {"text": 5}, "expected": 1}]}, 0, 0, id="other arguments"),
        pytest.param(check("__import__('os').system('id') == 0"), 0, 0, id="a check of something else"),
        pytest.param(check("open('/etc/passwd').read() and result"), 0, 1, id="a check that reaches out"),
        pytest.param({"tests": MANY * 100}, 9, 0, id="the same many times"),
    ],
)
async def test_tests_that_cannot_be_used_prove_nothing(
    settings: Settings, sandbox: WasmSandbox, tests: Any, right: int, wrong: int
) -> None:
    found = await result_of(settings, sandbox, Calibrated(tests=lambda _task: tests))
    assert found.right
    assert (found.tests_right, found.tests_wrong) == (right, wrong)
    assert found.agreed == bool(right)


async def test_one_unreadable_suite_leaves_the_other(settings: Settings, sandbox: WasmSandbox) -> None:
    whole = Calibrated()

    def half(request: Request) -> Reply:
        return "nothing" if "edge cases: empty" in request.text else whole(request)

    assert await result_of(settings, sandbox, half) == TaskResult(right=True, tests_right=6, agreed=True)


async def test_a_provider_that_fails_stops_the_work_and_what_is_done_is_kept(
    settings: Settings, sandbox: WasmSandbox
) -> None:
    tasks = calibration_tasks().tasks[:3]
    whole = Calibrated()

    def fails_at_the_second(request: Request) -> Reply:
        return Fails(401, message="no such key") if task_of(request) == tasks[1] else whole(request)

    async with calibrating(settings, sandbox, fails_at_the_second, tasks) as work:
        with pytest.raises(ModelError):
            await work.work(tasks, quiet)
    assert work.done == 1
    assert work.usage.calls > 3  # what failed was asked for as well
    assert await work.records.done(MODEL, "few") == {tasks[0].name}


async def test_a_run_that_is_stopped_goes_on_where_it_was(settings: Settings, sandbox: WasmSandbox) -> None:
    tasks, script = calibration_tasks().tasks[:3], Calibrated()
    async with calibrating(settings, sandbox, script, tasks) as work:
        with anyio.CancelScope() as scope:

            async def stop_after_two(said: str) -> None:
                if said.startswith("2/"):
                    scope.cancel()
                    await anyio.lowlevel.checkpoint()

            await work.work(tasks, stop_after_two)
        known = await work.records.done(MODEL, "few")
        assert known == {task.name for task in tasks[:2]}
        script.asked.clear()
        await work.work([task for task in tasks if task.name not in known], quiet)
    assert {name for _, name in script.asked} == {tasks[2].name}
    record = await work.records.of(MODEL)
    assert record is not None
    assert (record.tasks, record.candidates.right) == (3, 3)


async def test_a_failing_sandbox_is_not_the_models_fault(settings: Settings, sandbox: WasmSandbox) -> None:
    class Forgetful:
        """Says that every call runs out of time, as on a machine that is far too busy."""

        def __getattr__(self, name: str) -> Any:
            return getattr(sandbox, name)

        async def run(self, job: Job, broker: Any = None) -> RunResult:
            return RunResult(status="timeout")

    async with calibrating(settings, sandbox, Calibrated()) as work:
        work.rehearsal = Rehearsal(Forgetful())  # type: ignore[arg-type]
        with pytest.raises(SandboxError, match="count_overlapping"):
            await work.work(ONE, quiet)
    assert await work.records.done(MODEL, "few") == frozenset()


def test_counts_of_results() -> None:
    results = [
        TaskResult(right=True, tests_right=5, tests_wrong=1, agreed=True),
        TaskResult(right=False, tests_right=2, tests_wrong=4, agreed=True),
        TaskResult(right=False),
    ]
    counts = counted(results)
    assert (counts.tasks, counts.candidates.right, counts.candidates.wrong) == (3, 1, 2)
    assert (counts.tests.right, counts.tests.wrong) == (7, 5)
    assert (counts.misread.right, counts.misread.wrong) == (1, 1)
