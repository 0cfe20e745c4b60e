"""Jobs outlive the call that started them, and leave nothing when they are cancelled."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.errors import Cancelled, SandboxError, UsageError
from alita_mcp.synthesis.jobs import MAX_RUNNING, OnStage, open_jobs
from alita_mcp.synthesis.outcomes import Exists, NeedsApproval, Outcome, Working

DONE = Exists(tool="adder", version=1, why="because")


async def nobody(_stage: str) -> None:
    return None


async def test_a_quick_job_answers_its_outcome() -> None:
    async def work(_enter: OnStage) -> Outcome:
        return DONE

    async with open_jobs() as jobs:
        assert await jobs.answer(jobs.start(work), 5, nobody) == DONE


async def test_a_long_job_answers_working_and_later_its_outcome() -> None:
    go = anyio.Event()

    async def work(enter: OnStage) -> Outcome:
        await enter("examples")
        await go.wait()
        return DONE

    with anyio.fail_after(30):
        async with open_jobs() as jobs:
            job = jobs.start(work)
            first = await jobs.answer(job, 0.05, nobody)
            assert isinstance(first, Working)
            assert (first.job_id, first.stage) == (job.id, "examples")
            go.set()
            assert await jobs.answer(jobs.find(first.job_id), 5, nobody) == DONE
            assert await jobs.answer(jobs.find(first.job_id), 5, nobody) == DONE


async def test_whoever_waits_hears_the_stages() -> None:
    heard: list[str] = []

    async def listen(stage: str) -> None:
        heard.append(stage)

    async def work(enter: OnStage) -> Outcome:
        for stage in ("static", "examples", "determinism"):
            await enter(stage)
        return NeedsApproval(tool="fetch", version=1, grants=("network",), how="ask")

    async with open_jobs() as jobs:
        await jobs.answer(jobs.start(work), 5, listen)
    assert heard == ["static", "examples", "determinism"]


async def test_cancelling_the_call_cancels_the_job_and_waits_for_its_clean_up() -> None:
    cleaned = anyio.Event()
    started = anyio.Event()

    async def work(_enter: OnStage) -> Outcome:
        try:
            started.set()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.05)
                cleaned.set()
        return DONE

    with anyio.fail_after(30):
        async with open_jobs() as jobs, anyio.create_task_group() as callers:
            job = jobs.start(work)
            callers.start_soon(jobs.answer, job, 60, nobody)
            await started.wait()
            callers.cancel_scope.cancel()
        assert cleaned.is_set()
        assert isinstance(job.failure, Cancelled)


@pytest.mark.parametrize("failure", [SandboxError("the engine went away"), ZeroDivisionError("ours")])
async def test_a_failure_reaches_everyone_who_asks(failure: Exception) -> None:
    async def work(_enter: OnStage) -> Outcome:
        raise failure

    async with open_jobs() as jobs:
        job = jobs.start(work)
        for _ in range(2):
            with pytest.raises(type(failure)):
                await jobs.answer(job, 5, nobody)


async def test_an_unknown_job_says_what_to_do() -> None:
    async with open_jobs() as jobs:
        with pytest.raises(UsageError, match="no job 'nope'"):
            jobs.find("nope")


async def test_there_is_a_bound_on_running_jobs() -> None:
    async def work(_enter: OnStage) -> Outcome:
        await anyio.sleep_forever()
        return DONE

    async with open_jobs() as jobs:
        for _ in range(MAX_RUNNING):
            jobs.start(work)
        with pytest.raises(UsageError, match="running already"):
            jobs.start(work)


async def test_closing_ends_what_still_runs() -> None:
    ended = anyio.Event()

    async def work(_enter: OnStage) -> Outcome:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return DONE

    with anyio.fail_after(30):
        async with open_jobs() as jobs:
            await jobs.answer(jobs.start(work), 0.05, nobody)
        assert ended.is_set()
