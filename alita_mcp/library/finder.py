"""Finding tools: a need in, ranked names out. Keeps the index equal to the catalogue, and answers without it too."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import anyio
from anyio.abc import TaskGroup

from alita_mcp.errors import LibraryError
from alita_mcp.library.corpus import Corpus
from alita_mcp.library.index import Documents, SearchIndex
from alita_mcp.library.lance_table import IndexBusy
from alita_mcp.library.meaning import PAUSES, Meaning
from alita_mcp.library.ranking import Ranking, rank
from alita_mcp.library.scan import Scan, patient
from alita_mcp.library.search_text import Document, bounded_query, clean_query
from alita_mcp.models.backoff import Patience
from alita_mcp.models.embedder_choice import choose_embedder
from alita_mcp.models.embedding import Embedder
from alita_mcp.settings import Settings

READY_AFTER_S = 2.0
"""How long after the start the index is opened unless a search came before; what ends sooner never pays for it."""
PATIENCE_S = 3.0
"""How long a search waits for an index that is being brought up to date before it scans instead."""
KIN_SOUGHT = 16
"""How many related words are sought beside the query's own."""
VECTORS = "vectors.lance"
"""The folder of vectors, beside that of the index."""
REST_S = 30.0
"""How long an index that no remedy helped is left alone, unless the tools change."""
MOST_REFUSALS = 3
BUSY_REST_S = 5.0
"""So often in a row the work waits for another process's before it rests, and for how long."""

_log = logging.getLogger(__name__)


def finder_for(settings: Settings, documents: Documents, tasks: TaskGroup) -> Finder:
    """The finder of the library in `settings.home`, by meaning too where an embedder is configured.

    Raises:
        UsageError: that embedder is a folder without a model, or a class that cannot be loaded.
    """
    embedder = choose_embedder(settings.embedder, settings.embedder_base_url) if settings.embedder else None
    return Finder(SearchIndex(settings.home / "index.lance"), documents, tasks, embedder)


class Finder:
    """Search over the tools of one library, in this process.

    An index that fails is opened again, then made anew, then left alone for a while; meanwhile a plain scan
    over the same words answers.
    """

    def __init__(
        self,
        index: SearchIndex,
        documents: Documents,
        tasks: TaskGroup,
        embedder: Embedder | None = None,
        pauses: Patience = PAUSES,
    ) -> None:
        """`documents` reads the catalogue afresh, in a thread; `tasks` carries the work in the background.

        `pauses` are those between attempts with an embedder that is away.
        """
        self._index = index
        self._documents = documents
        self._tasks = tasks
        self._wanted: Documents = dict
        self._synced: Documents | None = None
        self._scan = Scan()
        self._corpus: Corpus | None = None
        self._known: Corpus | None = None
        """The newest statistics, from which the next ones are made."""
        vectors = index.folder.with_name(VECTORS)
        self._meaning = Meaning(vectors, embedder, tasks, self._current, pauses) if embedder else None
        self._failures = self._refusals = 0
        self._rests_until = 0.0
        self._working: anyio.Event | None = None
        self._late: anyio.Event | None = None
        """Work that a search waited for in vain; the next ones answer without it."""

    def want(self, documents: Mapping[str, Document]) -> None:
        """Says what is to be found from now on; an index in use follows in the background."""
        self.follow(lambda: documents)

    def follow(self, documents: Documents) -> None:
        """Says where to ask, in a thread and when it is needed, what is to be found from now on."""
        self._wanted = documents
        self._rests_until = 0.0
        if self._index.is_open:
            self._start_work()

    async def make_ready(self) -> None:
        """Brings the index up to date a moment from now, so that the first search need not wait for it."""
        await anyio.sleep(READY_AFTER_S)
        if self._synced is None:
            self._start_work()

    async def find(self, query: str) -> list[tuple[str, float]]:
        """Names that may serve the need, best first, each with the probability that it is asked for."""
        return [(hit.name, hit.probability) for hit in (await self.look(query)).hits]

    async def look(self, query: str) -> Ranking:
        """What `find` answers, with what its certainty rests on."""
        text = clean_query(query)
        corpus = self._current() if await self._is_ready() else None
        if corpus is not None:
            words = list(dict.fromkeys(corpus.tokens(text)))
            try:
                names = await self._index.candidates(*filter(None, (text, " ".join(_kin(words, corpus)))))
            except LibraryError as failure:
                self._suspect(failure, corpus)
                self._start_work()
            else:
                self._failures = 0
                return await self._ranked(query, words, names, corpus)
        return await anyio.to_thread.run_sync(self._scan.look, text, self._wanted)

    async def _ranked(self, query: str, words: list[str], names: list[str], corpus: Corpus) -> Ranking:
        known = [name for name in names if name in corpus]
        if self._meaning is not None and bounded_query(query):
            ranking = await self._meaning.ranked(query, words, known, corpus)
            if ranking is not None:
                return ranking
        return rank(words, known, corpus)

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
        return len(corpus)

    async def has_meaning(self) -> None:
        """Returns when every tool has its vector and the certainty is known; at once without an embedder."""
        if self._meaning is not None:
            await self._meaning.settled()

    def close(self) -> None:
        """Lets go of the index."""
        self._index.close()
        if self._meaning is not None:
            self._meaning.close()

    async def _is_ready(self) -> bool:
        if self._synced is not self._wanted and anyio.current_time() >= self._rests_until:
            working = self._start_work()
            if working is not self._late:
                with anyio.move_on_after(PATIENCE_S) as patience:
                    await working.wait()
                if patience.cancelled_caught:
                    self._late = working
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
                except IndexBusy as busy:
                    self._wait_for_others(busy)
                except LibraryError as failure:
                    self._suspect(failure, self._corpus)
        finally:
            self._working = None
            done.set()

    async def _catch_up(self, target: Documents) -> None:
        if self._failures == 1:
            self._index.close()
        elif self._failures == 2:
            await self._index.reset()
        if not self._index.is_open:
            await self._index.open()
        fresh = await self._index.sync(self._documents)
        self._corpus = await anyio.to_thread.run_sync(self._read, fresh)
        self._synced, self._refusals = target, 0
        if self._meaning is not None:
            self._meaning.want(fresh)

    def _read(self, fresh: Mapping[str, Document]) -> Corpus:
        if self._known is None:
            self._known = Corpus(fresh, patient(self._index.tokens))
        else:
            self._known = self._known.renewed(fresh)
        return self._known

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

    def _wait_for_others(self, busy: IndexBusy) -> None:
        """Tries again soon, and later where another process does not come to an end."""
        _log.info("search index: %s", busy)
        self._refusals += 1
        if self._refusals >= MOST_REFUSALS:
            self._refusals = 0
            self._rests_until = anyio.current_time() + BUSY_REST_S
            self._tasks.start_soon(self._resume)

    async def _resume(self) -> None:
        await anyio.sleep(BUSY_REST_S)
        if self._synced is not self._wanted:
            self._start_work()


def _kin(words: list[str], corpus: Corpus) -> list[str]:
    """The most telling words that the query's words bring along."""
    weights = corpus.expanded(words)
    kin = [word for word in weights if word not in words]
    return sorted(kin, key=lambda word: (-weights[word] * corpus.idf(word), word))[:KIN_SOUGHT]
