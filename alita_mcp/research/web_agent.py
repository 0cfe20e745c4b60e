"""Web agent: searches and reads for a question, and returns passages with their URL and time.

Searching and reading end when a limit is reached; what was read by then is ranked, and what was not is named with why.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.progress import ReportStage
from alita_mcp.research.texts import MAX_QUERY
from alita_mcp.research.values import Document, Found, MayFollow, Researched, ResearchLimits
from alita_mcp.settings import Settings

if TYPE_CHECKING:  # loaded at the first question
    from alita_mcp.research.fetcher import WebFetcher
    from alita_mcp.research.search.backends import MergedSearch

CONCURRENCY = 4
"""Pages that are fetched at once."""
MAX_REASON = 300
NOT_ALLOWED = "its address may not be read here"


class Parts(NamedTuple):
    """What a web agent is made of."""

    search: MergedSearch
    fetcher: WebFetcher


class WebAgent:
    """Search, fetching and ranking in one; its parts are opened at the first question."""

    def __init__(
        self, open_parts: Callable[[], Awaitable[Parts]], backends: Callable[[], Sequence[str]] = tuple
    ) -> None:
        self._open_parts = open_parts
        self._backends = backends
        self._opening = anyio.Lock()
        self._parts: Parts | None = None

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the configured search back ends; raises UsageError where a setting is invalid."""
        return tuple(self._backends())

    async def research(
        self,
        question: str,
        limits: ResearchLimits | None = None,
        *,
        on_stage: ReportStage | None = None,
        urls: Sequence[str] = (),
        may_fetch: MayFollow | None = None,
    ) -> Researched:
        """Passages that are relevant to a question, from `urls` and from what the back ends find, within the limits.

        `may_fetch` says which pages and redirects may be read; None: all. A page that could not be read is named in
        `unread`, and what a back end said of it is ranked in its place.
        """
        from alita_mcp.research.passages import best_passages

        search, fetcher = await self._open_once()
        limits = limits or ResearchLimits()
        reading = _Reading(fetcher, limits, on_stage, may_fetch)
        found = Found()
        with anyio.move_on_after(limits.seconds) as deadline:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reading.read_pages, urls)
                if search.backends:
                    await reading.report("search")
                    query = " ".join(question.split())[:MAX_QUERY]
                    found = await search.search(query, max(8, 2 * limits.pages))
            new = (hit.url for hit in found.hits if hit.url not in urls)
            await reading.read_pages(new)
        if deadline.cancelled_caught:
            reading.stop("seconds")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        snippets = [  # what a back end says of a page that was not read
            Document(url=hit.url, title=hit.title, text=hit.snippet, retrieved_at=now)
            for hit in found.hits
            if hit.snippet and hit.url not in reading.read_urls
        ]
        await reading.report(f"{len(reading.documents)} pages read")
        return Researched(
            question=question,
            passages=await best_passages(question, [*reading.documents, *snippets], limits.tokens),
            hits=found.hits,
            unread=tuple(reading.unread),
            failed=found.failed,
            stopped=reading.stopped,
        )

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """The document at a URL, whole up to the caps; `may_follow` says which other hosts it may lead to, None: all.

        Raises:
            ExtraMissing: what reads pages is not installed; no request is sent then.
            UsageError: not http(s), not public, forbidden by robots.txt, too large, too slow, no text, not answered,
                or redirected to where it may not be followed.
        """
        return await (await self._open_once()).fetcher.fetch(url, may_follow=may_follow)

    async def _open_once(self) -> Parts:
        async with self._opening:
            if self._parts is None:
                self._parts = await self._open_parts()
            return self._parts


class _Reading:
    """What one piece of research has read so far, within its limits."""

    def __init__(
        self,
        fetcher: WebFetcher,
        limits: ResearchLimits,
        on_stage: ReportStage | None,
        may_fetch: MayFollow | None,
    ) -> None:
        self.documents: list[Document] = []
        self.unread: list[str] = []
        self.stopped = ""
        self.read_urls: set[str] = set()
        """URLs that were read, and the targets of their redirects."""
        self._fetcher = fetcher
        self._limits = limits
        self._on_stage = on_stage
        self._may_fetch = may_fetch
        self._slots = anyio.CapacityLimiter(CONCURRENCY)
        self._under_way: set[str] = set()

    async def report(self, stage: str) -> None:
        """Reports the stage that begins."""
        if self._on_stage is not None:
            await self._on_stage(stage)

    def stop(self, limit: str) -> None:
        """Records the limit that ended the reading, and the pages that were under way."""
        self.stopped = self.stopped or limit
        late = f"not read within {self._limits.seconds:g} s"
        self.unread += [f"{url[:MAX_REASON]}: {late}" for url in sorted(self._under_way)]

    async def read_pages(self, urls: Iterable[str]) -> None:
        """Reads as many pages as the limits allow; those that cannot be read make room for the next ones."""
        waiting = deque(dict.fromkeys(urls))
        while waiting:
            count = min(len(waiting), self._limits.pages - len(self.documents))
            if count <= 0:
                self.stop("pages")
                return
            async with anyio.create_task_group() as tasks:
                for url in [waiting.popleft() for _ in range(count)]:
                    if self._may_fetch is None or self._may_fetch(url):
                        tasks.start_soon(self._read_page, url)
                    else:
                        self.unread.append(f"{url[:MAX_REASON]}: {NOT_ALLOWED}")

    async def _read_page(self, url: str) -> None:
        async with self._slots:
            self._under_way.add(url)
            try:
                await self.report(f"reading {url[:120]}")
                document = await self._fetcher.fetch(url, may_follow=self._may_fetch)
            except AlitaError as failure:
                document = None
                self.unread.append(f"{url[:MAX_REASON]}: {failure.message[:MAX_REASON]}")
            self._under_way.discard(url)  # one that the end of the time cuts off stays under way
        if document is None:
            return
        # It is kept, unless it was read under another URL.
        if document.url not in self.read_urls and document.text:
            self.documents.append(document)
        self.read_urls |= {url, document.url}


@asynccontextmanager
async def open_web_agent(settings: Settings, *, has_model: bool) -> AsyncIterator[WebAgent]:
    """The web agent that the settings describe; nothing is imported or opened before the first question.

    `has_model` says whether search back ends that need neither key nor address are wanted.
    """

    def backends() -> Sequence[str]:
        from alita_mcp.research.search.backends import backend_names

        return backend_names(settings, has_model=has_model)

    async def open_parts() -> Parts:
        from alita_mcp.research.fetcher import open_fetcher
        from alita_mcp.research.search.backends import open_search

        async with AsyncExitStack() as opening:  # closes what was opened where a later part cannot be
            search = await opening.enter_async_context(open_search(settings, has_model=has_model))
            fetcher = await opening.enter_async_context(open_fetcher(settings))
            opened.push_async_exit(opening.pop_all())
        return Parts(search, fetcher)

    async with AsyncExitStack() as opened:
        yield WebAgent(open_parts, backends)
