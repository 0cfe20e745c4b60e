"""The flow of a task over a real sandbox: files, its own rights, and an end that leaves nothing running."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
from alita_mcp.app import open_app
from alita_mcp.errors import Cancelled, UsageError
from alita_mcp.models.interface import Completion, ToolCall
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.owners import USER, ClientIdentity
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import FixedLimits, Settings

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def asks(name: str, /, **arguments: Any) -> Completion:
    return Completion(text="", model="s", calls=(ToolCall(id="a", name=name, arguments=arguments),))


async def heard(_event: TaskEvent) -> None:
    """Somebody listens."""


async def solved(settings: Settings, request: TaskRequest, *answers: Completion | str) -> Solution:
    plain = settings.model_copy(update={"limits": FixedLimits(task_plans=0)})
    model = ScriptedModel(answers)
    async with open_app(plain, admit=lambda _manifest: (), sandbox=WasmSandbox(plain), model=model) as app:
        return await app.tasks.solve(request, heard)


async def test_code_reads_the_files_of_the_task_and_changes_none_of_them(
    settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "data.csv").write_text("n\n1\n2\n39\n", encoding="utf-8")
    add = "sum(int(line) for line in open('given/data.csv').read().split()[1:])"
    write = "open('given/data.csv', 'w').write('forged'); open('new.txt', 'w').write('made'); 42"
    solution = await solved(
        settings,
        TaskRequest(task="What is the sum of given/data.csv?", files=(folder,)),
        asks("run_code", code=add, reason="once"),
        asks("run_code", code=write, reason="once"),
        asks("read_file", name="new.txt"),
        asks("run_code", code="import alita_tool\nalita_tool.read_text('given/data.csv')", reason="once"),
        asks("run_code", code="{1: 'a'}", reason="once"),
        asks("finish", answer="42", solved=True),
    )
    assert solution.solved
    assert '"files": ["new.txt"]' in solution.steps[1].observation
    assert "made" in solution.steps[2].observation
    assert "39" in solution.steps[3].observation
    assert "keys that are no text" in solution.steps[4].observation
    assert (folder / "data.csv").read_text(encoding="utf-8").startswith("n\n1")
    assert not (folder / "new.txt").exists()


async def test_a_task_of_a_client_that_may_make_no_tool_makes_none(settings: Settings) -> None:
    solution = await solved(
        settings,
        TaskRequest(task="Add.", makes_tools=False),
        asks("build_tool", description="Adds.", name="add_up", reason="again"),
        asks("finish", answer="no", solved=False),
    )
    assert not solution.steps[0].ok
    assert "may make no tools" in solution.steps[0].observation


async def test_code_of_a_task_without_files_reaches_none(settings: Settings) -> None:
    solution = await solved(
        settings,
        TaskRequest(task="Look."),
        asks("run_code", code="import alita_tool\nalita_tool.read_text('x')", reason="once"),
        asks("finish", answer="no", solved=False),
    )
    assert not solution.steps[0].ok
    assert "grant" in solution.steps[0].observation


async def test_a_job_is_a_run_that_is_stopped_with_it_and_the_sandbox_is_free_again(
    settings: Settings,
) -> None:
    plain = settings.model_copy(update={"limits": FixedLimits(task_plans=0)})

    async def silent(_stage: str) -> None:
        """Nobody listens."""

    model = ScriptedModel([asks("run_code", code="while True: pass", reason="once")])
    async with open_app(plain, admit=lambda _manifest: (), sandbox=WasmSandbox(plain), model=model) as app:
        began = anyio.Event()

        async def listen(stage: str) -> None:
            if "run_code" in stage:
                began.set()

        job = await app.tasks.begin_task(
            TaskRequest(task="Loop."), identity=ClientIdentity(client="a client")
        )
        job.listeners.append(listen)
        await began.wait()
        await app.jobs.cancel(job)
        with pytest.raises(Cancelled):
            await app.jobs.wait_for_outcome(job, 1, silent)
        stored = await app.tasks.runs_of(USER).solution(job.id)
        assert stored is not None
        assert (stored.stopped, stored.solved) == ("cancelled", False)
        with anyio.fail_after(60):
            assert (await app.run_tool("calculate", {"expression": "6*7"})).result.ok


async def test_a_file_that_is_not_there_ends_before_anything_is_asked(
    settings: Settings, tmp_path: Path
) -> None:
    model = ScriptedModel([])
    async with open_app(settings, admit=lambda _manifest: (), model=model) as app:
        with pytest.raises(UsageError, match="not a file or folder"):
            await app.tasks.solve(TaskRequest(task="x", files=(tmp_path / "none",)), heard)
    assert not model.asked


async def test_a_task_is_watched_with_its_plan_its_steps_and_how_it_ended(settings: Settings) -> None:
    plain = settings.model_copy(update={"limits": FixedLimits(task_plans=0)})
    model = ScriptedModel(
        [asks("run_code", code="6 * 7", reason="exact"), asks("finish", answer="42", solved=True)]
    )
    client = ClientIdentity(key="k", client="some-editor 2.1")
    async with open_app(plain, admit=lambda _manifest: (), sandbox=WasmSandbox(plain), model=model) as app:
        solution = await app.tasks.solve(TaskRequest(task="What is 6 * 7?"), heard, identity=client)
        code, task = app.activity.recent
    assert (task.id, task.kind, task.client, task.outcome) == (
        solution.run, "task", "some-editor 2.1", "solved",
    )  # fmt: skip
    assert task.text == "What is 6 * 7?"
    assert ("1. run_code", "passed", "exact") in [
        (step.stage, step.outcome, step.text) for step in task.steps
    ]
    told = (task.text, task.detail, task.steps)
    assert "42" not in str(told).replace(solution.run, "")
    assert (code.kind, code.client, code.outcome) == ("code", "some-editor 2.1", "ok")
