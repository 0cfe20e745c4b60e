"""Learning from use: a search that led to a call becomes an alias of the called tool.

It teaches only where it answered `match` or `possible` for the tool, and the same client's next call was a successful
one of it. Who searched what is kept in memory only, for a few minutes and a few searches a client. Words are learned in
the background, so that no result waits for them, and they are all that is learned: what a tool may do and how far it is
trusted depends on its evidence alone.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

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
MAX_WAITING = 64
"""Number of lessons that may wait to be written; further ones are lost, which costs little."""
CLOSES_WITHIN_S = 2.0

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
        """Made by `open_learning`."""
        self._library = library
        self._clock = clock
        self._searches: OrderedDict[str, list[PastSearch]] = OrderedDict()
        self._waiting: deque[tuple[str, str, str]] = deque()
        """Tools, the words that the library learns for them in the background, and whose these are."""
        self._some = anyio.Event()
        self._none = anyio.Event()
        self._none.set()

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

    def learn_from_call(self, name: str, searches: Sequence[PastSearch], owner: str = USER) -> None:
        """Learns from an owner's successful call: of the `searches` before it, the newest that found it counts."""
        query = next((search.query for search in reversed(searches) if name in search.names), None)
        if query is None:
            return
        try:
            entry = self._library.entry(name)
        except AlitaError:
            return  # it was deleted meanwhile
        taught = (each.text for each in self._library.tools.wordings(name) if each.owner == owner)
        known = (entry.manifest.description, *entry.manifest.use_when, *taught)
        if not says_nothing_new(query, known, name) and len(self._waiting) < MAX_WAITING:
            self._waiting.append((name, query, owner))
            self._none = anyio.Event() if self._none.is_set() else self._none
            self._some.set()

    async def wait_until_written(self) -> None:
        """Waits until all that was learned is written."""
        await self._none.wait()

    async def write_lessons(self) -> None:
        """Writes what was learned, until cancelled."""
        while True:
            while self._waiting:
                name, words, owner = self._waiting[0]
                try:
                    await self._library.learn_wording(name, words, from_use=True, owner=owner)
                except AlitaError as failure:
                    _log.warning("%s", failure)
                self._waiting.popleft()
            self._none.set()
            self._some = anyio.Event()
            await self._some.wait()


@asynccontextmanager
async def open_learning(
    library: Library, *, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[Learning]:
    """Learns for as long as it is open; at the end what waits is still written, if that does not take long."""
    learning = Learning(library, clock=clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(learning.write_lessons)
        try:
            yield learning
        finally:
            with anyio.move_on_after(CLOSES_WITHIN_S, shield=True):
                await learning.wait_until_written()
            tasks.cancel_scope.cancel()
