"""The manager agent's hands: the same flows as clients use, answers as plain JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alita_mcp.synthesis.jobs import OnStage
from alita_mcp.synthesis.request import SynthesisRequest

if TYPE_CHECKING:
    from alita_mcp.app.app import App


class Hands:
    """What the manager agent can do: the same flows as clients use, answers as plain JSON."""

    def __init__(self, app: App, on_stage: OnStage) -> None:
        self._app = app
        self._on_stage = on_stage

    async def search(self, query: str) -> Any:
        """Tools for a need."""
        return (await self._app.search(query)).model_dump(mode="json")

    async def run(self, tool: str, arguments: dict[str, Any]) -> Any:
        """A tool's result, or what went wrong in it."""
        answer = await self._app.run(tool, arguments)
        failed = answer.result.model_dump(mode="json", include={"status", "error_type", "message"})
        return answer.structured if answer.result.ok else failed

    async def build(self, description: str) -> Any:
        """A new tool, written by the model and proved like any other."""
        request = SynthesisRequest(description=description[:8_000])
        return (await self._app.toolsmith.make(request, self._on_stage)).model_dump(mode="json")

    async def read_page(self, url: str) -> Any:
        """A page of the public web as text."""
        from alita_mcp.research.fetching.fetcher import open_fetcher

        async with open_fetcher(self._app.settings) as fetcher:
            page = await fetcher.fetch(url)
        return {"url": page.url, "title": page.title, "text": page.text[:20_000]}
