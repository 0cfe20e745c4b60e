"""Runs of code that outlast a call, that are given up, and that come in floods."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from alita_mcp.errors import SandboxBusy
from alita_mcp.owners import USER
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.settings import FixedLimits
from alita_mcp.toolsmith.jobs import jobs
from tests.scripted_sandbox import ScriptedSandbox
from tests.server.in_memory import (
    Build,
    called,
    connected,
    refused,
    succeeded,
    text_of,
)  # fmt: skip

DONE = RunResult(status="ok", value={"kind": "json", "value": 7, "error": None}, wall_seconds=0.001)


class Held(ScriptedSandbox):
    """Runs nothing until it is let go; counts what waits and what was cancelled."""

    def __init__(self) -> None:
        super().__init__(lambda _job: DONE)
        self.may_end = anyio.Event()
        self.waiting = self.cancelled = 0

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        self.waiting += 1
        try:
            await self.may_end.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1
        return await super().run(job, broker)


async def until(claim: Any) -> None:
    with anyio.fail_after(30):
        while not claim():  # noqa: ASYNC110 - what is waited for has no event
            await anyio.sleep(0.001)


async def test_a_run_that_outlasts_its_call_is_a_job(build: Build, era: str) -> None:
    box = Held()
    async with connected(
        build(sandbox=box, settings={"limits": FixedLimits(answer_within_s=0.05)}), era
    ) as client:
        told = await succeeded(client, "run_code", code="7")
        assert told["status"] == "working"
        assert told["next"] == "call run_code with this job_id"
        job = told["job_id"]
        assert (await succeeded(client, "run_code", job_id=job))["status"] == "working"
        box.may_end.set()
        while (told := await succeeded(client, "run_code", job_id=job))["status"] == "working":  # noqa: ASYNC110
            await anyio.sleep(0.01)
        assert (told["status"], told["result"]) == ("ok", 7)
        assert len(box.jobs) == 1


async def test_job_ids_go_alone_and_to_the_tool_that_gave_them(build: Build) -> None:
    box = Held()
    async with connected(
        build(sandbox=box, settings={"limits": FixedLimits(answer_within_s=0.05)}), "modern"
    ) as client:
        job = (await succeeded(client, "run_code", code="7"))["job_id"]
        assert "Leave out the other fields" in await refused(client, "run_code", code="7", job_id=job)
        assert "is a job of run_code" in await refused(client, "synthesize_tool", job_id=job)
        assert "There is no job" in await refused(client, "run_code", job_id="x" * 30)
        box.may_end.set()


@pytest.mark.slow
async def test_a_flood_of_runs_is_answered_busy_and_leaves_room_for_tools(build: Build) -> None:
    box, told = Held(), []
    async with connected(build(sandbox=box), "modern") as client:

        async def ask(number: int) -> None:
            told.append(await called(client, "run_code", code=str(number)))

        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(ask, number)
            await until(lambda: len(told) + box.waiting == 200)
            assert box.waiting == 133  # five at once, and half of the queue of 256
            assert {each.structured_content["status"] for each in told} == {"busy"}
            assert all("under way" in text_of(each) for each in told)
            box.may_end.set()
        assert sum(not each.is_error for each in told) == 133


async def test_jobs_of_runs_are_bounded_and_forgotten_once_heard() -> None:
    async with jobs.open_jobs() as board:
        ends = anyio.Event()

        async def work(_enter: Any) -> int:
            await ends.wait()
            return 7

        first = board.start(work, owner=USER, tool="run_code")
        for _ in range(jobs.MAX_RUNS - 1):
            board.start(work, owner=USER, tool="run_code")
        with pytest.raises(SandboxBusy, match="256 runs of code"):
            board.start(work, owner=USER, tool="run_code")
        ends.set()
        assert await board.wait_for_outcome(first, 10, _silent) == 7
        with pytest.raises(Exception, match="There is no job"):
            await board.find_job(first.id, "run_code", owner=USER)
        await anyio.lowlevel.checkpoint()
        board.start(work, owner=USER, tool="run_code")
        assert len(board._jobs) <= jobs.KEPT_RUNS + 1


async def _silent(_stage: str) -> None:
    return None
