"""Jobs outlive the call that started them, and leave nothing when they are cancelled."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from alita_mcp.errors import Cancelled, SandboxError, UsageError
from alita_mcp.owners import USER
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.jobs.jobs import (
    KEPT_FINISHED,
    MAX_LEFT,
    MAX_PARKED,
    MAX_QUEUED,
    Jobs,
    SynthesisJob,
    open_jobs,
)
from alita_mcp.toolsmith.jobs.person_questions import PendingQuestions
from alita_mcp.toolsmith.requests.outcomes import Exists, NeedsApproval, Outcome, Working

DONE = Exists(tool="adder", version=1, why="because")


async def nobody(_stage: str) -> None:
    return None


async def test_a_quick_job_answers_its_outcome() -> None:
    async def work(_enter: ReportStage) -> Outcome:
        return DONE

    async with open_jobs() as jobs:
        assert await jobs.wait_for_outcome(jobs.start(work), 5, nobody) == DONE


async def test_a_long_job_answers_working_and_later_its_outcome() -> None:
    go = anyio.Event()

    async def work(enter: ReportStage) -> Outcome:
        await enter("examples")
        await go.wait()
        return DONE

    with anyio.fail_after(120):
        async with open_jobs() as jobs:
            job = jobs.start(work)
            first = await jobs.wait_for_outcome(job, 0.05, nobody)
            assert isinstance(first, Working)
            assert (first.job_id, first.stage) == (job.id, "examples")
            go.set()
            assert (
                await jobs.wait_for_outcome(await jobs.find_job(first.job_id, owner=USER), 5, nobody) == DONE
            )
            assert (
                await jobs.wait_for_outcome(await jobs.find_job(first.job_id, owner=USER), 5, nobody) == DONE
            )


async def test_whoever_waits_hears_the_stages() -> None:
    heard: list[str] = []

    async def listen(stage: str) -> None:
        heard.append(stage)

    async def work(enter: ReportStage) -> Outcome:
        for stage in ("static", "examples", "determinism"):
            await enter(stage)
        return NeedsApproval(tool="fetch", version=1, grants=("network",), how="ask")

    async with open_jobs() as jobs:
        await jobs.wait_for_outcome(jobs.start(work), 5, listen)
    assert heard == ["static", "examples", "determinism"]


async def test_cancelling_the_call_cancels_the_job_and_waits_for_its_clean_up() -> None:
    cleaned = anyio.Event()
    started = anyio.Event()

    async def work(_enter: ReportStage) -> Outcome:
        try:
            started.set()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.05)
                cleaned.set()
        return DONE

    with anyio.fail_after(120):
        async with open_jobs() as jobs, anyio.create_task_group() as callers:
            job = jobs.start(work)
            callers.start_soon(jobs.wait_for_outcome, job, 60, nobody)
            await started.wait()
            callers.cancel_scope.cancel()
        assert cleaned.is_set()
        assert isinstance(job.failure, Cancelled)


@pytest.mark.parametrize("failure", [SandboxError("the engine went away"), ZeroDivisionError("ours")])
async def test_a_failure_reaches_everyone_who_asks(failure: Exception) -> None:
    async def work(_enter: ReportStage) -> Outcome:
        raise failure

    async with open_jobs() as jobs:
        job = jobs.start(work)
        for _ in range(2):
            with pytest.raises(type(failure)):
                await jobs.wait_for_outcome(job, 5, nobody)


async def test_an_unknown_job_says_what_to_do() -> None:
    async with open_jobs() as jobs:
        with pytest.raises(UsageError, match="no job 'nope'"):
            await jobs.find_job("nope", owner=USER)


async def test_so_many_run_at_once_and_the_rest_wait_their_turn() -> None:
    running: list[int] = []
    most: list[int] = []
    go = anyio.Event()

    async def work(enter: ReportStage) -> Outcome:
        running.append(1)
        most.append(len(running))
        await enter("examples")
        await go.wait()
        running.pop()
        return DONE

    with anyio.fail_after(120):
        async with open_jobs(2) as jobs:
            made = [jobs.start(work) for _ in range(5)]
            await jobs.wait_for_outcome(made[0], 0.05, nobody)
            assert [job.stage for job in made] == ["examples"] * 2 + ["queued"] * 3
            go.set()
            assert [await jobs.wait_for_outcome(job, 5, nobody) for job in made] == [DONE] * 5
    assert max(most) == 2


async def test_there_is_a_bound_on_waiting_jobs() -> None:
    async def work(_enter: ReportStage) -> Outcome:
        await anyio.sleep_forever()
        return DONE

    async with open_jobs(1) as jobs:
        for _ in range(MAX_QUEUED + 1):
            jobs.start(work)
        with pytest.raises(UsageError, match="Busy"):
            jobs.start(work)


async def test_asking_again_with_the_same_request_finds_the_running_job() -> None:
    started: list[int] = []
    go = anyio.Event()

    async def work(_enter: ReportStage) -> Outcome:
        started.append(1)
        await go.wait()
        return DONE

    with anyio.fail_after(120):
        async with open_jobs() as jobs:
            first = await jobs.wait_for_outcome(jobs.start(work, "a"), 0.05, nobody)
            again = await jobs.wait_for_outcome(jobs.start(work, "a"), 0.05, nobody)
            assert isinstance(first, Working)
            assert isinstance(again, Working)
            assert first.job_id == again.job_id
            assert jobs.start(work, "b").id != first.job_id
            go.set()
            assert (
                await jobs.wait_for_outcome(await jobs.find_job(first.job_id, owner=USER), 5, nobody) == DONE
            )
    assert started == [1, 1]


async def test_an_outcome_that_nobody_heard_is_told_once_and_then_the_work_is_done_anew() -> None:
    started: list[int] = []
    go = anyio.Event()

    async def work(_enter: ReportStage) -> Outcome:
        started.append(1)
        await go.wait()
        return DONE

    with anyio.fail_after(120):
        async with open_jobs() as jobs:
            job = jobs.start(work, "a")
            await jobs.wait_for_outcome(job, 0.05, nobody)
            go.set()
            await job.done.wait()
            assert await jobs.wait_for_outcome(jobs.start(work, "a"), 5, nobody) == DONE
            assert started == [1]
            assert await jobs.wait_for_outcome(jobs.start(work, "a"), 5, nobody) == DONE
    assert started == [1, 1]


async def test_a_caller_that_leaves_does_not_stop_a_job_that_another_waits_for() -> None:
    go = anyio.Event()
    heard: list[Outcome] = []

    async def work(_enter: ReportStage) -> Outcome:
        await go.wait()
        return DONE

    async def wait(jobs: Jobs) -> None:
        heard.append(await jobs.wait_for_outcome(jobs.start(work, "a"), 20, nobody))

    with anyio.fail_after(120):
        async with open_jobs() as jobs, anyio.create_task_group() as callers:
            callers.start_soon(wait, jobs)
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0.05):
                await jobs.wait_for_outcome(jobs.start(work, "a"), 20, nobody)
            go.set()
    assert heard == [DONE]


async def test_closing_ends_what_still_runs() -> None:
    ended = anyio.Event()

    async def work(_enter: ReportStage) -> Outcome:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return DONE

    with anyio.fail_after(120):
        async with open_jobs() as jobs:
            await jobs.wait_for_outcome(jobs.start(work), 0.05, nobody)
        assert ended.is_set()


async def test_jobs_that_wait_for_their_clients_take_no_turn_and_are_bounded() -> None:
    async def parked(_enter: ReportStage) -> Outcome:
        await anyio.sleep_forever()
        raise AssertionError

    async def work(_enter: ReportStage) -> Outcome:
        return DONE

    with anyio.fail_after(60):
        async with open_jobs(1) as jobs:
            for _ in range(MAX_PARKED):
                jobs.start(parked, person=PendingQuestions(60), parked=True)
            with pytest.raises(UsageError, match="waiting for people"):
                jobs.start(parked, person=PendingQuestions(60), parked=True)
            assert await jobs.wait_for_outcome(jobs.start(work), 30, nobody) == DONE


async def test_a_wait_can_end_early_and_leaves_the_job_to_go_on() -> None:
    go = anyio.Event()

    async def work(_enter: ReportStage) -> Outcome:
        await go.wait()
        return DONE

    with anyio.fail_after(60):
        async with open_jobs() as jobs:
            job = jobs.start(work)
            assert isinstance(
                await jobs.wait_for_outcome(job, 50, nobody, anyio.lowlevel.checkpoint), Working
            )
            go.set()
            assert await jobs.wait_for_outcome(job, 50, nobody, anyio.sleep_forever) == DONE


async def leaves() -> bool:
    return True


async def give_up(jobs: Jobs, job: SynthesisJob) -> None:
    """Waits for a job as a client does whose time-out passes."""
    await anyio.lowlevel.checkpoint()
    with anyio.move_on_after(0) as waiting:
        await jobs.wait_for_outcome(job, 60, nobody, None, leaves)
    assert waiting.cancelled_caught


async def test_a_caller_whose_time_is_over_leaves_the_job_and_finds_it_again() -> None:
    go = anyio.Event()

    async def work(_enter: ReportStage) -> Outcome:
        await go.wait()
        return DONE

    with anyio.fail_after(60):
        async with open_jobs() as jobs:
            job = jobs.start(work, "a")
            await give_up(jobs, job)
            assert jobs.start(work, "a") is job
            go.set()
            assert await jobs.wait_for_outcome(job, 50, nobody) == DONE


async def test_a_thousand_callers_that_give_up_leave_a_few_jobs() -> None:
    running: set[int] = set()

    async def work(_enter: ReportStage) -> Outcome:
        nonlocal begun
        begun += 1
        running.add(token := begun)
        try:
            await anyio.sleep_forever()
        finally:
            running.discard(token)
        raise AssertionError

    begun = 0
    with anyio.fail_after(60):
        async with open_jobs(1_000) as jobs:
            made = []
            for number in range(1_000):
                made.append(jobs.start(work, f"request {number}"))
                await give_up(jobs, made[-1])
            await anyio.wait_all_tasks_blocked()
            assert begun == 1_000
            assert len(running) == MAX_LEFT
            assert [job.finished is None for job in made] == [False] * (1_000 - MAX_LEFT) + [True] * MAX_LEFT


async def test_a_job_is_found_by_its_owner_alone_and_a_stranger_ends_or_displaces_none() -> None:
    async def at_once(_enter: ReportStage) -> Outcome:
        return DONE

    async with open_jobs() as jobs:
        ours = jobs.start(at_once, "the same", owner="token:a")
        theirs = jobs.start(at_once, "the same", owner="token:b")
        assert theirs.id != ours.id
        assert jobs.find_by_key("the same", "token:b") is theirs
        with pytest.raises(UsageError, match="There is no job"):
            await jobs.find_job(ours.id, owner="token:b")
        await ours.done.wait()
        for _ in range(KEPT_FINISHED + 10):
            await jobs.start(at_once, owner="token:b").done.wait()
        assert await jobs.find_job(ours.id, owner="token:a") is ours
        with pytest.raises(UsageError, match="There is no job"):
            await jobs.find_job(theirs.id, owner="token:b")
