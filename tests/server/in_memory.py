"""In-memory connections of both protocol eras, and short ways to call tools over them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.client import Transport
from mcp.server.lowlevel import Server
from pydantic import TypeAdapter

from alita_mcp.settings import Settings
from tests.in_process import InProcessSandbox

if TYPE_CHECKING:
    from alita_mcp.library.library import Library
    from alita_mcp.sandbox.interface import Sandbox
    from alita_mcp.server.build import DualEraServer

PATIENCE_S = 180
"""Far more than anything here takes; only a hang is that slow."""
ERAS = ("legacy", "modern")
Build = Callable[..., "DualEraServer"]


def builder(settings: Settings, standard: Callable[[Settings], Sandbox] = InProcessSandbox) -> Build:
    """Builds servers over one home, whose tools run in this process unless told otherwise."""
    from alita_mcp.app import open_app
    from alita_mcp.server.build import build_server
    from alita_mcp.server.tools.admission import admit

    def built(**options: Any) -> DualEraServer:
        changed = settings.model_copy(update=options.pop("settings", {}))
        sandbox = options.pop("sandbox", None) or standard(changed)
        serves = bool(changed.library_url)  # it shares its jobs
        opener = partial(
            open_app, changed, admit=admit, sandbox=sandbox, serves=serves, model=options.pop("model", None)
        )
        return build_server(changed, open_app=opener, **options)

    return built


@asynccontextmanager
async def connected(server: Server[Any] | Transport, era: str, **options: Any) -> AsyncIterator[Client]:
    mode = "legacy" if era == "legacy" else "auto"
    with anyio.fail_after(PATIENCE_S):
        async with Client(server, mode=mode, **options) as client:
            yield client


async def called(client: Client, tool: str, /, **arguments: Any) -> types.CallToolResult:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, types.CallToolResult)
    return result


async def succeeded(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a call that must not be an error."""
    result = await called(client, tool, **arguments)
    assert not result.is_error, text_of(result)
    return dict(result.structured_content)


async def refused(client: Client, tool: str, /, **arguments: Any) -> str:
    """The text of a call that must be an error."""
    result = await called(client, tool, **arguments)
    assert result.is_error, result
    return text_of(result)


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


async def library_of(server: DualEraServer) -> Library:
    """The library that a server has open, for what a person does to it meanwhile."""
    return (await server.shared.get()).library


async def names_of(client: Client) -> list[str]:
    """Every listed tool, all pages."""
    names: list[str] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return names


async def raw(client: Client, method: str, /, **params: Any) -> dict[str, Any]:
    """A request by hand and its result as it came."""
    request = types.Request[dict[str, Any], str](method=method, params=params)
    return await client.session.send_request(request, TypeAdapter(dict[str, Any]))


async def finished(client: Client, task_id: str) -> dict[str, Any]:
    """A task once it has ended."""
    while True:
        task = await raw(client, "tasks/get", taskId=task_id)
        if task["status"] not in ("working", "input_required"):
            return task
        await anyio.sleep(0.02)
