"""The flows over opened parts: run, prove again elsewhere, inspect, manage; and that opening costs nothing."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.agent.values import TaskEvent, TaskRequest
from alita_mcp.app import App, open_app
from alita_mcp.errors import (
    InvalidArguments,
    SandboxError,
    SandboxRefused,
    ToolNotFound,
    ToolQuarantined,
    ToolUnavailable,
    UsageError,
)
from alita_mcp.models.interface import Completion, ToolCall
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.owners import USER
from alita_mcp.sandbox.interface import Environment, Job, Progress, RunResult
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import FixedLimits, Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Rejected, Working
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.values import Lock
from tests.scripted_sandbox import ScriptedSandbox

CODE = '''def halve(number: int) -> float:
    """Halves a number.

    Args:
        number: Even or odd.

    Raises:
        ValueError: It is negative.
    """
    if number < 0:
        raise ValueError("negative")
    return number / 2
'''
HALVE: dict[str, Any] = {
    "name": "halve",
    "description": "Halves a number.",
    "code": CODE,
    "tests": [
        {"arguments": {"number": 4}, "expected": 2.0},
        {"arguments": {"number": 0}, "expected": 0.0},
        {"arguments": {"number": -1}, "raises": "ValueError"},
    ],
}


class LockingSandbox(ScriptedSandbox):
    """Resolves to locks of its own kind, and takes no others."""

    def __init__(self, answer: Callable[[Job], RunResult], kind: str) -> None:
        super().__init__(answer, kind)
        self.prepared: list[Lock] = []

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        return (await super().resolve(packages, progress)).model_copy(update={"python": self.kind})

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        self.prepared.append(lock)
        if lock.python != self.kind:
            raise SandboxRefused(f"this lock is for {lock.python}")
        return await super().prepare(lock, progress)


async def heard(_event: TaskEvent) -> None:
    """Somebody listens."""


async def silent(_stage: str) -> None:
    return None


@pytest.fixture(scope="module")
def with_halve(tmp_path_factory: pytest.TempPathFactory, stocked: Path) -> Path:
    """A home with `halve`, which takes seconds to make, to be copied."""
    settings = Settings(home=shutil.copytree(stocked, tmp_path_factory.mktemp("halve") / "home"))

    async def publish() -> None:
        async with open_app(settings, admit=lambda _manifest: (), sandbox=WasmSandbox(settings)) as app:
            await make(app)

    with ThreadPoolExecutor(1) as elsewhere:  # a loop may be running in this thread
        elsewhere.submit(anyio.run, publish).result(120)
    return settings.home


@pytest.fixture
def home(tmp_path: Path, with_halve: Path) -> Path:
    return shutil.copytree(with_halve, tmp_path / "home")


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[App]:
    async with open_app(settings, admit=lambda _manifest: (), sandbox=WasmSandbox(settings)) as opened:
        yield opened


async def make(app: App, **changes: Any) -> Created:
    with anyio.fail_after(120):
        outcome = await app.synthesize(read_request({**HALVE, **changes}), silent)
    assert isinstance(outcome, Created), outcome
    return outcome


@pytest.mark.slow
async def test_a_published_tool_runs_and_its_use_is_counted(app: App) -> None:
    answer = await app.run_tool("halve", {"number": 7})
    assert (answer.structured_content, answer.sandbox) == ({"result": 3.5}, "wasm")
    failed = await app.run_tool("halve", {"number": -7})
    assert (failed.result.status, failed.result.error_type, failed.structured_content) == (
        "error",
        "ValueError",
        None,
    )
    await app.library.settle()
    entry = app.library.entry("halve")
    assert (entry.calls, entry.failures) == (2, 1)


async def test_what_cannot_run_says_why(app: App) -> None:
    with pytest.raises(ToolNotFound) as unknown:
        await app.run_tool("halv", {})
    assert unknown.value.nearest[0] == "halve"
    with pytest.raises(ToolNotFound):
        await app.run_tool("halve", {"number": 1}, version=9)
    with pytest.raises(InvalidArguments, match="number"):
        await app.run_tool("halve", {"number": "four"})
    await app.library.disable("halve")
    with pytest.raises(ToolUnavailable, match="enable"):
        await app.run_tool("halve", {"number": 1})


@pytest.mark.slow
async def test_a_tool_is_proved_again_before_it_first_runs_under_another_sandbox(settings: Settings) -> None:
    def answer(job: Job) -> RunResult:
        if job.arguments["number"] < 0:
            return RunResult(status="error", error_type="ValueError", message="negative")
        return RunResult(status="ok", value=job.arguments["number"] / 2)

    elsewhere = ScriptedSandbox(answer, kind="elsewhere")
    async with open_app(settings, admit=lambda _manifest: (), sandbox=elsewhere) as other:
        async with anyio.create_task_group() as callers:
            for number in (7_001, 7_002):
                callers.start_soon(other.run_tool, "halve", {"number": number})
        ran = len(elsewhere.jobs)
        assert other.library.tools.sandboxes_of("halve", 1) == ("elsewhere", "wasm")
        assert [job.arguments for job in elsewhere.jobs].count({"number": 7_001}) == 1
        await other.run_tool("halve", {"number": 30})
        assert len(elsewhere.jobs) == ran + 1


@pytest.mark.slow
async def test_packages_are_locked_for_each_kind_of_sandbox_apart(settings: Settings) -> None:
    def answer(job: Job) -> RunResult:
        if job.arguments["number"] < 0:
            return RunResult(status="error", error_type="ValueError", message="negative")
        return RunResult(status="ok", value=job.arguments["number"] / 2)

    def opened(kind: str) -> tuple[LockingSandbox, Any]:
        box = LockingSandbox(answer, kind=kind)
        return box, open_app(settings, admit=lambda _manifest: (), sandbox=box)

    _, first = opened("old")
    async with first as app:
        await make(app, packages=["attrs"], update=True)
        await app.run_tool("halve", {"number": 10})
    for number in (10, 12):
        new, second = opened("new")
        async with second as app:
            await app.run_tool("halve", {"number": number})
        assert {lock.python for lock in new.prepared} == {"new"}


async def test_a_tool_that_fails_its_gates_under_another_sandbox_is_not_called_there(
    app: App, settings: Settings
) -> None:
    wrong = ScriptedSandbox(lambda _job: RunResult(status="ok", value=1.0), kind="elsewhere")
    async with open_app(settings, admit=lambda _manifest: (), sandbox=wrong) as other:
        with pytest.raises(ToolUnavailable, match="fails its gates in the elsewhere sandbox"):
            await other.run_tool("halve", {"number": 99})
    assert {"number": 99} not in [job.arguments for job in wrong.jobs]
    assert app.library.tools.sandboxes_of("halve", 1) == ("wasm",)


async def test_a_result_that_breaks_its_own_schema_is_the_tools_failure(settings: Settings) -> None:
    def answer(job: Job) -> RunResult:
        return RunResult(
            status="ok", value="many" if job.arguments["number"] == 5 else job.arguments["number"] / 2
        )

    async with open_app(
        settings, admit=lambda _manifest: (), sandbox=ScriptedSandbox(answer, kind="wasm")
    ) as other:
        answered = await other.run_tool("halve", {"number": 5})
    assert answered.result.status == "bad_result"


async def test_an_edited_file_is_quarantined_and_never_runs(app: App) -> None:
    file = app.library.home / "generated_tools" / "halve" / "v1" / "tool.py"
    file.chmod(0o644)
    file.write_text(CODE.replace("number / 2", "number / 3"))
    with pytest.raises(ToolQuarantined, match="halve"):
        await app.run_tool("halve", {"number": 9})
    assert "halve" not in [entry.name for entry in app.visible_tools()]
    with pytest.raises(ToolUnavailable):
        await app.run_tool("halve", {"number": 9})


@pytest.mark.slow
async def test_the_evidence_card_and_the_source(app: App) -> None:
    card = await app.inspect_tool("halve")
    assert card["manifest"]["name"] == "halve"
    assert card["report"]["examples_passed"] == 3
    assert "source" not in card
    full = await app.inspect_tool("halve", source=True)
    assert full["source"] == CODE
    assert full["tests"] == HALVE["tests"]


@pytest.mark.slow
async def test_a_slow_synthesis_becomes_a_job(settings: Settings) -> None:
    impatient = settings.model_copy(update={"limits": FixedLimits(answer_within_s=0.001)})
    async with open_app(impatient, admit=lambda _manifest: (), sandbox=WasmSandbox(settings)) as other:
        again = {**HALVE, "name": "half_of", "code": CODE.replace("halve(", "half_of(")}
        outcome = await other.synthesize(read_request(again), silent)
        assert isinstance(outcome, Working)
        with anyio.fail_after(60):
            while isinstance(outcome, Working):
                job = await other.jobs.find_job(outcome.job_id, owner=USER)
                outcome = await other.wait_for_job(job, silent)
        assert not isinstance(outcome, Rejected), outcome


async def test_a_failing_sandbox_is_never_reported_as_a_failing_tool(app: App, settings: Settings) -> None:
    def broken(_job: Job) -> RunResult:
        raise SandboxError("the engine went away")

    async with open_app(
        settings, admit=lambda _manifest: (), sandbox=ScriptedSandbox(broken, kind="wasm")
    ) as other:
        with pytest.raises(SandboxError, match="went away"):
            await other.run_tool("halve", {"number": 2})
        with pytest.raises(SandboxError, match="went away"):
            await other.synthesize(
                read_request({**HALVE, "name": "halve_too", "code": CODE.replace("halve(", "halve_too(")}),
                silent,
            )
    assert app.library.entry("halve").failures == 0


@pytest.mark.slow
async def test_the_agent_solves_a_task_with_the_librarys_tools(settings: Settings) -> None:
    def asks(name: str, /, **arguments: Any) -> Completion:
        return Completion(text="", model="s", calls=(ToolCall(id="a", name=name, arguments=arguments),))

    model = ScriptedModel(
        [
            asks("search_capabilities", query="halve a number"),
            asks("halve", number=84),
            asks("halve", number=-1),
            asks("read_page", url="http://127.0.0.1/"),
            asks("build_tool", description="something impossible", reason="none"),
            "no specification",
            "none again",
            asks("finish", answer="42", solved=True),
        ]
    )
    box = WasmSandbox(settings)
    plain = settings.model_copy(update={"limits": FixedLimits(task_plans=0)})
    async with open_app(plain, admit=lambda _manifest: (), sandbox=box, model=model) as app:
        solution = await app.tasks.solve(TaskRequest(task="Halve 84."), heard)
        assert (await app.tasks.runs_of(USER).solution(solution.run)) == solution
    assert (solution.answer, solution.solved) == ("42", True)
    seen = [step.observation for step in solution.steps]
    assert "halve" in seen[0]
    assert "42" in seen[1]
    assert "ValueError" in seen[2]
    assert "may not be read" in seen[3]
    assert "no readable" in seen[4]


async def test_solving_without_a_model_says_what_to_set(app: App) -> None:
    with pytest.raises(UsageError, match="ALITA_MODEL"):
        await app.tasks.solve(TaskRequest(task="x"), heard)
    with pytest.raises(UsageError, match="ALITA_MODEL"):
        await app.tasks.begin_task(TaskRequest(task="x"))


async def test_opening_touches_no_sandbox(settings: Settings) -> None:
    nowhere = settings.model_copy(update={"sandbox": "no.such.module:Class"})
    async with open_app(nowhere, admit=lambda _manifest: ()) as opened:
        assert (await opened.search_tools("unladen swallow", 3)).fit == "none"
        assert opened.sandbox.kind == "unchosen"


async def test_a_server_warns_of_settings_that_are_ignored(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ALITA_TAVILY_KEY", "tvly-0123456789")
    box = ScriptedSandbox(lambda _job: RunResult(status="ok"))
    async with open_app(settings, admit=lambda _manifest: (), sandbox=box, serves=True):
        pass
    assert "ALITA_TAVILY_KEY is not a setting and is ignored: did you mean TAVILY_API_KEY?" in caplog.text
    assert "tvly" not in caplog.text
