"""The tasks extension: polling, answers, cancellation, bounds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.extension import advertise

from alita_mcp.errors import AlitaError
from alita_mcp.server import tasks as module
from alita_mcp.server.context import ToolResult
from alita_mcp.server.sources import ToolCall
from alita_mcp.server.tasks import EXTENSION, Task, Work
from tests.server.fixture_sources import Handler, one_tool, said
from tests.server.in_memory import Build, connected, finished, raw, refused

QUESTION = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}},
}


def tasked(work: Work) -> Handler:
    async def handler(call: ToolCall) -> ToolResult:
        call.tasks.require_support(call.ctx)
        return call.tasks.start_task(work, call.identity.owner)

    return handler


@asynccontextmanager
async def client_of(build: Build, work: Work) -> AsyncIterator[Client]:
    server = build(extra_sources=[one_tool(tasked(work))])
    async with connected(server, "modern", extensions=[advertise(EXTENSION)]) as client:
        yield client


async def started(client: Client) -> dict[str, Any]:
    task = await raw(client, "tools/call", name="try_me", arguments={})
    assert task["resultType"] == "task"
    return task


async def test_a_task_ends_with_the_result_of_its_work(build: Build) -> None:
    async def work(task: Task) -> types.CallToolResult:
        await task.report("half way")
        return said("done")

    async with client_of(build, work) as client:
        task = await finished(client, (await started(client))["taskId"])

    assert task["status"] == "completed"
    assert task["result"]["content"][0]["text"] == "done"
    assert task["statusMessage"] == "half way"
    assert task["ttlMs"] > 0
    assert task["createdAt"] <= task["lastUpdatedAt"]


@pytest.mark.parametrize("failure", [AlitaError("it broke", hint="Mend it."), RuntimeError("secret")])
async def test_failing_work_ends_in_an_error_result(build: Build, failure: Exception) -> None:
    async def work(_task: Task) -> types.CallToolResult:
        raise failure

    async with client_of(build, work) as client:
        task = await finished(client, (await started(client))["taskId"])

    assert task["status"] == "completed"
    assert task["result"]["isError"] is True
    assert "secret" not in str(task)


async def test_a_task_asks_and_goes_on_when_all_is_answered(build: Build) -> None:
    async def work(task: Task) -> types.CallToolResult:
        answers = await task.ask_client({"a": QUESTION, "b": QUESTION})
        return said(f"{answers['a']} {answers['b']}")

    async with client_of(build, work) as client:
        task_id = (await started(client))["taskId"]
        await anyio.wait_all_tasks_blocked()
        asking = await raw(client, "tasks/get", taskId=task_id)
        assert asking["status"] == "input_required"
        assert asking["inputRequests"] == {"a": QUESTION, "b": QUESTION}
        await raw(client, "tasks/update", taskId=task_id, inputResponses={"a": {"x": 1}, "unasked": {}})
        half = await raw(client, "tasks/get", taskId=task_id)
        assert half["inputRequests"].keys() == {"b"}
        await raw(client, "tasks/update", taskId=task_id, inputResponses={"b": {"y": 2}, "a": {"x": 9}})
        task = await finished(client, task_id)

    assert task["result"]["content"][0]["text"] == "{'x': 1} {'y': 2}"


async def test_a_cancelled_task_stops_its_work_and_stays_cancelled(build: Build) -> None:
    ended = anyio.Event()

    async def work(_task: Task) -> types.CallToolResult:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError("unreachable")

    async with client_of(build, work) as client:
        task_id = (await started(client))["taskId"]
        await raw(client, "tasks/cancel", taskId=task_id)
        await ended.wait()
        await raw(client, "tasks/cancel", taskId=task_id)
        assert (await raw(client, "tasks/get", taskId=task_id))["status"] == "cancelled"


async def test_an_unknown_task_is_an_invalid_parameter(build: Build) -> None:
    async def work(_task: Task) -> types.CallToolResult:
        return said("done")

    async with client_of(build, work) as client:
        for method in ("tasks/get", "tasks/cancel"):
            with pytest.raises(MCPError) as refusal:
                await raw(client, method, taskId="guessed")
            assert refusal.value.error.code == types.INVALID_PARAMS


@pytest.mark.both_eras
async def test_clients_without_the_extension_get_no_tasks(build: Build, era: str) -> None:
    async def work(_task: Task) -> types.CallToolResult:
        return said("done")

    server = build(extra_sources=[one_tool(tasked(work))])
    async with connected(server, era) as client:
        with pytest.raises(MCPError) as refusal:
            await raw(client, "tools/call", name="try_me", arguments={})
        assert refusal.value.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
        with pytest.raises(MCPError) as refusal:
            await raw(client, "tasks/get", taskId="x")
        assert refusal.value.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY


async def test_tasks_under_way_are_bounded(build: Build) -> None:
    async def work(_task: Task) -> types.CallToolResult:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async with client_of(build, work) as client:
        ids = {(await started(client))["taskId"] for _ in range(module.MAX_UNFINISHED)}
        assert len(ids) == module.MAX_UNFINISHED
        assert "running already" in await refused(client, "try_me")


async def test_a_task_is_forgotten_after_its_time(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(_task: Task) -> types.CallToolResult:
        return said("done")

    async def poll(client: Client, task_id: str) -> None:
        while True:
            await raw(client, "tasks/get", taskId=task_id)

    monkeypatch.setattr(module, "TTL_MS", 10)
    async with client_of(build, work) as client:
        task_id = (await started(client))["taskId"]
        with pytest.raises(MCPError, match="Task not found"):
            await poll(client, task_id)


async def test_the_oldest_finished_task_makes_room(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(_task: Task) -> types.CallToolResult:
        return said("done")

    monkeypatch.setattr(module, "MAX_TASKS", 2)
    async with client_of(build, work) as client:
        first, second, third = [
            (await finished(client, (await started(client))["taskId"]))["taskId"] for _ in range(3)
        ]
        with pytest.raises(MCPError, match="Task not found"):
            await raw(client, "tasks/get", taskId=first)
        assert {(await raw(client, "tasks/get", taskId=each))["status"] for each in (second, third)} == {
            "completed"
        }


async def test_a_task_of_another_owner_is_not_there(build: Build) -> None:
    async def work(_task: Task) -> types.CallToolResult:
        return said("private")

    async def handler(call: ToolCall) -> ToolResult:
        return call.tasks.start_task(work, "token:a")

    server = build(extra_sources=[one_tool(handler)])
    async with connected(server, "modern", extensions=[advertise(EXTENSION)]) as client:
        task_id = (await started(client))["taskId"]
        for method in ("tasks/get", "tasks/cancel"):
            with pytest.raises(MCPError, match="Task not found"):
                await raw(client, method, taskId=task_id)
        with pytest.raises(MCPError, match="Task not found"):
            await raw(client, "tasks/update", taskId=task_id, inputResponses={})
