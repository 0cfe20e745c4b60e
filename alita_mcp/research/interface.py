"""Interfaces of the web agent, and of the search back ends that an extension may add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from alita_mcp.progress import ReportStage
from alita_mcp.research.values import Document, PackageFacts, Researched, ResearchLimits, SearchHit

MayFollow = Callable[[str], bool]
"""Whether a URL is read; asked once for each request to a host that the last one did not go to."""


class SearchBackend(Protocol):
    """One search back end: one request a query where possible, results in its own order, texts capped, no retries."""

    @property
    def name(self) -> str:
        """The back end's name in `ALITA_SEARCH`."""
        ...

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` hits, best first.

        Raises:
            UsageError: the back end did not answer, refused, or sent something else; no message holds a key.
        """
        ...


class WebAgent(Protocol):
    """Search, fetching, ranking and the package index in one interface."""

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the configured search back ends; raises UsageError where a setting is invalid."""
        ...

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
        ...

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """The document at a URL, whole up to the caps; `may_follow` says which other hosts it may lead to, None: all.

        Raises:
            ExtraMissing: what reads pages is not installed; no request is sent then.
            UsageError: not http(s), not public, forbidden by robots.txt, too large, too slow, no text, not answered,
                or redirected to where it may not be followed.
        """
        ...

    async def package(self, name: str) -> PackageFacts:
        """Facts about a package from the index; raises UsageError where the index does not respond."""
        ...
