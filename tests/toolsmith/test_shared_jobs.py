"""Jobs of several servers over one database: begun on one, asked for, answered and stopped on any, done once."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import TypeAdapter

from alita_mcp.errors import Cancelled, LibraryError, SandboxBusy, UsageError
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.jobs.jobs import Jobs, Order, Tool
from alita_mcp.toolsmith.jobs.person_questions import Decision, FilledForm, FormField, PendingQuestions
from alita_mcp.toolsmith.requests.outcomes import Exists, NeedsApproval, Outcome, Working
from tests.postgres_cluster import PostgresServer

pytestmark = [pytest.mark.anyio, pytest.mark.postgres, pytest.mark.extra("team")]

DONE = Exists(tool="adder", version=1, why="because")
FIELD = FormField("answer", "Answer", "Say it.")
PATIENCE_S = 60
Perform = Callable[[Order, PendingQuestions | None, ReportStage], Awaitable[Any]]


async def nobody(_stage: str) -> None:
    """Nobody listens."""


async def done(_order: Order, _person: PendingQuestions | None, _enter: ReportStage) -> Outcome:
    return DONE


async def never(_order: Order, _person: PendingQuestions | None, _enter: ReportStage) -> Outcome:
    await anyio.sleep_forever()
    raise AssertionError


def read_outcome(_tool: Tool, text: str) -> Any:
    return TypeAdapter[Any](Outcome).validate_json(text)


@asynccontextmanager
async def serving(url: str, perform: Perform | None = None, read: Any = read_outcome) -> AsyncIterator[Jobs]:
    """The jobs of one server; without `perform` it works on none."""
    from alita_mcp.postgres.database import Database
    from alita_mcp.postgres.queue import migrate_queue
    from alita_mcp.toolsmith.jobs.shared_jobs import open_shared_jobs

    with anyio.fail_after(PATIENCE_S), closing(Database(url)) as database:
        migrate_queue(database)
        async with open_shared_jobs(database, url, read) as jobs:
            if perform is not None:
                jobs.perform = perform
                jobs.take_jobs()
            yield jobs


def order(key: str = "", owner: str = "team/ann", tool: Tool = "synthesize_tool", **request: Any) -> Order:
    return Order(tool=tool, owner=owner, key=key, request=request)


async def test_begun_on_one_done_on_another_and_told_on_a_third(postgres_url: str) -> None:
    async with (
        serving(postgres_url) as first,
        serving(postgres_url, done) as second,
        serving(postgres_url) as third,
    ):
        job = await first.begin(order("a"))
        assert await first.wait_for_outcome(job, 30, nobody) == DONE
        elsewhere = await third.find_job(job.id, owner="team/ann")
        assert await third.wait_for_outcome(elsewhere, 30, nobody) == DONE
        assert not first.is_busy
        with pytest.raises(UsageError, match="There is no job"):
            await second.find_job(job.id, owner="team/bob")
        with pytest.raises(UsageError, match="no job"):
            await third.find_job("\x00", owner="team/ann")


async def test_whoever_waits_elsewhere_hears_the_stages_of_any_text(postgres_url: str) -> None:
    go = anyio.Event()

    async def work(_order: Order, _person: Any, enter: ReportStage) -> Outcome:
        await enter("nul \x00 and \ud800")
        await go.wait()
        return NeedsApproval(tool="fetch", version=1, grants=("network",), how="\x00 ask")

    async def listen(stage: str) -> None:
        if "nul" in stage:
            go.set()

    async with serving(postgres_url) as first, serving(postgres_url, work):
        outcome = await first.wait_for_outcome(await first.begin(order()), 30, listen)
    assert isinstance(outcome, NeedsApproval)
    assert outcome.how == "\x00 ask"


async def test_the_same_request_on_three_servers_at_once_is_done_once(postgres_url: str) -> None:
    begun: list[str] = []

    async def work(order: Order, _person: Any, _enter: ReportStage) -> Outcome:
        begun.append(order.id)
        await anyio.sleep(0.5)
        return DONE

    heard: list[Any] = []

    async def ask(jobs: Jobs) -> None:
        heard.append(await jobs.wait_for_outcome(await jobs.begin(order("same")), 30, nobody))

    async with (
        serving(postgres_url, work) as one,
        serving(postgres_url, work) as two,
        serving(postgres_url, work) as three,
    ):
        async with anyio.create_task_group() as clients:
            for jobs in (one, two, three):
                clients.start_soon(ask, jobs)
        assert heard == [DONE] * 3
        assert len(begun) == 1
        # Another owner's is another job, and so is the same one once its outcome was heard.
        await one.wait_for_outcome(await one.begin(order("same", owner="team/bob")), 30, nobody)
        await two.wait_for_outcome(await two.begin(order("same")), 30, nobody)
    assert len(begun) == 3


async def test_an_outcome_that_nobody_heard_is_found_on_another_server(postgres_url: str) -> None:
    async with serving(postgres_url, done) as first, serving(postgres_url) as second:
        missed = await first.begin(order("a"))
        await missed.done.wait()
        again = await second.begin(order("a"))
        assert again.id == missed.id
        assert await second.wait_for_outcome(again, 0, nobody) == DONE
        assert (await second.begin(order("a"))).id != missed.id


async def test_an_outcome_that_was_heard_where_it_was_made_is_no_answer_to_the_next_request(
    postgres_url: str,
) -> None:
    async with serving(postgres_url, done) as first, serving(postgres_url, done) as second:
        heard = await first.begin(order("a"))
        assert await first.wait_for_outcome(heard, 30, nobody) == DONE
        for jobs in (first, second):
            assert (again := await jobs.begin(order("a"))).id != heard.id
            assert await jobs.wait_for_outcome(again, 30, nobody) == DONE


async def test_stopped_on_another_server_twice(postgres_url: str) -> None:
    began, cleaned = anyio.Event(), anyio.Event()

    async def work(_order: Order, _person: Any, _enter: ReportStage) -> Outcome:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            cleaned.set()
        raise AssertionError

    async with serving(postgres_url, work) as first, serving(postgres_url) as second:
        job = await first.begin(order("a"))
        await began.wait()
        known = await second.find_job(job.id, owner="team/ann")
        async with anyio.create_task_group() as both:
            both.start_soon(second.cancel, known)
            both.start_soon(second.cancel, known)
        assert cleaned.is_set()
        for jobs in (first, second):
            with pytest.raises(Cancelled):
                await jobs.wait_for_outcome(await jobs.find_job(job.id, owner="team/ann"), 30, nobody)


async def test_a_job_that_nobody_has_begun_is_stopped_at_once(postgres_url: str) -> None:
    async with serving(postgres_url) as first:
        job = await first.begin(order("a"))
        await first.cancel(job)
        with pytest.raises(Cancelled):
            await first.wait_for_outcome(job, 30, nobody)
        assert (await first.begin(order("a"))).id != job.id


async def test_a_caller_that_leaves_does_not_stop_a_job_that_one_elsewhere_waits_for(
    postgres_url: str,
) -> None:
    go, heard = anyio.Event(), list[Any]()

    async def work(_order: Order, _person: Any, enter: ReportStage) -> Outcome:
        await enter("begun")
        await go.wait()
        return DONE

    async with serving(postgres_url, work) as first, serving(postgres_url) as second:
        job = await first.begin(order("a"))

        async def wait(_stage: str = "") -> None:
            heard.append(await second.wait_for_outcome(await second.begin(order("a")), 30, nobody))

        async with anyio.create_task_group() as callers:
            callers.start_soon(wait)
            while not any(each.waiting for each in second._jobs.values()):  # noqa: ASYNC110
                await anyio.sleep(0.01)
            await anyio.sleep(0.3)
            with anyio.move_on_after(0.05) as left:
                await first.wait_for_outcome(job, 30, nobody)
            assert left.cancelled_caught
            go.set()
        assert heard == [DONE]


async def test_the_last_caller_that_leaves_stops_the_job_wherever_it_runs(postgres_url: str) -> None:
    ended = anyio.Event()

    async def work(_order: Order, _person: Any, enter: ReportStage) -> Outcome:
        await enter("begun")
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    async with (
        serving(postgres_url) as first,
        serving(postgres_url, work),
        anyio.create_task_group() as callers,
    ):
        job = await first.begin(order("a"))

        async def leave(stage: str) -> None:
            if stage == "begun":
                callers.cancel_scope.cancel()

        callers.start_soon(first.wait_for_outcome, job, 30, leave)
        await anyio.sleep_forever()
    assert ended.is_set()
    assert isinstance(job.failure, Cancelled)


async def test_a_row_that_was_read_before_a_job_began_does_not_stop_it(postgres_url: str) -> None:
    began, go = anyio.Event(), anyio.Event()

    async def work(_order: Order, _person: Any, _enter: ReportStage) -> Outcome:
        began.set()
        await go.wait()
        return DONE

    async with serving(postgres_url, work) as first:
        jobs: Any = first
        job = await first.begin(order("a"))
        await began.wait()
        (row,) = await jobs._read([job.id])
        await jobs._take_in(job, {**row, "attempt": 0})
        go.set()
        assert await first.wait_for_outcome(job, 30, nobody) == DONE


async def test_a_form_is_filled_on_another_server_once(postgres_url: str) -> None:
    async def work(_order: Order, person: PendingQuestions | None, _enter: ReportStage) -> Outcome:
        assert person is not None
        form = await person.ask_form("Which \x00 one?", [FIELD])
        assert isinstance(form, FilledForm)
        return DONE.model_copy(update={"why": form.texts["answer"]})

    async with serving(postgres_url) as first, serving(postgres_url, work), serving(postgres_url) as third:
        job = await first.begin(order(), PendingQuestions(60))
        assert job.person is not None
        await job.person.ready()
        assert [each.text for each in job.person.next_round()] == ["Which \x00 one?"]
        elsewhere = await third.find_job(job.id, owner="team/ann")
        assert elsewhere.person is not None
        await elsewhere.person.ready()
        question = elsewhere.person.open_questions[0]
        assert (question.text, question.fields) == ("Which \x00 one?", (FIELD,))
        for key in ("", "\x00", question.key[:-1]):
            await elsewhere.person.take_answers({key: FilledForm({"answer": "no"})})
        await elsewhere.person.take_answers({question.key: FilledForm({"answer": "blue \x00"})})
        await job.person.take_answers({question.key: FilledForm({"answer": "red"})})
        outcome = await first.wait_for_outcome(job, 30, nobody)
        assert isinstance(outcome, Exists)
        assert outcome.why == "blue \x00"


async def test_a_question_reaches_a_client_whose_connection_is_on_another_server(postgres_url: str) -> None:
    async def work(_order: Order, person: PendingQuestions | None, _enter: ReportStage) -> Outcome:
        assert person is not None
        return DONE.model_copy(update={"why": (await person.ask_person("May I?")).value})

    async def send(_question: Any) -> Decision:
        return Decision.APPROVED

    async with serving(postgres_url) as first, serving(postgres_url, work):
        job = await first.begin(order(), PendingQuestions(60))
        assert job.person is not None
        with job.person.attach_sender(send):
            outcome = await first.wait_for_outcome(job, 30, nobody)
        assert isinstance(outcome, Exists)
        assert outcome.why == "approved"


async def test_a_server_that_ends_leaves_its_jobs_and_what_a_person_wrote_to_the_others(
    postgres_url: str,
) -> None:
    asked: list[str] = []

    async def work(_order: Order, person: PendingQuestions | None, enter: ReportStage) -> Outcome:
        assert person is not None
        form = await person.ask_form("Which?", [FIELD])
        assert isinstance(form, FilledForm)
        await enter("answered")
        if not asked:
            asked.append("once")
            await anyio.sleep_forever()
        return DONE.model_copy(update={"why": form.texts["answer"]})

    async with serving(postgres_url) as client:
        async with serving(postgres_url, work):
            job = await client.begin(order(), PendingQuestions(60))
            assert job.person is not None
            await job.person.ready()
            answers = {each.key: FilledForm({"answer": "blue"}) for each in job.person.next_round()}
            await job.person.take_answers(answers)
            while job.stage != "answered":  # noqa: ASYNC110
                await anyio.sleep(0.01)
        async with serving(postgres_url, work):
            outcome = await client.wait_for_outcome(job, 30, nobody)
    assert isinstance(outcome, Exists)
    assert outcome.why == "blue"


async def test_failures_come_as_they_are_and_unknown_outcomes_as_a_clear_error(postgres_url: str) -> None:
    async def work(order: Order, _person: Any, _enter: ReportStage) -> Outcome:
        if order.request.get("busy"):
            raise SandboxBusy("Busy: 3 run.", retry_after_s=7)
        return DONE

    def read_nothing(_tool: Tool, _text: str) -> Any:
        raise ValueError("unknown")

    async with serving(postgres_url, read=read_nothing) as old, serving(postgres_url, work) as new:
        with pytest.raises(SandboxBusy, match="3 run") as busy:
            await old.wait_for_outcome(await old.begin(order(busy=True)), 30, nobody)
        assert busy.value.retry_after_s == 7
        job = await old.begin(order("a"))
        with pytest.raises(LibraryError, match="another version"):
            await old.wait_for_outcome(job, 30, nobody)
        known = await new.find_job(job.id, owner="team/ann")
        assert await new.wait_for_outcome(known, 30, nobody) == DONE


async def test_a_long_run_of_code_is_asked_for_elsewhere_and_lost_with_its_server(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    go = anyio.Event()

    async def run(_enter: ReportStage) -> Outcome:
        await go.wait()
        return DONE

    async with serving(postgres_url) as first, serving(postgres_url) as second:
        job = first.start(run, owner="team/ann", tool="run_code")
        assert isinstance(await first.wait_for_outcome(job, 0.01, nobody), Working)
        known = await second.find_job(job.id, "run_code", owner="team/ann")
        assert isinstance(await second.wait_for_outcome(known, 0.01, nobody), Working)
        go.set()
        assert await second.wait_for_outcome(known, 30, nobody) == DONE
        # One whose server has no connection ends with an error.
        insert = (
            "INSERT INTO alita.job (id, tool, owner, key, asks, waiting, server, attempt)"
            " VALUES ('gone', 'run_code', 'team/ann', '', false, '{}', 'dead', 1)"
        )
        postgres_server.execute(insert, postgres_url)
        lost = await second.find_job("gone", "run_code", owner="team/ann")
        with pytest.raises(LibraryError, match="is gone"):
            await second.wait_for_outcome(lost, 30, nobody)


async def test_a_database_that_goes_away_loses_no_outcome(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    began, go, begun = anyio.Event(), anyio.Event(), list[str]()

    async def work(order: Order, _person: Any, _enter: ReportStage) -> Outcome:
        begun.append(order.id)
        began.set()
        await go.wait()
        return DONE

    async with serving(postgres_url, work) as first, serving(postgres_url, work) as second:
        job = await first.begin(order("a"))
        await began.wait()
        await anyio.to_thread.run_sync(postgres_server.stop, "immediate")
        try:
            with pytest.raises(LibraryError, match="cannot be reached"):
                await second.begin(order("b"))
            go.set()
            await anyio.sleep(2)
        finally:
            await anyio.to_thread.run_sync(postgres_server.start)
        assert await first.wait_for_outcome(job, 30, nobody) == DONE
        known = await second.find_job(job.id, owner="team/ann")
        assert await second.wait_for_outcome(known, 30, nobody) == DONE
        assert await second.wait_for_outcome(await second.begin(order("b")), 30, nobody) == DONE
    assert begun[0] == job.id
    assert begun.count(job.id) == 1


async def test_a_server_that_is_killed_in_a_job_is_replaced_within_half_a_minute(postgres_url: str) -> None:
    async with serving(postgres_url) as client:
        job = await client.begin(order("a"))
        await kill_in_a_job(postgres_url)
        async with serving(postgres_url, done):
            assert await client.wait_for_outcome(job, 30, nobody) == DONE


async def test_a_killed_server_is_replaced_though_its_job_was_queued_again_after_it_began(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    columns = "queue_name, task_name, lock, queueing_lock, args"
    again = f"INSERT INTO procrastinate_jobs ({columns}) SELECT {columns} FROM procrastinate_jobs"
    again = f"SET search_path = alita_queue; {again}"
    async with serving(postgres_url) as client:
        job = await client.begin(order("a"))
        await kill_in_a_job(postgres_url, lambda: postgres_server.execute(again, postgres_url))
        async with serving(postgres_url, done):
            assert await client.wait_for_outcome(job, 30, nobody) == DONE


async def test_a_job_is_done_though_the_queue_thinks_that_a_living_server_has_it(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    """As after a crash of the database between what the queue and the server wrote."""
    lives = "INSERT INTO alita_queue.procrastinate_workers (last_heartbeat) VALUES ('infinity') RETURNING id"
    async with serving(postgres_url) as client:
        job = await client.begin(order("a"))
        ((worker,),) = postgres_server.execute(lives, postgres_url)
        taken = (
            "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, status, worker_id)"
            f" VALUES ('synthesize_tool.1', 'run_job', '{job.id}', '{job.id}', 'doing', {worker})"
        )
        postgres_server.execute(f"SET search_path = alita_queue; {taken}", postgres_url)
        async with serving(postgres_url, done):
            assert await client.wait_for_outcome(job, 30, nobody) == DONE


async def kill_in_a_job(url: str, before: Callable[[], object] = lambda: None) -> None:
    """Kills a server after it has begun a job; `before` that."""
    program = [sys.executable, str(Path(__file__).with_name("server_that_hangs.py")), url]
    process = await anyio.open_process(program, stderr=None)
    assert process.stdout is not None
    assert (await process.stdout.receive()).startswith(b"begun")
    before()
    process.kill()
    await process.wait()
