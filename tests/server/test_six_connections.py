"""Every client sees one library: whoever makes a tool, all connected clients hear of it and call it natively."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from alita_mcp.server.build import build_server
from alita_mcp.settings import Settings
from tests.server.connections import (
    CONNECTIONS,
    META_TOOLS,
    SHOUT,
    Connection,
    client_of,
    connected,
    connections,
    http_process,
    publish_spin,
    request_for,
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


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", connections("stdio legacy", "stdio modern", "http legacy", "http modern"))
async def test_the_maker_sees_the_stages_hears_of_its_tool_and_calls_it_natively(
    tmp_path: Path, kind: str
) -> None:
    told: list[tuple[float, str]] = []

    async def on_progress(done: float, _total: float | None, message: str | None) -> None:
        told.append((done, message or ""))

    async with connected(kind, tmp_path / "home") as connection:
        capabilities = connection.client.server_capabilities
        assert capabilities.tools
        assert capabilities.tools.list_changed is True
        assert SHOUT["name"] not in [tool.name for tool in await connection.tools()]
        made = await connection.make(SHOUT, progress_callback=on_progress)
        assert made["status"] == "created"
        await uses(connection, "shout_it", "!")
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    stages = [message for _, message in told]
    assert "static" in stages
    assert "examples" in stages


@pytest.mark.parametrize("maker_era", ["legacy", pytest.param("modern", marks=pytest.mark.exhaustive)])
async def test_all_clients_of_one_http_server_hear_of_a_tool_that_any_of_them_makes(
    tmp_path: Path, maker_era: str
) -> None:
    async with AsyncExitStack() as stack:
        url, _ = await stack.enter_async_context(http_process(tmp_path / "home"))
        eras = (maker_era, "legacy", "legacy", "modern", "modern")
        clients = [await stack.enter_async_context(client_of(url, era)) for era in eras]
        assert (await clients[0].make(SHOUT))["status"] == "created"
        for client in clients:
            await uses(client, "shout_it", "!")


@pytest.mark.exhaustive
async def test_six_clients_of_six_servers_on_one_library_hear_of_every_tool_that_any_of_them_makes(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    marks = dict(zip(CONNECTIONS, "!?.;:,", strict=True))
    async with AsyncExitStack() as stack:
        clients = {kind: await stack.enter_async_context(connected(kind, home)) for kind in CONNECTIONS}
        for number, kind in enumerate(CONNECTIONS):
            name = f"shout_{number}"
            assert (await clients[kind].make(request_for(name, marks[kind])))["status"] == "created"
            for client in clients.values():
                await uses(client, name, marks[kind])


@pytest.mark.parametrize("kind", connections("memory modern", "stdio legacy", "http modern"))
async def test_a_cancelled_call_leaves_no_sandbox_running(home: Path, kind: str) -> None:
    await publish_spin(home)
    async with connected(kind, home) as connection:
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


@pytest.mark.both_eras
async def test_pages_together_hold_every_tool_once_with_the_fixed_ones_first(
    tmp_path: Path, era: str
) -> None:
    settings = Settings(home=tmp_path / "home", sandbox="wasm")
    async with client_of(build_server(settings, page_size=3), era) as connection:
        await connection.client.call_tool("search_capabilities", {"query": "anything"})
        first = await connection.client.list_tools(cache_mode="bypass")
        names = [tool.name for tool in await connection.tools()]
    assert [tool.name for tool in first.tools] == META_TOOLS[:3]
    assert first.next_cursor
    assert names[:5] == META_TOOLS
    assert len(names) == len(set(names)) > 5
