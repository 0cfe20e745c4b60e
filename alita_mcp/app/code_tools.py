"""Access of running code to the library: manifests, search and calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from alita_mcp.app.calls import Calls
from alita_mcp.app.code_rights import CHAIN
from alita_mcp.errors import InvalidArguments
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.library import Library
from alita_mcp.library.search.answer import SearchHit
from alita_mcp.library.search.signature import signature_of
from alita_mcp.runs.code_run import CodeRequest
from alita_mcp.runs.tool_broker import MODULE, RedactingBroker, open_tool_broker, tools_imported_by
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.values import Manifest
from alita_mcp.verification.json_schema import validate_arguments

ShowManifest = Callable[[Manifest], Manifest]
"""Reduces a manifest to what the client may read of it; returns the same object where it may read all."""
MAX_PLAIN_TEXT = 200


class ToolsInCode:
    """The library as a client's code sees it."""

    def __init__(self, library: Library, calls: Calls, client: str, shown: ShowManifest) -> None:
        self._library = library
        self._calls = calls
        self._client = client
        self._shown = shown

    def manifest(self, name: str) -> Manifest:
        """A tool as the client may see it; raises as `Library.entry`."""
        return self._shown(self._library.entry(name).manifest)

    async def search_tools(self, query: str, limit: int) -> Sequence[SearchHit]:
        """Tools for a need, journalled as a search of the client; nothing is learned from what follows it."""
        found = await self._library.search(query, limit)
        self._library.calls.record_search(query, found, self._client)
        shown = [(hit, self._shown(hit.entry.manifest)) for hit in found.results]
        return [
            hit.model_copy(update={"signature": signature_of(seen), "summary": seen.summary})
            for hit, seen in shown
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> RunResult:
        """One call, journalled as a call of the client; raises as `Calls.run_tool`.

        A tool that may show little of itself shows no more when it refuses or fails.
        """
        manifest = self._library.entry(name).manifest
        seen = self._shown(manifest)
        try:
            result = (await self._calls.run_tool(name, arguments, chain=CHAIN, client=self._client)).result
        except InvalidArguments:
            if seen is not manifest:
                plainly = partial(validate_arguments, seen.input_schema, arguments)
                await off_loop(plainly, large=is_large(arguments))
                raise InvalidArguments("an argument is none of the choices.") from None
            raise
        if result.ok or seen is manifest:
            return result
        return result.model_copy(update={"message": " ".join(result.message.split())[:MAX_PLAIN_TEXT]})

    @asynccontextmanager
    async def open_broker(
        self, request: CodeRequest, inner: RedactingBroker | None
    ) -> AsyncIterator[RedactingBroker | None]:
        """Opens the broker of a run: the inner one, and these tools in front of it where the code may use them."""
        if MODULE not in request.code and not request.session:
            yield inner
            return
        await self._calls.prepare_tools(tools_imported_by(request.code), CHAIN)
        async with open_tool_broker(self, inner) as outer:
            yield outer
