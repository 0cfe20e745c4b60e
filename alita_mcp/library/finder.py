"""Finding tools: a need in, ranked names out. Keeps the index equal to the catalogue, and answers without it too."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import anyio
from anyio.abc import TaskGroup

from alita_mcp.errors import LibraryError
from alita_mcp.library.index import Documents, SearchIndex
from alita_mcp.library.ranking import Corpus, Document, clean_query, plain_tokens, probabilities

PATIENCE_S = 3.0
"""How long a search waits for an index that is being brought up to date before it scans instead."""
REST_S = 30.0
"""How long an index that no remedy helped is left alone, unless the tools change."""

_log = logging.getLogger(__name__)


class Finder:
    """Search over the tools of one library, in this process.

    An index that fails is opened again, then made anew, then left alone for a while; meanwhile a plain scan
    over the same words answers.
    """

    def __init__(self, index: SearchIndex, documents: Documents, tasks: TaskGroup) -> None:
        """`documents` reads the catalogue afresh, in a thread; `tasks` carries the work in the background."""
        self._index = index
        self._documents = documents
        self._tasks = tasks
        self._wanted: Mapping[str, Document] = {}
        self._synced: Mapping[str, Document] | None = None
        self._plain: Corpus | None = None
        self._corpus: Corpus | None = None
        self._failures = 0
        self._rests_until = 0.0
        self._working: anyio.Event | None = None

    def want(self, documents: Mapping[str, Document]) -> None:
        """Says what is to be found from now on; an index in use follows in the background."""
        if documents == self._wanted:
            return
        self._wanted = documents
        self._plain = None
        self._rests_until = 0.0
        if self._index.is_open:
            self._start_work()

    async def find(self, query: str) -> list[tuple[str, float]]:
        """Names that share a word with the query, best first, each with the probability that it is asked for."""
        text = clean_query(query)
        corpus = self._current() if await self._is_ready() else None
        if corpus is not None:
            try:
                scores = await self._index.candidates(text)
            except LibraryError as failure:
                self._suspect(failure, corpus)
                self._start_work()
            else:
                self._failures = 0
                return probabilities(corpus.tokens(text), scores, corpus)
        return self._scan(text)

    async def rebuild(self) -> int:
        """Makes the index anew from the catalogue; answers its number of rows.

        Raises:
            LibraryError: it cannot be made here.
        """
        while self._working is not None:
            await self._working.wait()
        self._synced = self._corpus = None
        self._failures, self._rests_until = 2, 0.0
        await self._start_work().wait()
        corpus = self._current()
        if corpus is None:
            raise LibraryError(
                f"The search index {self._index.folder} cannot be made.", hint="The log says why."
            )
        return len(corpus.words)

    def close(self) -> None:
        """Lets go of the index."""
        self._index.close()

    async def _is_ready(self) -> bool:
        if self._synced is not self._wanted and anyio.current_time() >= self._rests_until:
            working = self._start_work()
            with anyio.move_on_after(PATIENCE_S):
                await working.wait()
        return self._synced is self._wanted

    def _start_work(self) -> anyio.Event:
        if self._working is None:
            self._working = anyio.Event()
            self._tasks.start_soon(self._work, self._working)
        return self._working

    async def _work(self, done: anyio.Event) -> None:
        try:
            while self._synced is not self._wanted and anyio.current_time() >= self._rests_until:
                try:
                    await self._catch_up(self._wanted)
                except LibraryError as failure:
                    self._suspect(failure, self._corpus)
        finally:
            self._working = None
            done.set()

    async def _catch_up(self, target: Mapping[str, Document]) -> None:
        if self._failures == 1:
            self._index.close()
        elif self._failures == 2:
            await self._index.reset()
        if not self._index.is_open:
            await self._index.open()
        fresh = await self._index.sync(self._documents)
        self._corpus = await anyio.to_thread.run_sync(Corpus, fresh, self._index.tokens)
        self._synced = target

    def _current(self) -> Corpus | None:
        return self._corpus

    def _suspect(self, failure: LibraryError, seen: Corpus | None) -> None:
        """Notes a failure, once for all who saw it, so that the next remedy is tried or the index rests."""
        if seen is not self._corpus:
            return
        _log.info("search index: %s", failure)
        self._synced = self._corpus = None
        self._failures += 1
        if self._failures > 2:
            _log.warning("The search index is left alone for a while: %s", failure)
            self._failures = 1
            self._rests_until = anyio.current_time() + REST_S

    def _scan(self, text: str) -> list[tuple[str, float]]:
        if self._plain is None:
            self._plain = Corpus(self._wanted, plain_tokens)
        words = plain_tokens(text)
        return probabilities(words, self._plain.scores(words), self._plain)
