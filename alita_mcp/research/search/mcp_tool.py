"""Search back end that calls a search tool of another MCP server."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.research.replies import TIMEOUT_S
from alita_mcp.research.search.hits import hits_of
from alita_mcp.research.search.tool_results import rows_in_text, rows_in_value
from alita_mcp.research.texts import MAX_QUERY, one_line
from alita_mcp.research.values import SearchHit
from alita_mcp.settings import inherited_environment
from alita_mcp.values import Value

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult, Tool

MAX_CHARACTERS = 2_000_000
_QUERY_NAMES = (
    "query",
    "q",
    "search_query",
    "searchQuery",
    "search",
    "question",
    "text",
    "keywords",
    "input",
    "term",
)
_LIMIT_NAMES = ("max_results", "maxResults", "limit", "count", "num_results", "numResults", "top_k", "n", "k")
_MOST_PAGES = 20


class ToolPlace(Value):
    """Server and name of a tool."""

    tool: str
    url: str = ""
    """May hold a key: no message says it."""
    command: tuple[str, ...] = ()


def tool_place(said: str) -> ToolPlace:
    """The place in `URL #tool` or `command arguments #tool`.

    Raises:
        UsageError: it is neither; the message does not repeat it, for it may hold a key.
    """
    where, hash_sign, tool = said.strip().rpartition(" #")
    try:
        words = tuple(shlex.split(where, posix=os.name != "nt"))
    except ValueError:
        words = ()
    if not hash_sign or not tool.strip() or not words:
        raise UsageError(
            "ALITA_SEARCH_MCP names no tool of a server.",
            hint="Write `URL #tool` or `command arguments #tool`.",
        )
    if len(words) == 1 and words[0].startswith(("http://", "https://")):
        return ToolPlace(tool=tool.strip(), url=words[0])
    return ToolPlace(tool=tool.strip(), command=words)


class McpToolSearch:
    """Search that connects, calls the tool once, and disconnects; implements `SearchBackend`.

    A server that is a command is started for each search, without our settings and with the rest of the environment.
    Over HTTP the SDK follows redirects within the server's origin and no others.
    """

    name = "mcp"

    def __init__(
        self, place: ToolPlace, allowed: frozenset[str] = frozenset(), *, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._place = place
        self._allowed = allowed
        self._timeout_s = timeout_s

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` hits in the tool's order; raises UsageError."""
        result = await self._call(one_line(query, MAX_QUERY), limit)
        texts = [item.text for item in result.content if item.type == "text"]
        if sum(map(len, texts)) > MAX_CHARACTERS:
            raise UsageError(f"{self.name} answered with more than {MAX_CHARACTERS:,} characters.")
        if result.is_error:
            raise UsageError(f"{self.name}: the tool {self._place.tool!r} answered with an error.")
        linked = [item for item in result.content if item.type == "resource_link"]
        links = [(item.uri, item.title or item.name, item.description, "") for item in linked]
        rows = rows_in_value(result.structured_content) or list(chain.from_iterable(map(rows_in_text, texts)))
        return hits_of(self.name, rows or links, limit, self._allowed)

    async def _call(self, query: str, limit: int) -> CallToolResult:
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        try:
            with anyio.fail_after(self._timeout_s):
                async with self._connected() as client:
                    tool = await self._tool(client)
                    return await client.call_tool(tool.name, arguments_for(tool.input_schema, query, limit))
        except TimeoutError as late:
            raise UsageError(f"{self.name} did not answer within {self._timeout_s:g} s.") from late
        except (MCPError, OSError, ValueError, RuntimeError, ValidationError, ExceptionGroup) as failed:
            first = _first(failed)
            if isinstance(first, UsageError):
                raise first from failed
            why = f"{self.name} did not answer: {type(first).__name__}."
            raise UsageError(why, hint="Check ALITA_SEARCH_MCP.") from failed

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        if self._place.url:
            logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs URLs, and this one may hold a key
            async with Client(self._place.url) as client:
                yield client
            return
        command, *arguments = self._place.command
        server = StdioServerParameters(command=command, args=arguments, env=inherited_environment())
        with _nowhere() as stderr:
            async with Client(stdio_client(server, errlog=stderr)) as client:
                yield client

    async def _tool(self, client: Client) -> Tool:
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            if found := [tool for tool in page.tools if tool.name == self._place.tool]:
                return found[0]
            if not (cursor := page.next_cursor):
                break
        why = f"{self.name}: the server has no tool {self._place.tool!r}."
        raise UsageError(why, hint="Check ALITA_SEARCH_MCP.")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def arguments_for(schema: Mapping[str, Any], query: str, limit: int) -> dict[str, Any]:
    """Arguments of a search tool by its schema: the query, and the limit where it has one."""
    said = schema.get("properties")
    properties: dict[str, Any] = said if isinstance(said, dict) else {}
    required = [name for name in schema.get("required") or () if isinstance(name, str)]
    wanted = next((name for name in _QUERY_NAMES if name in properties), required[0] if required else "query")
    shape = properties.get(wanted)
    many = isinstance(shape, dict) and shape.get("type") == "array"
    arguments: dict[str, Any] = {wanted: [query] if many else query}
    for name in _LIMIT_NAMES:
        shape = properties.get(name)
        if isinstance(shape, dict) and shape.get("type") in ("integer", "number"):
            most = shape.get("maximum")
            arguments[name] = int(min(limit, most)) if isinstance(most, int | float) and most >= 1 else limit
            break
    return arguments


def _first(failed: BaseException) -> BaseException:
    return _first(failed.exceptions[0]) if isinstance(failed, BaseExceptionGroup) else failed
