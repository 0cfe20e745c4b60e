"""Vector search beside word search: keeps a vector for every tool, and yields to words while its model is away."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from alita_mcp.errors import AlitaError, LibraryError, ModelError
from alita_mcp.library.search.calibration import Calibration, shipped
from alita_mcp.library.search.ranking import Ranking, coverage, rank_by_meaning
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.search.vectors.embedding_sync import PROBE, EmbeddingSync
from alita_mcp.library.search.vectors.lance_table import TableBusy
from alita_mcp.library.search.vectors.record import (
    VectorRecord,
    drop_unused,
    note_use,
    read_record,
    write_record,
)
from alita_mcp.library.search.vectors.self_calibration import calibrate, is_outdated
from alita_mcp.library.search.vectors.table import ReadDocuments, VectorTable, cosine, unit
from alita_mcp.library.words.corpus import Corpus
from alita_mcp.library.words.text import bounded_query, clean_query
from alita_mcp.models.embedding.interface import CheckedEmbedder, Embedder, Vector
from alita_mcp.models.litellm.backoff import Patience

QUERY_PATIENCE_S = 2.0
"""How long a search waits for the vector of its query before it goes by words."""
PAUSES = Patience(first_pause_s=4.0, max_pause_s=60.0)
"""Between attempts with a model or a table that failed."""
MOST_DOUBLED = 10
SAME_MODEL_FROM = 0.9
"""Cosine of one text's vectors; services round differently from day to day, but not by that much."""
OPENINGS_BEFORE_ANEW = 2
"""A table that failed to open so often in a row is made anew; once may be for want of anything else."""
CALIBRATIONS_TRIED = 4
"""With one set of tools; until it changes the words say how sure a search is."""

_log = logging.getLogger(__name__)


class VectorSearch:
    """Vectors of one library under one embedder, in this process.

    Tools that have no vector yet stand among the others by their words. While the model is away, or has given too few
    tools a vector, searches go by words alone; it is asked in the background whether it is back.
    """

    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        tasks: TaskGroup,
        reader: SearchReader,
        documents: ReadDocuments,
        pauses: Patience = PAUSES,
    ) -> None:
        """`reader` knows the words of the tools and which ones there are, `documents` what an embedder is given."""
        self.calibration: Calibration | None = shipped().get(embedder.name)
        """None until there is one: the package's, or this library's own."""
        self._folder = folder
        self._embedder = CheckedEmbedder(embedder)
        self._tasks = tasks
        self._reader = reader
        self._documents = documents
        self._pauses = pauses
        self._is_behind = False
        """Whether the tools may be others than those that are wanted."""
        self._wanted: Mapping[str, str] = {}
        """The hashes of the tools' documents by their names."""
        self._sync: EmbeddingSync | None = None
        self._calibrated: Mapping[str, str] | None = None
        self._working: anyio.Event | None = None
        self._calibrations_failed = 0
        self._is_away = False
        self._is_suspect = False
        """Whether the table is to be read as a whole when it is opened again."""
        self._openings_failed = 0

    def track(self) -> None:
        """Brings the vectors up to date with the tools, in the background."""
        self._is_behind = True
        self._start_work()

    async def settled(self) -> None:
        """Returns when the work in the background is done."""
        while self._working is not None:
            await self._working.wait()

    async def ranked(self, query: str) -> Ranking | None:
        """The tools by meaning and words. None: go by words alone."""
        sync = self._sync
        if sync is None or self._is_away or not sync.covers:
            return None
        words, names = await anyio.to_thread.run_sync(self._by_words, clean_query(query))
        try:
            with anyio.fail_after(QUERY_PATIENCE_S):
                vector = (await self._embedder.embed([bounded_query(query)]))[0]
            cosines = await sync.table.cosines(unit(vector), names)
        except TimeoutError:
            self._give_way(f"the embedder {self._embedder.name!r} took more than {QUERY_PATIENCE_S:g} s")
        except ModelError as failure:
            self._give_way(str(failure))
        except LibraryError as failure:
            if sync is self._sync:
                self._suspect(failure)
        else:
            note_use(self._folder, sync.table.name)
            return await anyio.to_thread.run_sync(self._ranked, words, names, cosines)
        return None

    def _by_words(self, text: str) -> tuple[list[str], list[str]]:
        """The words of a query, and the best tools by them, best first."""
        with self._reader.moment() as corpus:
            words = corpus.distinct(text)
            return words, corpus.candidates(words)

    def _ranked(
        self, words: Sequence[str], names: Sequence[str], cosines: Mapping[str, float]
    ) -> Ranking | None:
        with self._reader.moment() as corpus:
            there = {name: cosine for name, cosine in cosines.items() if name in corpus}
            return _ranked(words, [name for name in names if name in corpus], there, corpus, self.calibration)

    def close(self) -> None:
        """Closes the files."""
        if self._sync is not None:
            self._sync.table.close()
            self._sync = None

    def _give_way(self, why: str) -> None:
        if not self._is_away:
            self._is_away = True
            _log.warning("Search goes by words for a while: %s", why)
            self._tasks.start_soon(self._come_back)

    async def _come_back(self) -> None:
        """Asks the model now and then, so that no search has to wait for one that is away."""
        for attempt in count():
            await anyio.sleep(self._pause(attempt))
            try:
                with anyio.fail_after(QUERY_PATIENCE_S):
                    vector = await self._probe()
            except (TimeoutError, ModelError):
                continue
            if self._sync is not None and len(vector) != self._sync.table.length:
                self._suspect(LibraryError("The embedder's vectors have another length than before."))
            self._is_away = False
            return

    def _suspect(self, failure: LibraryError) -> None:
        """Has the table opened again, and read as a whole then."""
        _log.warning("Search goes by words for a while: %s", failure)
        self._is_suspect = True
        self.close()
        self._start_work()

    def _start_work(self) -> None:
        if self._working is None:
            self._working = anyio.Event()
            self._tasks.start_soon(self._work, self._working)

    async def _work(self, done: anyio.Event) -> None:
        attempt = 0
        try:
            while not self._is_settled():
                try:
                    await self._progress()
                    attempt = 0
                except AlitaError as failure:
                    self._put_off(failure)
                    await anyio.sleep(self._pause(attempt))
                    attempt += 1
        finally:
            self._working = None
            done.set()

    def _is_settled(self) -> bool:
        if self._is_behind or self._calibrated is not self._wanted:
            return False
        return self._sync is not None and self._sync.is_done

    def _put_off(self, failure: AlitaError) -> None:
        if isinstance(failure, TableBusy):
            _log.info("vectors: %s", failure)
        elif isinstance(failure, LibraryError):
            self._suspect(failure)
        else:
            self._give_way(str(failure))

    async def _progress(self) -> None:
        if self._is_behind:
            await self._catch_up()
        wanted = self._wanted
        if self._sync is None:
            self._sync = await self._opened()
        elif not self._sync.is_done:
            await self._sync.step()
        else:
            table = self._sync.table
            await anyio.to_thread.run_sync(drop_unused, self._folder, table.name)
            async with table.embedding_lock():
                await table.grow_tree()
                await self._calibrate(table)
            self._calibrated = wanted

    async def _catch_up(self) -> None:
        """Takes in which tools there are now."""
        self._is_behind = False
        try:
            wanted = await anyio.to_thread.run_sync(self._reader.hashes)
        except LibraryError:
            self._is_behind = True
            raise
        if wanted != self._wanted:
            self._wanted, self._calibrations_failed = wanted, 0
            if self._sync is not None:
                self._sync.set_documents(wanted)

    async def _opened(self) -> EmbeddingSync:
        probe = unit(await self._probe())
        table = VectorTable(self._folder, self._embedder.name, len(probe))
        try:
            await table.open()
            if self._is_suspect:
                await table.check()
            await self._recorded(table, probe)
            sync = EmbeddingSync(table, self._embedder, self._documents)
            await sync.begin(self._wanted)
        except TableBusy:
            table.close()
            raise
        except LibraryError:
            self._openings_failed += 1
            table.close()
            if self._openings_failed >= OPENINGS_BEFORE_ANEW:
                await table.reset()
            raise
        sync.set_documents(self._wanted)  # which may be others by now
        self._openings_failed, self._is_suspect = 0, False
        return sync

    async def _recorded(self, table: VectorTable, probe: Vector) -> None:
        """Takes over what is known of the table; where another model has taken the name, it starts empty."""
        record = await anyio.to_thread.run_sync(read_record, self._folder, table.name)
        if record is None or not record.probe:
            record = VectorRecord(embedder=self._embedder.name, probe=tuple(probe))
        elif len(record.probe) != len(probe) or cosine(probe, record.probe) < SAME_MODEL_FROM:
            _log.warning("Another model answers as %r now; all tools get new vectors.", self._embedder.name)
            await table.reset()
            await table.open()
            record = VectorRecord(embedder=self._embedder.name, probe=tuple(probe))
        await anyio.to_thread.run_sync(write_record, self._folder, table.name, record)
        self.calibration = shipped().get(self._embedder.name) or record.calibration

    async def _calibrate(self, table: VectorTable) -> None:
        """Learns from the example requests how sure to be, where the package does not know the model."""
        if self._embedder.name in shipped():
            return
        requests = await anyio.to_thread.run_sync(self._reader.requests)
        record = await anyio.to_thread.run_sync(read_record, self._folder, table.name)
        record = record or VectorRecord(embedder=self._embedder.name)
        if is_outdated(record, requests):
            try:
                record = await calibrate(
                    record, requests, self._documents, self._reader, table, self._embedder
                )
            except ModelError as failure:
                self._calibrations_failed += 1
                if self._calibrations_failed < CALIBRATIONS_TRIED:
                    raise
                _log.info("The words say how sure a search is, for want of a calibration: %s", failure)
            else:
                await anyio.to_thread.run_sync(write_record, self._folder, table.name, record)
        self.calibration = record.calibration

    async def _probe(self) -> Vector:
        return (await self._embedder.embed([PROBE]))[0]

    def _pause(self, attempt: int) -> float:
        return self._pauses.pause(min(attempt, MOST_DOUBLED), None)


def _ranked(
    words: Sequence[str],
    names: Sequence[str],
    cosines: Mapping[str, float],
    corpus: Corpus,
    calibration: Calibration | None,
) -> Ranking | None:
    """By meaning and words, tools without a vector among them; of one of those the words say how sure it is."""
    if not cosines:
        return None
    every = {**_guessed(words, names, cosines, corpus), **cosines}
    ranking = rank_by_meaning(words, every, corpus, calibration)
    if ranking.hits and ranking.hits[0].name not in cosines:
        return rank_by_meaning(words, every, corpus)
    return ranking if ranking.hits else None


def _guessed(
    words: Sequence[str], names: Sequence[str], cosines: Mapping[str, float], corpus: Corpus
) -> dict[str, float]:
    """For tools without a vector: as near as the tool that has their place by cosine, if the words fit wholly.

    The less of the need their words cover, the nearer to the farthest known tool they stand.
    """
    nearest = sorted(cosines.values(), reverse=True)
    farthest, asked = nearest[-1], set(words)
    return {
        name: farthest + coverage(asked, name, corpus) * (nearest[min(place, len(nearest) - 1)] - farthest)
        for place, name in enumerate(names)
        if name not in cosines
    }
