"""A search, a fetcher and a package index that answer from tables: pages may be slow, refused or hostile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.progress import ReportStage
from alita_mcp.research.values import (
    Document,
    FailedBackend,
    Found,
    MayFollow,
    Passage,
    Researched,
    ResearchLimits,
    SearchHit,
)

NOW = "2026-05-04T03:02:01+00:00"


class Never:
    """A page that never answers."""


Page = str | Document | UsageError | Never


def page(url: str, text: str, title: str = "") -> Document:
    return Document(url=url, text=text, title=title, content_type="text/html", retrieved_at=NOW)


@dataclass
class TableSearch:
    hits: Sequence[SearchHit] = ()
    backends: tuple[str, ...] = ("table",)
    failed: tuple[FailedBackend, ...] = ()
    queries: list[str] = field(default_factory=list)
    hangs: bool = False

    async def search(self, query: str, limit: int = 8) -> Found:
        self.queries.append(query)
        if self.hangs:
            await anyio.sleep_forever()
        return Found(hits=tuple(self.hits)[:limit], failed=self.failed)


@dataclass
class TableFetcher:
    pages: Mapping[str, Page]
    fetched: list[str] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        self.fetched.append(url)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await anyio.lowlevel.checkpoint()
            found = self.pages.get(url, UsageError(f"{url!r} answered 404."))
            if isinstance(found, Never):
                await anyio.sleep_forever()
            if isinstance(found, UsageError):
                raise found
            return found if isinstance(found, Document) else page(url, str(found))
        finally:
            self.under_way -= 1


@dataclass
class ScriptedWebAgent:
    """Gives scripted passages for every question, or what a function says."""

    passages: Callable[[str], Sequence[Passage]] = lambda _question: ()
    backends: tuple[str, ...] = ("table",)
    questions: list[str] = field(default_factory=list)
    limits: list[ResearchLimits] = field(default_factory=list)
    urls: list[tuple[str, ...]] = field(default_factory=list)
    unread: tuple[str, ...] = ()
    failure: UsageError | None = None
    hangs: bool = False

    async def research(
        self,
        question: str,
        limits: ResearchLimits | None = None,
        *,
        on_stage: ReportStage | None = None,
        urls: Sequence[str] = (),
        may_fetch: Callable[[str], bool] | None = None,
    ) -> Researched:
        self.questions.append(question)
        self.limits.append(limits or ResearchLimits())
        self.urls.append(tuple(urls))
        if self.hangs:
            await anyio.sleep_forever()
        if self.failure is not None:
            raise self.failure
        return Researched(question=question, passages=tuple(self.passages(question)), unread=self.unread)

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        raise UsageError(f"{url!r} is not fetched here.")
