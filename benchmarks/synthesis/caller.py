"""Client of a real server process over stdio, with a timeout for every call."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from alita_mcp.values import Value

if TYPE_CHECKING:
    from mcp_types import CallToolResult

START_WITHIN_S = 60.0
MAKE_WITHIN_S = 900.0
SHOWN_CHARACTERS = 400
BROKE_OFF = (TimeoutError, MCPError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""What a call raises when the server is gone or late, or answers with a protocol error."""


class ServerUnderTest(Value):
    """Start command of the server process, and its time limit."""

    sandbox: str
    home: Path
    log: Path
    """Where its stderr goes."""
    command: tuple[str, ...] = (sys.executable, "-m", "alita_mcp.server.transports.entry")
    call_within_s: float = 150.0
    """The server promises an answer to `synthesize_tool` within 45 s; thrice that and more is a hung call."""

    def last_words(self) -> str:
        """The server's last lines on stderr."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"its last words: {lines[-1][:SHOWN_CHARACTERS]}" if lines else "it said nothing"


@dataclass(frozen=True)
class Caller:
    """Requests of the benchmark to a server; each method raises one of `BROKE_OFF` when no reply comes."""

    client: Client
    within_s: float

    async def make(self, words: dict[str, Any]) -> dict[str, Any]:
        """The last answer of `synthesize_tool` about a request, asking again while it is worked on."""
        with anyio.fail_after(MAKE_WITHIN_S):
            answer = await self._synthesize(words)
            while answer.get("status") == "working":
                answer = await self._synthesize({"job_id": answer["job_id"]})
        return answer

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """One call of one tool."""
        with anyio.fail_after(self.within_s):
            return await self.client.call_tool(name, arguments)

    async def listed_names(self) -> set[str]:
        """The names in `tools/list`, all pages of it."""
        names, cursor = set[str](), None
        with anyio.fail_after(self.within_s):
            while True:
                page = await self.client.list_tools(cursor=cursor, cache_mode="refresh")
                names |= {tool.name for tool in page.tools}
                cursor = page.next_cursor
                if not cursor:
                    return names

    async def report(self, name: str) -> dict[str, Any]:
        """The evidence card of a tool; empty when it has nothing."""
        card = (await self.call("inspect_tool", {"name": name})).structured_content
        report = card.get("report") if isinstance(card, dict) else None
        return report if isinstance(report, dict) else {}

    async def _synthesize(self, words: dict[str, Any]) -> dict[str, Any]:
        result = await self.call("synthesize_tool", words)
        if isinstance(result.structured_content, dict):
            return result.structured_content
        return {"status": "failed", "reason": text_of(result)}


@asynccontextmanager
async def connected(server: ServerUnderTest) -> AsyncIterator[Caller]:
    """Starts the server and its client; both are gone afterwards, also when the server hangs.

    Raises:
        TimeoutError: it does not start in time.
        MCPError: it ends before it answers.
    """
    variables = {
        **os.environ,  # noqa: TID251 - the process inherits what ours has: DOCKER_HOST, ALITA_DOCKER_IMAGE
        "ALITA_HOME": str(server.home),
        "ALITA_SANDBOX": server.sandbox,
    }
    command, *words = server.command
    parameters = StdioServerParameters(command=command, args=words, env=variables)
    with server.log.open("a", encoding="utf-8") as log, anyio.fail_after(START_WITHIN_S) as starting:
        async with Client(stdio_client(parameters, errlog=log)) as client:
            starting.deadline = float("inf")
            yield Caller(client, server.call_within_s)


def text_of(result: CallToolResult) -> str:
    """All text of an answer."""
    return " ".join(block.text for block in result.content if block.type == "text")


def in_words(failure: BaseException) -> str:
    """An exception in one short line."""
    while isinstance(failure, BaseExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    if isinstance(failure, TimeoutError):
        return "no answer in time"
    return f"{type(failure).__name__}: {failure}"[:SHOWN_CHARACTERS]
