"""The web agent of a process: settings in; search, fetcher and package index opened at the first question out.

What is opened is opened and closed by one task of its own: some of it holds task groups, which end where they began.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from alita_mcp.errors import AlitaError
from alita_mcp.library.background import background
from alita_mcp.research.interface import OnStage, WebAgent
from alita_mcp.research.values import Document, PackageFacts, Researched, ResearchLimits

CLOSING_S = 5.0
"""How long the end of a process waits for connections to close."""
Opening = Callable[[], AbstractAsyncContextManager[WebAgent]]


class LazyWebAgent:
    """A web agent that is opened when it is first needed; fills the `WebAgent` protocol."""

    def __init__(self, tasks: TaskGroup, opening: Opening, backends: Sequence[str]) -> None:
        self._tasks = tasks
        self._opening = opening
        self._backends = tuple(backends)
        self._opened: WebAgent | None = None
        self._failure: AlitaError | None = None
        self._settled: anyio.Event | None = None
        self._closing = anyio.Event()

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the configured search back ends; known before anything is opened."""
        return self._backends

    async def research(
        self,
        question: str,
        limits: ResearchLimits | None = None,
        *,
        on_stage: OnStage | None = None,
        urls: Sequence[str] = (),
        may_fetch: Callable[[str], bool] | None = None,
    ) -> Researched:
        """As `SearchingAgent.research`; raises UsageError where the settings do not fit."""
        agent = await self._agent()
        return await agent.research(question, limits, on_stage=on_stage, urls=urls, may_fetch=may_fetch)

    async def fetch(self, url: str) -> Document:
        """One document; raises as `Fetcher.fetch`."""
        return await (await self._agent()).fetch(url)

    async def package(self, name: str, python_tag: str = "") -> PackageFacts:
        """What the package index says of a package; raises UsageError where the index does not answer."""
        return await (await self._agent()).package(name, python_tag)

    def close(self) -> None:
        """Lets what was opened close."""
        self._closing.set()

    async def _agent(self) -> WebAgent:
        if self._settled is None:
            self._settled = anyio.Event()
            self._tasks.start_soon(self._hold, self._settled)
        await self._settled.wait()
        if self._opened is None:
            said = self._failure
            raise (
                AlitaError("The web agent is closed.")
                if said is None
                else type(said)(said.message, hint=said.hint)
            )
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


@asynccontextmanager
async def open_lazily(opening: Opening, backends: Sequence[str]) -> AsyncIterator[LazyWebAgent]:
    """A web agent that `opening` opens at the first question; leaving it closes it."""
    async with background() as tasks:
        agent = LazyWebAgent(tasks, opening, backends)
        yield agent
        agent.close()
        tasks.cancel_scope.deadline = anyio.current_time() + CLOSING_S
