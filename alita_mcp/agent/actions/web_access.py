"""Access control for web pages: which URLs a run may read, by where it learned of them.

A page can tell a model to read an address with the person's data in it. So a model makes up addresses only on hosts
that a person named; anywhere else it reads what a search or a page of the same host gave it, letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urldefrag, urlsplit

_URL = re.compile(r"https?://[^\s<>\"'`|)\]}]+")


class WebAccess:
    """URLs that a run has been shown, and hosts that a person named."""

    def __init__(self, task: str, hosts: Iterable[str] = ()) -> None:
        named = {host.strip().lower() for host in hosts if host.strip()}
        self._hosts = named | {_host(url) for url in urls_in(task)}
        self._shown = {_plain(url) for url in urls_in(task)}
        self._found_at: set[str] = set()

    @property
    def hosts(self) -> frozenset[str]:
        """Hosts that a person named."""
        return frozenset(self._hosts)

    def admit_hits(self, urls: Iterable[str]) -> None:
        """Admits the hits of a configured search back end."""
        for url in urls:
            self._shown.add(_plain(url))
            self._found_at.add(_host(url))

    def admit_links(self, page: str, urls: Iterable[str]) -> None:
        """Admits the links of a page that was read: to its own host, and to known hosts."""
        known = self._hosts | self._found_at | {_host(page)}
        self._shown |= {_plain(url) for url in urls if _host(url) in known}

    def is_allowed(self, url: str) -> bool:
        """Whether the run may read the URL."""
        return _host(url) in self._hosts or _plain(url) in self._shown

    def was_given(self, url: str) -> bool:
        """Whether the URL was given verbatim, so that no model put data into it.

        Its redirects lead anywhere. Those of an address that a model made up stay where the run may read: a named host
        that redirects wherever it is asked to (`?to=…`) would hand the data on.
        """
        return _plain(url) in self._shown

    def why_not(self, url: str) -> str:
        """The reason for a refusal, for the model."""
        return (
            f"{url[:200]!r} may not be read: no person named its host, and no search or page of that host gave this "
            "address. Search for it, or follow a link as it stands."
        )


def urls_in(text: str) -> list[str]:
    """The http(s) URLs in a text."""
    return [found.rstrip(".,;:!?") for found in _URL.findall(text)]


def _host(url: str) -> str:
    try:
        return (urlsplit(url).netloc.rpartition("@")[2] or "").lower()
    except ValueError:
        return ""


def _plain(url: str) -> str:
    return urldefrag(url)[0].rstrip("/")
