"""Tasks over HTTP: run, followed, and stopped by leaving."""

from __future__ import annotations

import json

import anyio
import pytest

from alita_mcp.server.api import tasks
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.jobs.jobs import MAX_TASKS
from tests.server.agents.scripted import never_answers, serving
from tests.server.api.calling import api, code_of, messages
from tests.server.test_run_code_jobs import until


async def test_events_are_streamed_until_the_task_ends(settings: Settings) -> None:
    made = serving(settings)
    body = {"task": "add up", "max_steps": 3, "hosts": ["a.example"]}
    async with api(made) as client, client.stream("POST", "/api/tasks", json=body) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        told = await messages(stream)
    assert [(each["id"], each["event"]) for each in told] == [
        ("1", "started"),
        ("2", "step"),
        ("3", "finished"),
    ]
    solution = json.loads(told[-1]["data"])["data"]
    assert (solution["solved"], solution["answer"]) == (True, "ADD UP")
    (request,) = made.tasks.begun
    assert (request.budget.steps, request.hosts, made.tasks.clients) == (3, ("a.example",), ["REST"])


async def test_a_caller_that_leaves_stops_the_task(settings: Settings) -> None:
    made = serving(settings, never_answers)
    async with api(made) as client:
        async with client.stream("POST", "/api/tasks", json={"task": "t"}) as stream:
            await messages(stream, 2)
        (run,) = made.runs.stored
        await until(lambda: made.runs.stored[run][-1].kind == "finished")
        assert (await made.runs.summary(run)).status == "stopped"


async def test_a_quiet_stream_has_a_heartbeat(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "HEARTBEAT_S", 0.02)
    async with (
        api(serving(settings, never_answers)) as client,
        client.stream("POST", "/api/tasks", json={"task": "t"}) as stream,
    ):
        async for line in stream.aiter_lines():
            if line == ": still running":
                break
        else:
            pytest.fail("the stream ended without a heartbeat")


@pytest.mark.one_machine
async def test_a_task_too_many_is_told_when_to_come_back(settings: Settings) -> None:
    made = serving(settings, never_answers)
    async with api(made) as client, anyio.create_task_group() as callers:
        for _ in range(MAX_TASKS):
            callers.start_soon(lambda: client.post("/api/tasks", json={"task": "t"}))
        await until(lambda: len(made.runs.stored) == MAX_TASKS)
        answer = await client.post("/api/tasks", json={"task": "t"})
        callers.cancel_scope.cancel()
    assert code_of(answer) == (429, "busy")
    assert int(answer.headers["retry-after"]) > 0


async def test_without_a_model_a_program_is_told_what_to_set(settings: Settings) -> None:
    async with api(serving(settings, has_model=False)) as client:
        answer = await client.post("/api/tasks", json={"task": "t"})
    assert code_of(answer) == (409, "no_model")
    assert "ALITA_MODEL" in answer.text


async def test_a_task_that_fails_before_it_begins_is_an_error_and_no_empty_stream(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    made = serving(settings)

    async def broken(*_: object) -> None:
        raise RuntimeError("secret words")

    made.runs.begin_run = broken  # type: ignore[method-assign,assignment]
    async with api(made) as client:
        answer = await client.post("/api/tasks", json={"task": "t"})
    assert code_of(answer) == (500, "internal")
    assert "secret" not in answer.text
    assert "secret words" in caplog.text
