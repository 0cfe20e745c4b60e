"""Web agent of a process, opened from the settings at the first question.

A task of its own opens and closes the agent: some of its parts hold task groups, which end where they began.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import anyio
from anyio.abc import TaskGroup

from alita_mcp.errors import AlitaError
from alita_mcp.library.background import background
from alita_mcp.models.embedder_choice import configured_embedder
from alita_mcp.models.embedding.interface import Embedder
from alita_mcp.progress import ReportStage
from alita_mcp.research.interface import MayFollow, WebAgent
from alita_mcp.research.values import Document, PackageFacts, Researched, ResearchLimits
from alita_mcp.research.web_agent import SearchingAgent
from alita_mcp.settings import Settings

CLOSING_S = 5.0
"""How long the end of a process waits for connections to close."""
Opening = Callable[[], AbstractAsyncContextManager[WebAgent]]


class LazyWebAgent:
    """A web agent that is opened when it is first needed; implements `WebAgent`."""

    def __init__(self, tasks: TaskGroup, opening: Opening, backends: Callable[[], Sequence[str]]) -> None:
        self._tasks = tasks
        self._opening = opening
        self._backends = backends
        self._opened: WebAgent | None = None
        self._failure: AlitaError | None = None
        self._settled: anyio.Event | None = None
        self._closing = anyio.Event()

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the configured search back ends, before anything is opened; raises UsageError as `open_search`."""
        return tuple(self._backends())

    async def research(
        self,
        question: str,
        limits: ResearchLimits | None = None,
        *,
        on_stage: ReportStage | None = None,
        urls: Sequence[str] = (),
        may_fetch: Callable[[str], bool] | None = None,
    ) -> Researched:
        """Researches as `SearchingAgent.research`; raises UsageError where the settings do not fit."""
        agent = await self._agent()
        return await agent.research(question, limits, on_stage=on_stage, urls=urls, may_fetch=may_fetch)

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """One document; raises as `Fetcher.fetch`."""
        return await (await self._agent()).fetch(url, may_follow=may_follow)

    async def package(self, name: str, python_tag: str = "") -> PackageFacts:
        """Facts about a package from the index; raises UsageError where the index does not respond."""
        return await (await self._agent()).package(name, python_tag)

    def close(self) -> None:
        """Closes what was opened."""
        self._closing.set()

    async def _agent(self) -> WebAgent:
        if self._settled is None:
            self._settled = anyio.Event()
            self._tasks.start_soon(self._hold, self._settled)
        await self._settled.wait()
        if self._opened is None:
            if (said := self._failure) is None:
                raise AlitaError("The web agent is closed.")
            raise type(said)(said.message, hint=said.hint)
        return self._opened

    async def _hold(self, settled: anyio.Event) -> None:
        """Opens the agent and keeps it until it is to be closed; one that could not be opened is tried again."""
        try:
            async with self._opening() as agent:
                self._opened = agent
                settled.set()
                await self._closing.wait()
        except AlitaError as failure:
            self._failure, self._settled = failure, None
        finally:
            self._opened = None
            settled.set()


def open_web_agent(
    settings: Settings, *, has_model: bool, embedder: Embedder | None = None
) -> AbstractAsyncContextManager[WebAgent]:
    """The web agent that the settings describe; nothing is imported or opened before it is asked.

    `has_model` says whether search back ends that need neither key nor address are wanted. Passages are ranked by
    words, and by meaning where there is an embedder: `embedder`, else the one that the settings name.
    """

    def names() -> Sequence[str]:
        from alita_mcp.research.search.choosing import chosen_names

        return chosen_names(settings, has_model=has_model)

    return open_lazily(partial(_opened, settings, embedder, has_model=has_model), names)


@asynccontextmanager
async def _opened(
    settings: Settings, embedder: Embedder | None, *, has_model: bool
) -> AsyncIterator[WebAgent]:
    from alita_mcp.research.fetching.fetcher import open_fetcher
    from alita_mcp.research.packages import PackageIndex, open_project_reader
    from alita_mcp.research.search.choosing import open_search

    embedder = embedder or configured_embedder(settings)
    async with (
        open_search(settings, has_model=has_model) as search,
        open_fetcher(settings) as fetcher,
        open_project_reader(settings) as projects,
    ):
        yield SearchingAgent(search, fetcher, PackageIndex(projects), embedder)


@asynccontextmanager
async def open_lazily(
    opening: Opening, backends: Callable[[], Sequence[str]] = tuple
) -> AsyncIterator[LazyWebAgent]:
    """A web agent that `opening` opens at the first question; leaving it closes it."""
    async with background() as tasks:
        agent = LazyWebAgent(tasks, opening, backends)
        yield agent
        agent.close()
        tasks.cancel_scope.deadline = anyio.current_time() + CLOSING_S
