"""Web agent: searches and reads for a question, and returns passages with their URL and time.

Searching and reading end when a cap is reached; what was read by then is ranked, and what was not is named with why.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import NamedTuple

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.models.embedder_choice import configured_embedder
from alita_mcp.models.embedding.interface import Embedder
from alita_mcp.progress import ReportStage
from alita_mcp.research.interface import Fetcher, MayFollow, Packages, Search
from alita_mcp.research.values import Document, Found, PackageFacts, Researched, ResearchLimits, SearchHit
from alita_mcp.settings import Settings

AT_ONCE = 4
"""Pages that are fetched side by side."""
MAX_QUERY = 400
"""Characters of a question that are searched for."""
MAX_REASON = 300
SPARE_TRIES = 2
"""So many more addresses than twice the cap of pages may be tried, since some pages cannot be read."""
NOT_ALLOWED = "its address may not be read here"


class Parts(NamedTuple):
    """What a web agent is made of."""

    search: Search
    fetcher: Fetcher
    packages: Packages
    embedder: Embedder | None = None


class SearchingAgent:
    """Web agent whose parts are opened at the first question; implements `WebAgent`."""

    def __init__(
        self, open_parts: Callable[[], Awaitable[Parts]], backends: Callable[[], Sequence[str]] = tuple
    ) -> None:
        self._open_parts = open_parts
        self._backends = backends
        self._opening = anyio.Lock()
        self._parts: Parts | None = None

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the configured search back ends; raises UsageError where the settings do not fit."""
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
        """Passages that bear on a question, from `urls` and from what the back ends find, within the caps."""
        from alita_mcp.research.passages import best_passages

        search, fetcher, _, embedder = await self._open_once()
        caps = limits or ResearchLimits()
        reading = _Reading(fetcher, caps, on_stage)
        found = Found()
        with anyio.move_on_after(caps.seconds) as deadline:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reading.read, urls)
                if search.backends:
                    await reading.report("search")
                    query = " ".join(question.split())[:MAX_QUERY]
                    found = await search.search(query, max(8, 2 * reading.pages_left))
                fresh = [hit.url for hit in found.hits if hit.url not in urls]
                barred = [url for url in fresh if may_fetch is not None and not may_fetch(url)]
                reading.unread += [f"{url[:MAX_REASON]}: {NOT_ALLOWED}" for url in barred]
                tasks.start_soon(reading.read, [url for url in fresh if url not in barred])
        if deadline.cancelled_caught:
            reading.stop("seconds", sorted(reading.under_way))
        snippets = [_snippet(hit) for hit in found.hits if hit.snippet and hit.url not in reading.read_urls]
        await reading.report(f"{len(reading.documents)} pages read")
        return Researched(
            question=question,
            passages=await best_passages(question, [*reading.documents, *snippets], caps.tokens, embedder),
            hits=found.hits,
            unread=tuple(reading.unread),
            failed=found.failed,
            stopped=reading.stopped,
        )

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """One document; raises as `Fetcher.fetch`."""
        return await (await self._open_once()).fetcher.fetch(url, may_follow=may_follow)

    async def package(self, name: str, python_tag: str = "") -> PackageFacts:
        """Facts about a package from the index; raises UsageError where the index does not respond."""
        return await (await self._open_once()).packages.facts(name, python_tag)

    async def _open_once(self) -> Parts:
        async with self._opening:
            if self._parts is None:
                self._parts = await self._open_parts()
            return self._parts


class _Reading:
    """What one piece of research has read so far, held to its caps."""

    def __init__(self, fetcher: Fetcher, caps: ResearchLimits, on_stage: ReportStage | None) -> None:
        self.documents: list[Document] = []
        self.unread: list[str] = []
        self.stopped = ""
        self.read_urls: set[str] = set()
        """URLs that were read, and the targets of their redirects."""
        self.under_way: set[str] = set()
        self._fetcher = fetcher
        self._caps = caps
        self._on_stage = on_stage
        self._slots = anyio.CapacityLimiter(AT_ONCE)
        self._finished = anyio.Event()
        self._tried = 0
        self._bytes = 0

    @property
    def pages_left(self) -> int:
        """Number of pages that may still be read, without those under way."""
        return max(0, self._caps.pages - len(self.documents) - len(self.under_way))

    async def report(self, stage: str) -> None:
        """Reports what is being done."""
        if self._on_stage is not None:
            await self._on_stage(stage)

    def stop(self, cap: str, under_way: Iterable[str] = ()) -> None:
        """Records the cap that ended the reading, and the pages under way."""
        self.stopped = self.stopped or cap
        self.unread += [f"{url[:MAX_REASON]}: not read within {self._caps.seconds:g} s" for url in under_way]

    async def read(self, urls: Sequence[str]) -> None:
        """Reads pages concurrently, as many as the caps allow."""
        async with anyio.create_task_group() as tasks:
            for url in dict.fromkeys(urls):
                tasks.start_soon(self._read_page, url)

    async def _read_page(self, url: str) -> None:
        async with self._slots:
            while (cap := self._reached_cap()) == "pages" and self.under_way:
                await self._finished.wait()  # one of those under way may turn out to be unreadable
            if cap:
                self.stop(cap)
                return
            self._tried += 1
            self.under_way.add(url)
            try:
                await self.report(f"reading {url[:120]}")
                self._keep(url, await self._fetcher.fetch(url))
            except AlitaError as failure:
                self.unread.append(f"{url[:MAX_REASON]}: {failure.message[:MAX_REASON]}")
            self.under_way.discard(url)
            self._finished.set()
            self._finished = anyio.Event()

    def _reached_cap(self) -> str:
        """The cap that forbids another page; empty where none does."""
        if not self.pages_left or self._tried >= 2 * self._caps.pages + SPARE_TRIES:
            return "pages"
        return "bytes" if self._bytes >= self._caps.bytes else ""

    def _keep(self, url: str, document: Document) -> None:
        is_known = document.url in self.read_urls
        self.read_urls |= {url, document.url}
        if is_known:
            return
        left = max(0, self._caps.bytes - self._bytes)
        text = document.text.encode(errors="replace")
        self._bytes += len(text)
        if len(text) > left:
            self.stop("bytes")
            document = document.model_copy(update={"text": text[:left].decode(errors="ignore")})
        if document.text:
            self.documents.append(document)


def _snippet(hit: SearchHit) -> Document:
    """What a back end says of a page, as a document of its own."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Document(url=hit.url, title=hit.title, text=hit.snippet, retrieved_at=now)


@asynccontextmanager
async def open_web_agent(
    settings: Settings, *, has_model: bool, embedder: Embedder | None = None
) -> AsyncIterator[SearchingAgent]:
    """The web agent that the settings describe; nothing is imported or opened before the first question.

    `has_model` says whether search back ends that need neither key nor address are wanted. Passages are ranked by
    words, and by meaning where there is an embedder: `embedder`, else the one that the settings name.
    """

    def names() -> Sequence[str]:
        from alita_mcp.research.search.choosing import chosen_names

        return chosen_names(settings, has_model=has_model)

    async def open_parts() -> Parts:
        from alita_mcp.research.fetching.fetcher import open_fetcher
        from alita_mcp.research.packages import PackageIndex, open_project_reader
        from alita_mcp.research.search.choosing import open_search

        async with AsyncExitStack() as opening:  # closes what was opened where a later part cannot be
            search = await opening.enter_async_context(open_search(settings, has_model=has_model))
            fetcher = await opening.enter_async_context(open_fetcher(settings))
            projects = await opening.enter_async_context(open_project_reader(settings))
            chosen = embedder or configured_embedder(settings)
            opened.push_async_exit(opening.pop_all())
        return Parts(search, fetcher, PackageIndex(projects), chosen)

    async with AsyncExitStack() as opened:
        yield SearchingAgent(open_parts, names)
