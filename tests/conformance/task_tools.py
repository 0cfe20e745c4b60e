"""Fixtures of the tasks extension: work that is polled, asks for input, fails, or is cancelled."""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from alita_mcp.server.context import ToolResult
from alita_mcp.server.sources import ToolCall
from alita_mcp.server.tasks import Task
from tests.conformance.source import Fixtures, form, name_form, said

task_tools = Fixtures()


def wire(request: types.ElicitRequest) -> dict[str, Any]:
    return request.model_dump(by_alias=True, mode="json", exclude_none=True)


@task_tools.tool({"name": {"type": "string"}})
async def greet(call: ToolCall) -> ToolResult:
    """Answers at once, to any client."""
    return said(f"Hello, {call.arguments.get('name', 'World')}!")


@task_tools.tool({"seconds": {"type": "number"}, "label": {"type": "string"}})
async def slow_compute(call: ToolCall) -> ToolResult:
    """Is a task for clients that take one."""

    async def work(_task: Task | None) -> types.CallToolResult:
        await anyio.sleep(call.arguments.get("seconds", 1))
        return said("computed")

    return (
        call.tasks.start_task(work, call.identity.owner)
        if call.tasks.are_supported(call.ctx)
        else await work(None)
    )


@task_tools.tool()
async def failing_job(call: ToolCall) -> ToolResult:
    """Ends with an error of its own."""
    call.tasks.require_support(call.ctx)

    async def work(_task: Task) -> types.CallToolResult:
        await anyio.sleep(1)
        return said("job failed", is_error=True)

    return call.tasks.start_task(work, call.identity.owner)


@task_tools.tool()
async def protocol_error_job(call: ToolCall) -> ToolResult:
    """Ends with a protocol error."""

    async def work(_task: Task) -> types.CallToolResult:
        await anyio.sleep(0.2)
        raise MCPError(types.INTERNAL_ERROR, "boom")

    return call.tasks.start_task(work, call.identity.owner)


@task_tools.tool({"filename": {"type": "string"}})
async def confirm_delete(call: ToolCall) -> ToolResult:
    """Asks before it ends."""

    async def work(task: Task) -> types.CallToolResult:
        question = form("Delete?", {"confirm": {"type": "boolean"}}, ["confirm"])
        answers = await task.ask_client({"confirm": wire(question)})
        return said(json.dumps(answers["confirm"]))

    return call.tasks.start_task(work, call.identity.owner)


@task_tools.tool()
async def multi_input(call: ToolCall) -> ToolResult:
    """Asks two things at once."""

    async def work(task: Task) -> types.CallToolResult:
        answers = await task.ask_client({"a": wire(name_form("A")), "b": wire(name_form("B"))})
        return said(json.dumps(answers))

    return call.tasks.start_task(work, call.identity.owner)


@task_tools.tool()
async def test_tool_with_task(call: ToolCall) -> ToolResult:
    """Asks first and is a task afterwards."""
    answer = (call.params.input_responses or {}).get("user_name")
    if not isinstance(answer, types.ElicitResult):
        return types.InputRequiredResult(input_requests={"user_name": name_form()}, request_state="asked")
    call.tasks.require_support(call.ctx)
    name = (answer.content or {}).get("name")

    async def work(_task: Task) -> types.CallToolResult:
        return said(f"done for {name}")

    return call.tasks.start_task(work, call.identity.owner)
