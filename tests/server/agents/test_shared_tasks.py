"""Tasks on two servers of one library: begun on one, asked for, answered and stopped on the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import httpx
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.extension import advertise
from pydantic import SecretStr

from alita_mcp.server.tasks import EXTENSION
from alita_mcp.settings import FixedLimits, Settings
from tests.server.agents.scripted import (
    RunsInMemory,
    Script,
    Serving,
    Working,
    answers_at_once,
    never_answers,
    says,
    serving,
)
from tests.server.api.calling import api, messages
from tests.server.in_memory import connected, finished, raw, succeeded
from tests.server.test_run_code_jobs import until

pytestmark = [pytest.mark.anyio, pytest.mark.postgres, pytest.mark.extra("team")]


async def asks(work: Working) -> str:
    assert work.ask is not None
    return f"said {await work.ask('Which year?')}"


def two_servers(
    settings: Settings, url: str, script: Script, *, elicit: bool | None = True, answer_within_s: float = 0.1
) -> tuple[Serving, Serving]:
    """Two servers with homes of their own, whose runs are stored in one place."""
    runs = RunsInMemory()
    first, second = (
        serving(
            settings.model_copy(update={"home": settings.home / name}),
            script,
            settings_library=SecretStr(url),
            settings_prepare=False,
            settings_elicit=elicit,
            settings_limits=FixedLimits(answer_within_s=answer_within_s),
            runs=runs,
        )
        for name in ("a", "b")
    )
    return first, second


@asynccontextmanager
async def clients(
    settings: Settings,
    url: str,
    script: Script,
    era: str = "modern",
    *,
    answer_within_s: float = 0.1,
    **options: Any,
) -> AsyncIterator[tuple[Client, Client]]:
    async with AsyncExitStack() as stack:
        first, second = [
            await stack.enter_async_context(connected(made.server(), era, **options))
            for made in two_servers(settings, url, script, answer_within_s=answer_within_s)
        ]
        yield first, second


async def test_a_job_is_told_by_the_other_server(settings: Settings, postgres_url: str, era: str) -> None:
    go = anyio.Event()

    async def slow(work: Working) -> str:
        await go.wait()
        return await answers_at_once(work)

    async with clients(settings, postgres_url, slow, era) as (first, second):
        told = await succeeded(first, "solve_task", task="t")
        assert told["status"] == "working"
        again = await succeeded(second, "solve_task", job_id=told["job_id"])
        assert (again["status"], again["job_id"]) == ("working", told["job_id"])
        go.set()
        for client in (second, first):
            answer = told
            while answer["status"] == "working":
                answer = await succeeded(client, "solve_task", job_id=told["job_id"])
            assert (answer["answer"], answer["run"]) == ("T", told["job_id"])


async def test_a_task_is_told_and_cancelled_by_the_other_server(
    settings: Settings, postgres_url: str
) -> None:
    options = {"extensions": [advertise(EXTENSION)]}
    async with clients(settings, postgres_url, never_answers, **options) as (first, second):
        task = await raw(first, "tools/call", name="solve_task", arguments={"task": "t"})
        assert task["resultType"] == "task"
        known = await raw(second, "tasks/get", taskId=task["taskId"])
        assert (known["status"], known["taskId"]) == ("working", task["taskId"])
        await raw(second, "tasks/cancel", taskId=task["taskId"])
        await raw(second, "tasks/cancel", taskId=task["taskId"])
        for client in (second, first):
            with anyio.fail_after(30):
                assert (await finished(client, task["taskId"]))["status"] == "cancelled"
        with pytest.raises(MCPError, match="Task not found"):
            await raw(second, "tasks/get", taskId="nobody's")


@pytest.mark.parametrize("answer_within_s", [0.1, 20])
async def test_a_task_that_asks_is_answered_on_the_other_server(
    settings: Settings, postgres_url: str, answer_within_s: float
) -> None:
    async def unused(_ctx: Any, _params: Any) -> types.ElicitResult:
        raise AssertionError

    options: dict[str, Any] = {"extensions": [advertise(EXTENSION)], "elicitation_callback": unused}
    options["answer_within_s"] = answer_within_s
    async with clients(settings, postgres_url, asks, **options) as (first, second):
        task = await raw(first, "tools/call", name="solve_task", arguments={"task": "t"})
        if task["resultType"] == "input_required":  # its question came before the call was over
            state, requests = task["requestState"], task["inputRequests"]
            answers = {key: says("2024").model_dump(by_alias=True, mode="json") for key in requests}
            done = await raw(
                second, "tools/call", name="solve_task", arguments={"task": "t"},
                requestState=state, inputResponses=answers,
            )  # fmt: skip
            if done["resultType"] == "task":
                done = (await finished(second, done["taskId"]))["result"]
            assert done["structuredContent"]["answer"] == "said 2024"
            return
        while (known := await raw(second, "tasks/get", taskId=task["taskId"]))["status"] == "working":  # noqa: ASYNC110
            await anyio.sleep(0.02)
        answers = {key: says("2024").model_dump(by_alias=True, mode="json") for key in known["inputRequests"]}
        await raw(second, "tasks/update", taskId=task["taskId"], inputResponses=answers)
        for client in (first, second):
            ended = await finished(client, task["taskId"])
            assert ended["result"]["structuredContent"]["answer"] == "said 2024"


async def test_a_2025_client_is_asked_on_its_own_connection(settings: Settings, postgres_url: str) -> None:
    async def person(_ctx: Any, _params: Any) -> types.ElicitResult:
        return says("2024")

    async with clients(settings, postgres_url, asks, "legacy", elicitation_callback=person) as (first, _):
        told = await succeeded(first, "solve_task", task="t")
        while told["status"] == "working":
            told = await succeeded(first, "solve_task", job_id=told["job_id"])
        assert told["answer"] == "said 2024"


async def test_a_stream_is_resumed_on_the_other_server(settings: Settings, postgres_url: str) -> None:
    go = anyio.Event()

    async def slow(work: Working) -> str:
        await go.wait()
        return await answers_at_once(work)

    first, second = two_servers(settings, postgres_url, slow, elicit=None)
    with anyio.fail_after(60):
        told: list[list[dict[str, Any]]] = []

        async def begin(client: httpx.AsyncClient) -> None:
            async with client.stream("POST", "/api/tasks", json={"task": "t"}) as stream:
                told.append(await messages(stream))

        async with api(first) as one, api(second) as other, anyio.create_task_group() as callers:
            callers.start_soon(begin, one)
            await until(lambda: any(first.runs.stored.values()))
            (run,) = first.runs.stored
            async with other.stream(
                "GET", f"/api/tasks/{run}/events", headers={"last-event-id": "1"}
            ) as stream:
                go.set()
                told.append(await messages(stream))
        assert sorted([each["event"] for each in events] for events in told) == [
            ["started", "step", "finished"],
            ["step", "finished"],
        ]
