"""What a first call would wait for is done before, in nobody's way, once for all that wait, and never twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from alita_mcp.app import App, open_app, preparation
from alita_mcp.errors import SandboxError
from alita_mcp.progress import ignore_stage
from alita_mcp.sandbox.code_on_call import RUN_VARIANT
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.settings import Settings
from tests.in_process import InProcessSandbox
from tests.scripted_sandbox import ScriptedSandbox

KIND = "elsewhere"
PURE = ("business_days", "calculate", "convert_units", "csv_query", "csv_to_records", "text_statistics")
"""The starter tools that can be called in a new library."""


class Elsewhere(InProcessSandbox):
    """A kind of sandbox that no starter tool was proved in; holds the calls of one tool until told to go on."""

    def __init__(self, held: str = "") -> None:
        super().__init__(kind=KIND)
        self.held = held
        self.arrived = anyio.Event()
        self.released = anyio.Event()
        self.at_once = self.most_at_once = 0

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if job.function == self.held:
                self.arrived.set()
                await self.released.wait()
            await anyio.lowlevel.checkpoint()
            return await super().run(job, broker)
        finally:
            self.at_once -= 1


@pytest.fixture(autouse=True)
def begins_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "BEGINS_AFTER_S", 0.0)


@asynccontextmanager
async def serving(
    settings: Settings, sandbox: ScriptedSandbox, *, prepare: bool = True
) -> AsyncIterator[App]:
    changed = settings.model_copy(update={"prepare": prepare})
    with anyio.fail_after(120):
        async with open_app(changed, admit=lambda _manifest: (), sandbox=sandbox, serves=True) as app:
            yield app


def proved(app: App) -> tuple[str, ...]:
    return tuple(name for name in PURE if KIND in app.library.entry(name).sandboxes)


async def until_proved(app: App, *names: str) -> None:
    while not set(names) <= {*proved(app)}:  # noqa: ASYNC110 - the library tells nobody of evidence
        await anyio.sleep(0.01)


async def test_a_server_proves_the_starter_tools_that_can_be_called_one_case_at_a_time(
    settings: Settings,
) -> None:
    box = Elsewhere()
    async with serving(settings, box) as app:
        await until_proved(app, *PURE)
        others = {entry.name for entry in app.library.tools.entries()} - {*PURE}
        assert all(KIND not in app.library.entry(name).sandboxes for name in others)
    assert box.most_at_once == 1
    assert all(job.function != RUN_VARIANT for job in box.jobs), "what the examples are worth is known"
    again = Elsewhere()
    async with serving(settings, again) as app:
        assert await app.preparation.prove_starters() == {}
    assert again.jobs == []


@pytest.mark.parametrize("tool", ["calculate", "text_statistics"])
async def test_a_call_joins_the_proof_of_its_tool_and_hears_how_far_it_is(
    settings: Settings, tool: str
) -> None:
    box = Elsewhere(held=tool)
    heard: list[str] = []

    async def hear(stage: str) -> None:
        heard.append(stage)
        box.released.set()

    async with serving(settings, box) as app:
        await box.arrived.wait()
        arguments = {"expression": "6*7"} if tool == "calculate" else {"text": "a"}
        async with app.preparation.report(ignore_stage):
            answer = await app.run_tool(tool, arguments, on_stage=hear)
        assert answer.result.ok
        stored = await app.library.read(tool)
        repeated = sum(each.raises is None for each in stored.examples)
        total = len(stored.examples) + repeated + 60
        assert heard[0] == f"proving {tool} for {KIND}, 0 of {total}"
        again = [job for job in box.jobs if job.code == stored.code and job.clock_offset_s]
        assert len(again) == repeated, "its gates ran once"


async def test_a_call_of_another_tool_waits_for_no_proof_and_the_next_proof_waits_for_it(
    settings: Settings,
) -> None:
    async with serving(settings, Elsewhere(), prepare=False) as app:
        assert (await app.run_tool("text_statistics", {"text": "a"})).result.ok
    box = Elsewhere(held="calculate")
    async with serving(settings, box) as app:
        await box.arrived.wait()
        assert (await app.run_tool("text_statistics", {"text": "a b"})).result.ok
        async with app.preparation.report(ignore_stage):
            box.released.set()
            await until_proved(app, "calculate")
            for _ in range(100):
                await anyio.lowlevel.checkpoint()
            assert "convert_units" not in {job.function for job in box.jobs}
        await until_proved(app, *PURE)


async def test_a_call_that_wants_a_tool_whose_background_proof_was_given_up_proves_it(
    settings: Settings,
) -> None:
    box = Elsewhere(held="calculate")
    async with serving(settings, box, prepare=False) as app:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app.preparation.run_in_background)
            await box.arrived.wait()
            tasks.cancel_scope.cancel()
        box.released.set()
        assert (await app.run_tool("calculate", {"expression": "6*7"})).result.ok


async def test_it_ends_with_the_server_in_the_middle_of_a_proof(settings: Settings) -> None:
    box = Elsewhere(held="calculate")
    async with serving(settings, box):
        await box.arrived.wait()
    assert (box.closed, box.at_once) == (True, 0)


async def test_nothing_is_prepared_where_the_settings_say_so(settings: Settings) -> None:
    box = Elsewhere()
    async with serving(settings, box, prepare=False):
        for _ in range(1_000):
            await anyio.lowlevel.checkpoint()
    assert box.jobs == []


async def test_a_tool_that_fails_is_passed_over_and_said(settings: Settings) -> None:
    class Wrong(Elsewhere):
        async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
            if job.function == "calculate":
                return RunResult(status="ok", value="wrong")
            return await super().run(job, broker)

    async with serving(settings, Wrong(), prepare=False) as app:
        found = await app.preparation.prove_starters()
        assert found.pop("calculate").startswith("'calculate' v1 fails its gates in the elsewhere sandbox: ")
        assert set(found.values()) == {""}
        assert proved(app) == tuple(name for name in PURE if name != "calculate")


async def test_a_sandbox_that_fails_ends_it_and_not_the_server(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_job: Job) -> RunResult:
        raise SandboxError("the engine went away")

    caplog.set_level("INFO")
    async with serving(settings, ScriptedSandbox(broken, KIND), prepare=False) as app:
        await app.preparation.run_in_background()
        assert "Not everything could be prepared: the engine went away" in caplog.text
