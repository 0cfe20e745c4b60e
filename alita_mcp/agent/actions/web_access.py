"""Access control for web pages: which URLs a run may read, by where it learned of them and what it has read.

A page can tell a model to read an address with the person's data in it. So a model makes up addresses only on hosts
that a person named; anywhere else it reads what a search or a page of the same host gave it, letter by letter.

A choice among given addresses tells their host something too: thirty links spell a file. So a run that has read
private data makes few more requests, which its sub-tasks share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from urllib.parse import urldefrag, urlsplit

from alita_mcp.errors import InvalidArguments
from alita_mcp.research.texts import urls_in
from alita_mcp.research.values import Document, MayFollow

MAX_NEW_PER_HOST = 5
"""Requests to one host after private data was read."""
MAX_NEW = 20
"""The same to all hosts together: each redirect and each hit could lead to another host of one owner."""


class WebAccess:
    """URLs that a run has been shown, hosts that a person named, and pages that the run has read."""

    def __init__(self, task: str, hosts: Iterable[str] = ()) -> None:
        self._free_hosts = {host.strip().lower() for host in hosts if host.strip()}
        self._named: set[str] = set()
        self._shown: dict[str, str] = {}
        """Each URL as it was given, by its plain form."""
        self._found_at: set[str] = set()
        self._pages: dict[str, Document] = {}
        self._new_requests: Counter[str] = Counter()
        self.has_private_data = False
        """Whether the run has read files, results of granted tools, memory or a person's answer."""
        self.admit_named(task)

    @property
    def hosts(self) -> frozenset[str]:
        """Hosts that a person named."""
        return frozenset(self._free_hosts | {_host(url) for url in self._named})

    def admit_named(self, text: str) -> None:
        """Admits the URLs in a person's words."""
        for url in urls_in(text):
            self._named.add(_plain(url))
            self._shown[_plain(url)] = url

    def admit_hits(self, urls: Iterable[str]) -> None:
        """Admits the hits of a configured search back end."""
        for url in urls:
            self._shown.setdefault(_plain(url), url)
            self._found_at.add(_host(url))

    def admit_page(self, url: str, page: Document) -> None:
        """Keeps a page that was read, and admits its links: to its own host, and to known hosts."""
        self._pages |= {_plain(url): page, _plain(page.url): page}
        known = self.hosts | self._found_at | {_host(page.url)}
        for link in page.links:
            if _host(link.url) in known:
                self._shown.setdefault(_plain(link.url), link.url)

    def find_page(self, url: str) -> Document | None:
        """The page of that URL, if reading it once more could tell its host something."""
        return self._pages.get(_plain(url)) if self.has_private_data else None

    def was_given(self, url: str) -> bool:
        """Whether the URL was given verbatim, so that no model put data into it."""
        return _plain(url) in self._shown

    def open_request(self, url: str) -> tuple[str, MayFollow | None]:
        """Admits one request; returns the URL as it was given, and which hosts it may be redirected to (None: all).

        Redirects of an address that a model made up stay where the run may read: a named host that redirects wherever
        it is asked to (`?to=…`) would hand the data on.

        Raises:
            InvalidArguments: the run may not read the URL.
        """
        given = self._shown.get(_plain(url))
        # 1. A host whose every address a person opened, whatever the run has read.
        if given is None and _host(url) in self._free_hosts:
            return url, self._is_free
        # 2. Without private data: the hosts of named addresses too, and all that was given.
        if not self.has_private_data:
            if given is None and _host(url) not in self.hosts:
                raise InvalidArguments(
                    f"{url[:200]!r} may not be read: no person named its host, and no search or page of that host gave "
                    "this address. Search for it, or follow a link as it stands."
                )
            return (url, self._is_free) if given is None else (given, None)
        # 3. With private data: what a person named, and few of those that a search or a page gave.
        if given is not None and self.count_request(given):
            return given, self.count_request
        raise InvalidArguments(
            f"{url[:200]!r} may not be read: after private data a run reads only addresses that a person named, pages "
            f"that it has read before, and {MAX_NEW_PER_HOST} new ones a host ({MAX_NEW} in all) as a search or a page "
            "gave them. Use what was read, or ask the person to name the address."
        )

    def count_request(self, url: str) -> bool:
        """Counts one request after private data; False where none is left for the URL's host."""
        host = _host(url)
        if host in self._free_hosts or _plain(url) in self._named:
            return True
        if self._new_requests[host] >= MAX_NEW_PER_HOST or self._new_requests.total() >= MAX_NEW:
            return False
        self._new_requests[host] += 1
        return True

    def _is_free(self, url: str) -> bool:
        """Whether an address that a model made up may redirect to the URL."""
        if self.has_private_data:
            return _host(url) in self._free_hosts or _plain(url) in self._named
        return _host(url) in self.hosts or self.was_given(url)


def _host(url: str) -> str:
    try:
        return (urlsplit(url).netloc.rpartition("@")[2] or "").lower()
    except ValueError:
        return ""


def _plain(url: str) -> str:
    return urldefrag(url)[0].rstrip("/")
