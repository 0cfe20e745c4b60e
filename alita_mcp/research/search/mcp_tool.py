"""Search back end that calls a search tool of another MCP server, and the parser of what such tools return."""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.research.json_api import TIMEOUT_S
from alita_mcp.research.search.apis import Row, hits_of
from alita_mcp.research.texts import MAX_QUERY, one_line
from alita_mcp.research.values import SearchHit
from alita_mcp.settings import inherited_environment
from alita_mcp.values import Value

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

MAX_CHARACTERS = 2_000_000
_MAX_PAGES, _MAX_VISITED, _MAX_ROWS, _MAX_LINES, _MAX_LINE = 20, 10_000, 200, 20_000, 5_000
_QUERY_NAMES = (
    "query", "q", "search_query", "searchQuery", "search", "question", "text", "keywords", "input", "term",
)  # fmt: skip
_LIMIT_NAMES = ("max_results", "maxResults", "limit", "count", "num_results", "numResults", "top_k", "n", "k")
_URL_NAMES = ("url", "link", "href", "uri", "html_url", "page_url")
_TITLE_NAMES = ("title", "name", "heading")
_SNIPPET_NAMES = ("snippet", "description", "content", "summary", "text", "abstract", "body", "highlights")
_DATE_NAMES = ("published", "publishedDate", "published_date", "date", "page_age", "updated_at")
_FIELD = re.compile(r"[-*#>\s\d.)]{0,12}[*_]{0,2}([A-Za-z ]{3,16}?)[*_]{0,2}:[*_]{0,2}[ \t]*(\S.{0,3000})")
_LINK = re.compile(
    r"\[(?P<title>[^\]\[\n]{1,300}+)\]\((?P<url>https?://[^\s()<>]{1,2000}+(?:\([^\s()<>]{0,200}+\)[^\s()<>]{0,500}+)?+)\)"
    r"|(?P<bare>https?://[^\s<>\"'`)\]]{4,2000})"
)
"""A Markdown link or a bare URL."""


class ToolPlace(Value):
    """Server and name of a tool."""

    tool: str
    url: str = ""
    """May hold a key: no message says it."""
    command: tuple[str, ...] = ()


def tool_place(setting: str) -> ToolPlace:
    """The place in `URL #tool` or `command arguments #tool`.

    Raises:
        UsageError: it is neither; the message does not repeat it, for it may hold a key.
    """
    where, hash_sign, tool = setting.strip().rpartition(" #")
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
                    cursor: str | None = None
                    for _ in range(_MAX_PAGES):
                        page = await client.list_tools(cursor=cursor)
                        for tool in page.tools:
                            if tool.name == self._place.tool:
                                arguments = arguments_for(tool.input_schema, query, limit)
                                return await client.call_tool(tool.name, arguments)
                        if not (cursor := page.next_cursor):
                            break
        except TimeoutError as late:
            raise UsageError(f"{self.name} did not answer within {self._timeout_s:g} s.") from late
        except (MCPError, OSError, ValueError, RuntimeError, ValidationError, ExceptionGroup) as failed:
            first: BaseException = failed
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            why = f"{self.name} did not answer: {type(first).__name__}."
            raise UsageError(why, hint="Check ALITA_SEARCH_MCP.") from failed
        why = f"{self.name}: the server has no tool {self._place.tool!r}."
        raise UsageError(why, hint="Check ALITA_SEARCH_MCP.")

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
        with Path(os.devnull).open("w", encoding="utf-8") as stderr:  # noqa: ASYNC230 - the null device
            async with Client(stdio_client(server, errlog=stderr)) as client:
                yield client


def arguments_for(schema: Mapping[str, Any], query: str, limit: int) -> dict[str, Any]:
    """Arguments of a search tool by its schema: the query, and the limit where it has one."""
    declared = schema.get("properties")
    properties: dict[str, Any] = declared if isinstance(declared, dict) else {}
    required = [name for name in schema.get("required") or () if isinstance(name, str)]
    wanted = next((name for name in _QUERY_NAMES if name in properties), required[0] if required else "query")
    shape = properties.get(wanted)
    takes_many = isinstance(shape, dict) and shape.get("type") == "array"
    arguments: dict[str, Any] = {wanted: [query] if takes_many else query}
    for name in _LIMIT_NAMES:
        shape = properties.get(name)
        if isinstance(shape, dict) and shape.get("type") in ("integer", "number"):
            most = shape.get("maximum")
            arguments[name] = int(min(limit, most)) if isinstance(most, int | float) and most >= 1 else limit
            break
    return arguments


def rows_in_value(value: Any) -> list[Row]:
    """Rows of the outermost list whose objects have a URL."""
    waiting = deque([value])
    for _ in range(_MAX_VISITED):
        if not waiting:
            break
        here = waiting.popleft()
        if isinstance(here, list):
            here = here[:_MAX_ROWS]
            if rows := [_row(each) for each in here if _has_url(each)]:
                return rows
            waiting.extend(here)
        elif isinstance(here, dict):
            waiting.extend(list(here.values())[:_MAX_ROWS])
        elif isinstance(here, str) and here[:1] in ("{", "[") and len(here) <= MAX_CHARACTERS:
            waiting.append(_parsed(here))
    return [_row(value)] if _has_url(value) else []


def rows_in_text(text: str) -> list[Row]:
    """Rows of a text: JSON, blocks of `Title:` and `URL:`, or lines with a Markdown link or a URL."""
    if text.lstrip()[:1] in ("{", "[") and (rows := rows_in_value(_parsed(text))):
        return rows
    lines = [line[:_MAX_LINE] for line in text.splitlines()[:_MAX_LINES]]
    return (list(_rows_in_fields(lines)) or list(_rows_with_links(lines)))[:_MAX_ROWS]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _has_url(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(name), str) for name in _URL_NAMES)


def _row(found: dict[str, Any]) -> Row:
    url, title, snippet, day = (
        next((found[name] for name in names if found.get(name)), "")
        for names in (_URL_NAMES, _TITLE_NAMES, _SNIPPET_NAMES, _DATE_NAMES)
    )
    if isinstance(snippet, list):
        snippet = " … ".join(part for part in snippet if isinstance(part, str))
    return url, title, snippet, day


def _rows_in_fields(lines: list[str]) -> Iterator[Row]:
    """Blocks of `Name: value` lines, each begun by a name that the block before has already."""
    block: dict[str, Any] = {}
    last = ""
    for line in lines:
        field = _FIELD.match(line)
        name = field[1].strip().lower().replace(" ", "_") if field else ""
        if field and name in _URL_NAMES + _TITLE_NAMES + _SNIPPET_NAMES + _DATE_NAMES:
            if name in block and _has_url(block):
                yield _row(block)
                block = {}
            block[name], last = field[2].strip(), name
        elif last in _SNIPPET_NAMES and line.strip() and len(block[last]) < 2_000:
            block[last] += f" {line.strip()}"
        elif not line.strip():
            last = ""
    if _has_url(block):
        yield _row(block)


def _rows_with_links(lines: list[str]) -> Iterator[Row]:
    """Links; the rest of a link's line and the lines up to the next one are its snippet."""
    links: list[tuple[str, str, list[str]]] = []
    for line in lines:
        links += [
            (match["url"] or match["bare"].rstrip(".,;"), match["title"] or "", [])
            for match in _LINK.finditer(line)
        ]
        if links and (text := _LINK.sub("", line).strip(" \t-*#>|:.0123456789()")):
            links[-1][2].append(text)
    for url, title, texts in links:
        yield url, title, " ".join(texts), ""
