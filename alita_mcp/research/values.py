"""Values of the web agent: search hits, documents, passages."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from alita_mcp.values import Source, Value

__all__ = [
    "Document", "FailedBackend", "Found", "Link", "Passage", "ResearchLimits", "Researched",
    "SearchHit", "Source",
]  # fmt: skip

MayFollow = Callable[[str], bool]
"""Whether a URL is read; asked once for each request to a host that the last one did not go to."""


class SearchHit(Value):
    """One result of a search; title and snippet are untrusted text."""

    url: str
    title: str
    snippet: str = ""
    backends: tuple[str, ...] = ()
    """Which search back ends found it."""
    published: str = ""
    """ISO 8601 date of the page; empty where the back end sends none."""


class FailedBackend(Value):
    """A search back end that failed, and why."""

    backend: str
    reason: str


class Found(Value):
    """The merged results of one search."""

    hits: tuple[SearchHit, ...] = ()
    failed: tuple[FailedBackend, ...] = ()


class Link(Value):
    """A link of a document, under the number that the text shows: `[3]`."""

    number: int
    url: str
    """Absolute."""
    text: str


class Document(Value):
    """The text of a web page or file; it is untrusted."""

    url: str
    """Its address after redirects; `file:NAME` for a file of a task."""
    title: str = ""
    content_type: str = ""
    text: str = ""
    """Markdown-like: headings, tables as rows of `|`, links as their text and number."""
    links: tuple[Link, ...] = ()
    retrieved_at: str = ""
    """ISO 8601, UTC."""


class Passage(Value):
    """A part of a document that is relevant to a question."""

    text: str
    url: str
    title: str = ""
    retrieved_at: str = ""
    score: float = 0.0


class Researched(Value):
    """What the web agent found for one question."""

    question: str
    passages: tuple[Passage, ...] = ()
    hits: tuple[SearchHit, ...] = ()
    unread: tuple[str, ...] = ()
    """Pages that were not read, each with its reason."""
    failed: tuple[FailedBackend, ...] = ()
    stopped: str = ""
    """The cap that ended the reading: pages or seconds; empty where none did."""


class ResearchLimits(Value):
    """Caps of one piece of research."""

    pages: int = Field(default=6, ge=0)
    seconds: float = Field(default=30.0, gt=0)
    tokens: int = Field(default=3_000, ge=100)
    """Of the passages together."""
