"""Web agent: searches and reads for a question, and returns passages with their URL and time.

Searching and reading end when a cap is reached; what was read by then is ranked, and what was not is named with why.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Protocol

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.models.embedding.interface import Embedder
from alita_mcp.progress import ReportStage
from alita_mcp.research.interface import Fetcher, MayFollow, Search
from alita_mcp.research.passages import best_passages
from alita_mcp.research.values import Document, Found, PackageFacts, Researched, ResearchLimits, SearchHit

AT_ONCE = 4
"""Pages that are fetched side by side."""
MAX_QUERY = 400
"""Characters of a question that are searched for."""
MAX_REASON = 300
SPARE_TRIES = 2
"""So many more addresses than twice the cap of pages may be tried, since some pages cannot be read."""
NOT_ALLOWED = "its address may not be read here"


class Packages(Protocol):
    """Interface of a package index."""

    async def facts(self, name: str, python_tag: str) -> PackageFacts:
        """The facts about a package, for that Python tag; raises UsageError where the index does not respond."""
        ...


class SearchingAgent:
    """Web agent made of a search, a fetcher and a package index; implements `WebAgent`."""

    def __init__(
        self, search: Search, fetcher: Fetcher, packages: Packages, embedder: Embedder | None = None
    ) -> None:
        self._search = search
        self._fetcher = fetcher
        self._packages = packages
        self._embedder = embedder

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the configured search back ends."""
        return self._search.backends

    async def research(
        self,
        question: str,
        limits: ResearchLimits | None = None,
        *,
        on_stage: ReportStage | None = None,
        urls: Sequence[str] = (),
        may_fetch: Callable[[str], bool] | None = None,
    ) -> Researched:
        """Passages that bear on a question, from `urls` and from what the back ends find, within the caps.

        A page that could not be read stands in `unread`; what a back end said of it is ranked in its place.
        """
        caps = limits or ResearchLimits()
        reading = _Reading(self._fetcher, caps, on_stage or _nobody)
        found = Found()
        with anyio.move_on_after(caps.seconds) as deadline:
            async with anyio.create_task_group() as tasks:
                reading.name(urls)
                tasks.start_soon(reading.read)
                found = await self._found(question, reading)
                fresh = [hit.url for hit in found.hits if hit.url not in urls]
                barred = [url for url in fresh if may_fetch is not None and not may_fetch(url)]
                reading.unread += [f"{url[:MAX_REASON]}: {NOT_ALLOWED}" for url in barred]
                reading.name([url for url in fresh if url not in barred])
                await reading.read()
        if deadline.cancelled_caught:
            reading.stop("seconds", sorted(reading.under_way))
        snippets = [_snippet(hit) for hit in found.hits if hit.snippet and not reading.is_read(hit.url)]
        documents = [*reading.documents, *snippets]
        await reading.on_stage(f"{len(reading.documents)} pages read")
        return Researched(
            question=question,
            passages=await best_passages(question, documents, caps.tokens, self._embedder),
            hits=found.hits,
            unread=tuple(reading.unread),
            failed=found.failed,
            stopped=reading.stopped,
        )

    async def _found(self, question: str, reading: _Reading) -> Found:
        if not self._search.backends:
            return Found()
        await reading.on_stage("search")
        query = " ".join(question.split())[:MAX_QUERY]
        return await self._search.search(query, max(8, 2 * reading.pages_left))

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """One document; raises as `Fetcher.fetch`."""
        return await self._fetcher.fetch(url, may_follow=may_follow)

    async def package(self, name: str, python_tag: str = "") -> PackageFacts:
        """Facts about a package from the index; raises UsageError where the index does not respond."""
        return await self._packages.facts(name, python_tag)


class _Reading:
    """What one piece of research has read so far, held to its caps."""

    def __init__(self, fetcher: Fetcher, caps: ResearchLimits, on_stage: ReportStage) -> None:
        self.documents: list[Document] = []
        self.unread: list[str] = []
        self.stopped = ""
        self.on_stage = on_stage
        self._fetcher = fetcher
        self._caps = caps
        self._named: set[str] = set()
        self._waiting: deque[str] = deque()
        self._readers = 0
        self._tried = 0
        self._read: set[str] = set()
        self.under_way: set[str] = set()
        self._finished = anyio.Event()
        self._bytes = 0

    @property
    def pages_left(self) -> int:
        """Number of pages that may still be read, without those under way."""
        return max(0, self._caps.pages - len(self.documents) - len(self.under_way))

    def is_read(self, url: str) -> bool:
        """Whether a URL, or the target of its redirect, was read."""
        return url in self._read

    def stop(self, cap: str, under_way: Iterable[str] = ()) -> None:
        """Records the cap that ended the reading, and the pages under way."""
        self.stopped = self.stopped or cap
        self.unread += [f"{url[:MAX_REASON]}: not read within {self._caps.seconds:g} s" for url in under_way]

    def name(self, urls: Sequence[str]) -> None:
        """Queues pages, behind those that were queued before."""
        fresh = [url for url in dict.fromkeys(urls) if url not in self._named]
        self._named.update(fresh)
        self._waiting.extend(fresh)

    async def read(self) -> None:
        """Reads the queued pages concurrently, as many as the caps allow."""
        async with anyio.create_task_group() as tasks:
            for _ in range(min(AT_ONCE - self._readers, len(self._waiting))):
                self._readers += 1
                tasks.start_soon(self._read_one_by_one)

    async def _read_one_by_one(self) -> None:
        try:
            while self._waiting:
                await self._read_next()
        finally:
            self._readers -= 1

    async def _read_next(self) -> None:
        cap = self._cap()
        if cap == "pages" and self.under_way:  # one of them may turn out to be unreadable
            await self._finished.wait()
            return
        if cap:
            self.stop(cap)
            self._waiting.clear()
            return
        url = self._waiting.popleft()
        self._tried += 1
        self.under_way.add(url)
        try:
            await self._fetch(url)
        except AlitaError as failure:
            self.unread.append(f"{url[:MAX_REASON]}: {failure.message[:MAX_REASON]}")
        self.under_way.discard(url)
        self._finished.set()
        self._finished = anyio.Event()

    def _cap(self) -> str:
        """The cap that forbids another page; empty where none does."""
        if not self.pages_left or self._tried >= 2 * self._caps.pages + SPARE_TRIES:
            return "pages"
        return "bytes" if self._bytes >= self._caps.bytes else ""

    async def _fetch(self, url: str) -> None:
        await self.on_stage(f"reading {url[:120]}")
        document = await self._fetcher.fetch(url)
        known = self.is_read(document.url)
        self._read |= {url, document.url}
        if known:
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


async def _nobody(_stage: str) -> None:
    return
