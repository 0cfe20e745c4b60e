"""The web agent of a process, until its parts are merged: pages only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from alita_mcp.errors import UsageError
from alita_mcp.research.interface import OnStage, WebAgent
from alita_mcp.research.pages import open_page_reader
from alita_mcp.research.values import Document, PackageFacts, Researched, ResearchLimits
from alita_mcp.settings import Settings


class _Pages:
    def __init__(self, settings: Settings) -> None:
        self._allow = [each.strip() for each in settings.web_allow.split(",") if each.strip()]

    @property
    def backends(self) -> tuple[str, ...]:
        return ()

    async def research(
        self,
        question: str,
        limits: ResearchLimits | None = None,
        *,
        on_stage: OnStage | None = None,
        urls: Sequence[str] = (),
        may_fetch: Callable[[str], bool] | None = None,
    ) -> Researched:
        del limits, on_stage, urls, may_fetch
        raise UsageError(f"No search back end is configured for {question[:80]!r}.")

    async def fetch(self, url: str) -> Document:
        async with open_page_reader(self._allow) as reader:
            page = await reader.read(url)
        return Document(url=page.url, title=page.title, text=page.text)

    async def package(self, name: str) -> PackageFacts:
        raise UsageError(f"No package index for {name!r}.")


@asynccontextmanager
async def open_web_agent(settings: Settings, *, has_model: bool) -> AsyncIterator[WebAgent]:
    """Pages only."""
    del has_model
    yield _Pages(settings)
