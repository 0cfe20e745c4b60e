"""Clients that keep their list of tools as agents do, connected in four ways, with a log of what they met in order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal

import anyio
import anyio.abc
import mcp_types as types
from mcp import Client
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server

from tests.server.connections import watching
from tests.server.in_memory import PATIENCE_S

Way = Literal["follows", "follows late", "listens"]
LATE_S = 0.2


class Agent:
    """One client: `log` holds `told`, `listed` and what `say` put there, in the order in which it met them."""

    def __init__(self, way: Way) -> None:
        self.client: Client
        self.log: list[str] = []
        self.names: list[str] = []
        self._way = way
        self._tasks: anyio.abc.TaskGroup

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One turn: a call and its structured answer."""
        answer = await self.client.call_tool(tool, arguments)
        assert isinstance(answer, types.CallToolResult)
        assert isinstance(answer.structured_content, dict), answer
        self.log.append(tool)
        return answer.structured_content

    async def list(self, after_s: float = 0.0) -> None:
        """Asks for the list."""
        await anyio.sleep(after_s)
        page = await self.client.list_tools(cache_mode="bypass")
        self.names = [tool.name for tool in page.tools]
        self.log.append("listed")

    def tell(self) -> None:
        """What it does when it is told of a change."""
        self.log.append("told")
        if self._way in ("follows", "follows late"):
            self._tasks.start_soon(self.list, LATE_S if self._way == "follows late" else 0.0)

    async def on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.tell()

    async def listen(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with self.client.listen(tools_list_changed=True) as changes:
            task_status.started()
            async for _ in changes:
                self.tell()

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()


@asynccontextmanager
async def agent(
    target: Server[Any] | str, era: str, way: Way, name: str = "an agent"
) -> AsyncIterator[Agent]:
    """A client of a server in memory or of a URL that has listed once, as each does when it connects."""
    made = Agent(way)
    async with AsyncExitStack() as stack:
        stack.enter_context(anyio.fail_after(PATIENCE_S))
        standing = anyio.Event()
        over_http = isinstance(target, str)
        if isinstance(target, str):
            target = streamable_http_client(target, http_client=await watching(stack, standing))  # type: ignore[assignment]
        made.client = await stack.enter_async_context(
            Client(
                target,
                mode="legacy" if era == "legacy" else "auto",
                message_handler=made.on_message if era == "legacy" else None,
                client_info=types.Implementation(name=name, version="1"),
            )
        )
        await stack.enter_async_context(made.at_work())
        if era == "modern":
            await made._tasks.start(made.listen)
        elif over_http and era == "legacy":
            await standing.wait()
        await made.list()
        made.log.clear()
        yield made
