"""The six ways in which a client connects: in memory, over stdio, over HTTP, each in both protocol eras."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import httpx2
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client

from alita_mcp.server.build import build_server
from alita_mcp.settings import Settings
from alita_mcp.values import Example
from tests.library.factory import accepted, opened
from tests.server.processes import ENTRY, PATIENCE_S, SERVE_HTTP, Peer, environment, started

TRANSPORTS = ("memory", "stdio", "http")
ERAS = ("legacy", "modern")
CONNECTIONS = tuple(f"{transport} {era}" for transport in TRANSPORTS for era in ERAS)


def connections(*often: str) -> list[Any]:
    """The six ways as parameters of a test, of which `make test` takes these."""
    return [pytest.param(kind, marks=[] if kind in often else pytest.mark.exhaustive) for kind in CONNECTIONS]


META_TOOLS = [
    "search_capabilities", "synthesize_tool", "run_tool", "inspect_tool", "run_code",
]  # fmt: skip


def request_for(name: str, mark: str = "!") -> dict[str, Any]:
    """Arguments of `synthesize_tool` for a tool that shouts; another mark makes it behave otherwise."""
    code = f'''def {name}(text: str) -> str:
    """Shouts a text.

    Args:
        text: What to shout.

    Raises:
        ValueError: There is nothing to shout.
    """
    if not text:
        raise ValueError("nothing to shout")
    return text.upper() + "{mark}"
'''
    return {
        "name": name,
        "description": f"Shouts a text, ending in {mark}",
        "code": code,
        "use_when": [f"shout this with {mark}"],
        "tests": [
            {"arguments": {"text": "hello"}, "expected": f"HELLO{mark}"},
            {"arguments": {"text": "a b"}, "expected": f"A B{mark}"},
            {"arguments": {"text": ""}, "raises": "ValueError"},
        ],
    }


SHOUT = request_for("shout_it")
SPIN: dict[str, Any] = {
    "name": "spin_around",
    "description": "Adds up numbers, for as long as it takes",
    "code": '''def spin_around(turns: int) -> int:
    """Adds up the numbers below a bound.

    Args:
        turns: The bound.
    """
    total = 0
    for turn in range(turns):
        total = (total + turn) % 1000003
    return total
''',
    "tests": [
        {"arguments": {"turns": 4}, "expected": 6},
        {"arguments": {"turns": 0}, "expected": 0},
        {"arguments": {"turns": 3}, "expected": 3},
    ],
}
"""Never ends when asked for enough turns."""


async def publish_spin(home: Path, sandbox: str = "wasm") -> None:
    """Puts SPIN into the library at `home` as if it had passed its gates in that sandbox: a process pays for none."""
    number = {"type": "object", "properties": {"turns": {"type": "integer"}}, "required": ["turns"]}
    result = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    made = accepted(
        SPIN["name"],
        SPIN["description"],
        code=SPIN["code"],
        examples=tuple(Example(**example) for example in SPIN["tests"]),
        input_schema=number,
        sandbox=sandbox,
    )
    contract = made.contract.model_copy(update={"output_schema": result})
    async with opened(home) as library:
        await library.publish(made.model_copy(update={"contract": contract}), expected_version=0)


@dataclass
class Connection:
    """A connected client and what it was told."""

    client: Client
    era: str
    _told: anyio.Event = field(default_factory=anyio.Event)

    def tell(self) -> None:
        self._told.set()

    async def told(self) -> None:
        """Waits for the next announcement of a changed list."""
        await self._told.wait()
        self._told = anyio.Event()

    async def tool(self, name: str) -> types.Tool:
        """Waits until a list with the tool has been announced, as a host does that lists again when it is told."""
        with anyio.fail_after(PATIENCE_S):
            while True:
                await self.told()
                for tool in await self.tools():
                    if tool.name == name:
                        return tool

    async def tools(self) -> list[types.Tool]:
        """Every page of the list."""
        listed: list[types.Tool] = []
        cursor = None
        while True:
            page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            listed += page.tools
            cursor = page.next_cursor
            if cursor is None:
                return listed

    async def make(self, request: dict[str, Any], **options: Any) -> dict[str, Any]:
        """Has a tool made; gives the structured answer."""
        answer = await self.client.call_tool("synthesize_tool", request, **options)
        assert isinstance(answer.structured_content, dict)
        return answer.structured_content


@asynccontextmanager
async def http_process(
    home: Path, sandbox: str = "wasm", **settings: str | Path
) -> AsyncIterator[tuple[str, Peer]]:
    """`alita serve --http` as a process of its own; gives its URL and the process."""
    folder = await anyio.Path(home.parent / "http").absolute()
    await folder.mkdir(parents=True, exist_ok=True)
    env = environment(home=home, sandbox=sandbox, **settings)
    command = SERVE_HTTP[:-1] if "token" in settings else SERVE_HTTP
    async with started(command, env, Path(folder)) as peer:
        yield (await peer.says("serving MCP at")).split()[-1], peer


def stdio_server(home: Path, sandbox: str = "wasm", **settings: str | Path) -> StdioServerParameters:
    """How a host starts `alita-mcp-server`."""
    env = environment(home=home, sandbox=sandbox, **settings)
    return StdioServerParameters(command=ENTRY[0], args=list(ENTRY[1:]), env=env)


@asynccontextmanager
async def connected(kind: str, home: Path, **settings: str | Path) -> AsyncIterator[Connection]:
    """A client connected in one of the six ways to a server of its own on the library at `home`."""
    transport, era = kind.split()
    async with AsyncExitStack() as stack:
        target: Any
        if transport == "memory":
            target = build_server(Settings(**{"home": home, "sandbox": "wasm", **settings}))
        elif transport == "stdio":
            target = stdio_server(home, **settings)
        else:
            target, _ = await stack.enter_async_context(http_process(home, **settings))
        yield await stack.enter_async_context(client_of(target, era))


@asynccontextmanager
async def client_of(target: Any, era: str, bearer: str = "", **options: Any) -> AsyncIterator[Connection]:
    """A client of a server in memory, of a process to start, or of a URL, that hears of changes."""
    standing = anyio.Event()
    connections: list[Connection] = []

    async def on_message(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            for connection in connections:
                connection.tell()

    async with AsyncExitStack() as stack:
        stack.enter_context(anyio.fail_after(3 * PATIENCE_S))
        over_http = isinstance(target, str)
        if over_http:
            target = streamable_http_client(target, http_client=await watching(stack, standing, bearer))
        mode = "legacy" if era == "legacy" else "auto"
        client = await stack.enter_async_context(
            Client(target, mode=mode, message_handler=on_message, **options)
        )
        connections.append(Connection(client, era))
        if era == "modern":
            await stack.enter_async_context(_listening(connections[0]))
        elif over_http:
            await standing.wait()
        yield connections[0]


async def watching(stack: AsyncExitStack, standing: anyio.Event, bearer: str = "") -> httpx2.AsyncClient:
    """An HTTP client that notes when the standing stream of the 2025 protocol is open: only then does it hear."""

    async def note(response: httpx2.Response) -> None:
        if response.request.method == "GET" and response.is_success:
            standing.set()

    timeout = httpx2.Timeout(PATIENCE_S, read=None)
    headers = {"authorization": f"Bearer {bearer}"} if bearer else {}
    return await stack.enter_async_context(
        httpx2.AsyncClient(timeout=timeout, event_hooks={"response": [note]}, headers=headers)
    )


@asynccontextmanager
async def _listening(connection: Connection) -> AsyncIterator[None]:
    """The 2026 protocol's subscription, open before the block begins."""
    async with anyio.create_task_group() as tasks:

        async def listen(*, task_status: anyio.abc.TaskStatus[None]) -> None:
            async with connection.client.listen(tools_list_changed=True) as events:
                task_status.started()
                async for _ in events:
                    connection.tell()

        await tasks.start(listen)
        yield
        tasks.cancel_scope.cancel()
