"""Interfaces of the web agent: search back ends, the fetcher, the package index, and research with all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from alita_mcp.progress import ReportStage
from alita_mcp.research.values import Document, Found, PackageFacts, Researched, ResearchLimits, SearchHit

MayFollow = Callable[[str], bool]
"""Whether a redirect to a URL is followed."""


class SearchBackend(Protocol):
    """One search back end: one request a query where possible, results in its own order, texts capped, no retries."""

    @property
    def name(self) -> str:
        """The back end's name in `ALITA_SEARCH`."""
        ...

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` hits, best first.

        Raises:
            UsageError: the back end did not answer, refused, or answered something else; no message holds a key.
        """
        ...


class Search(Protocol):
    """All configured search back ends as one."""

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the back ends; empty where none is configured."""
        ...

    async def search(self, query: str, limit: int = 8) -> Found:
        """Merged and de-duplicated hits of all back ends, asked side by side; never raises for one that fails."""
        ...


class Fetcher(Protocol):
    """Reads documents of the public web, and of hosts that a person allowed."""

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """The document at a URL, whole up to the caps; `may_follow` says which redirects are followed, None: all.

        Raises:
            UsageError: not http(s), not public, forbidden by robots.txt, too large, too slow, no text, not answered,
                or redirected to where it may not be followed.
        """
        ...


class Packages(Protocol):
    """A package index."""

    async def facts(self, name: str, python_tag: str) -> PackageFacts:
        """Facts about a package for that Python tag; raises UsageError where the index does not respond."""
        ...


class WebAgent(Protocol):
    """Search, fetching and ranking in one interface."""

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the configured search back ends; raises UsageError where the settings do not fit."""
        ...

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

        `may_fetch` says which URLs of hits may be read; None: all. A page that could not be read is named in
        `unread`, and what a back end said of it is ranked in its place.
        """
        ...

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """One document; raises as `Fetcher.fetch`."""
        ...

    async def package(self, name: str, python_tag: str = "") -> PackageFacts:
        """Facts about a package from the index; raises UsageError where the index does not respond.

        `python_tag` is the sandbox's, as in a `Lock`: what wheels have to fit; empty: an ordinary Linux.
        """
        ...
