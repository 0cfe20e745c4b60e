"""Learning from use: a search that led to a call becomes an alias of the called tool.

It teaches only where it answered `match` or `possible` for the tool, and the same client's next call was a successful
one of it. Who searched what is kept in memory only, for a few minutes and a few searches a client. Words are all that
is learned: what a tool may do and how far it is trusted depends on its evidence alone.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.library.search.answer import POSSIBLE_FROM, SearchAnswer
from alita_mcp.owners import USER, ClientIdentity
from alita_mcp.toolsmith.example_requests import says_nothing_new, worth_learning

WITHIN_S = 600.0
"""A call this long after a search has nothing to do with it."""
MAX_CLIENTS = 256
"""So many clients' searches are remembered; the one that was silent longest is forgotten first."""
MAX_SEARCHES = 4
"""So many a client: the same need in several words, then one call."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PastSearch:
    """A client's search that found something."""

    at: float
    query: str
    names: frozenset[str]
    """Tools that it answered as a match or as possible."""


class Learning:
    """Remembers clients' searches until a call shows which tool was meant."""

    def __init__(self, library: Library, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._library = library
        self._clock = clock
        self._searches: OrderedDict[str, list[PastSearch]] = OrderedDict()

    def remember_search(self, identity: ClientIdentity, query: str, found: SearchAnswer) -> None:
        """Remembers a client's search, unless it found nothing."""
        names = frozenset(hit.name for hit in found.results if hit.score >= POSSIBLE_FROM)
        words = worth_learning(query)
        if not identity.key or found.fit == "none" or not names or words is None:
            return
        kept = self._searches.pop(identity.key, [])
        self._searches[identity.key] = [*kept, PastSearch(self._clock(), words, names)][-MAX_SEARCHES:]
        while len(self._searches) > MAX_CLIENTS:
            self._searches.popitem(last=False)

    def take_searches(self, identity: ClientIdentity) -> tuple[PastSearch, ...]:
        """Takes out what the client searched for before this call; however it ends, they count once."""
        now = self._clock()
        return tuple(each for each in self._searches.pop(identity.key, []) if now - each.at <= WITHIN_S)

    async def learn_from_call(self, name: str, searches: Sequence[PastSearch], owner: str = USER) -> None:
        """Learns from an owner's successful call: of the `searches` before it, the newest that found it counts."""
        query = next((search.query for search in reversed(searches) if name in search.names), None)
        if query is None:
            return
        try:
            entry = self._library.entry(name)
            taught = (each.text for each in self._library.tools.wordings(name) if each.owner == owner)
            known = (entry.manifest.description, *entry.manifest.use_when, *taught)
            if not says_nothing_new(query, known, name):
                await self._library.learn_wording(name, query, from_use=True, owner=owner)
        except (
            AlitaError
        ) as failure:  # it was deleted meanwhile, or the disk is full: the call succeeded all the same
            _log.warning("%s", failure)
