"""Every client sees one library: whoever makes a tool, all connected clients hear of it and call it natively."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from tests.in_process import IN_PROCESS
from tests.server.connections import (
    SHOUT,
    Connection,
    client_of,
    connected,
    connections,
    http_process,
    publish_spin,
)
from tests.server.processes import busy_since, gone, processor_seconds

pytestmark = pytest.mark.process


async def uses(connection: Connection, name: str, mark: str) -> None:
    """Hears of a tool, finds it listed with its schemas and calls it as a tool of its own."""
    tool = await connection.tool(name)
    assert tool.input_schema["required"] == ["text"]
    assert tool.output_schema
    assert tool.output_schema["type"] == "object"
    answer = await connection.client.call_tool(name, {"text": "hello"})
    assert answer.structured_content == {"result": f"HELLO{mark}"}
    assert not answer.is_error


@pytest.mark.parametrize("kind", connections("stdio legacy", "http modern"))
async def test_the_maker_sees_stages_hears_of_its_tool_calls_it_and_a_cancelled_call_leaves_no_sandbox(
    home: Path, kind: str
) -> None:
    told: list[tuple[float, str]] = []

    async def on_progress(done: float, _total: float | None, message: str | None) -> None:
        told.append((done, message or ""))

    await publish_spin(home)
    async with connected(kind, home) as connection:
        capabilities = connection.client.server_capabilities
        assert capabilities.tools
        assert capabilities.tools.list_changed is True
        assert SHOUT["name"] not in [tool.name for tool in await connection.tools()]
        made = await connection.make(SHOUT, progress_callback=on_progress)
        assert made["status"] == "created"
        await uses(connection, "shout_it", "!")
        short = await connection.client.call_tool("spin_around", {"turns": 4})
        assert short.structured_content == {"result": 6}
        before = processor_seconds(os.getpid())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.client.call_tool, "spin_around", {"turns": 10**15})
            busy = await busy_since(os.getpid(), before)
            tasks.cancel_scope.cancel()
        await gone([busy])
        again = await connection.client.call_tool("spin_around", {"turns": 4})
        assert again.structured_content == {"result": 6}
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert {"static", "examples"} <= {message for _, message in told}


async def test_all_clients_of_one_http_server_hear_of_a_tool_that_any_of_them_makes(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        url, _ = await stack.enter_async_context(http_process(tmp_path / "home", IN_PROCESS))
        eras = ("legacy", "legacy", "modern", "modern")
        clients = [await stack.enter_async_context(client_of(url, era)) for era in eras]
        assert (await clients[0].make(SHOUT))["status"] == "created"
        for client in clients:
            await uses(client, "shout_it", "!")
