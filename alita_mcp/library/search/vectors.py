"""Vectors of tools in LanceDB, brought up to date when a search needs them, and their cosines to a need.

Everything here is derived. While the embedder is away, or vectors are being made, searches go by words.
"""

from __future__ import annotations

import hashlib
import logging
import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from alita_mcp.errors import AlitaError, ModelError
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.search.vector_table import VectorTable
from alita_mcp.models.embedding.interface import CheckedEmbedder, Embedder, Vector
from alita_mcp.models.litellm.backoff import Patience

NEAREST = 50
TOOLS_AT_ONCE = 256
FIRST_PATIENCE_S, PATIENCE_S = 5.0, 2.0
"""How long a search waits for vectors before it goes by words; the first one of a process imports LanceDB."""
PAUSES = Patience(first_pause_s=4.0, max_pause_s=60.0)
"""How long searches go by words after a failure; longer with each one in a row."""
MOST_DOUBLED = 10

PARAPHRASES = (
    ("Make a picture smaller.", "Resize an image."),
    ("What will the weather be like in Paris tomorrow?", "Get the weather forecast of a city."),
    ("How many words does this text have?", "Count the words of a text."),
    ("Turn 20 degrees Celsius into Fahrenheit.", "Convert a temperature between units."),
    ("Put this paragraph into German.", "Translate a text into another language."),
    ("Send a message to my colleague.", "Write and deliver an email."),
)
"""How much nearer to each other these pairs are than unrelated texts says how wide an embedder's cosines spread."""
SPREAD = 0.433
"""Of the built-in table, for which the weight of BM25 and the certainty are fitted."""
_log = logging.getLogger(__name__)


class VectorIndex:
    """The vectors of one library under one embedder, in this process."""

    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        tasks: TaskGroup,
        reader: SearchReader,
        pauses: Patience = PAUSES,
    ) -> None:
        """`reader` says which tools there are, and what an embedder is given; `tasks` carries the work."""
        self._folder = folder
        self._embedder = CheckedEmbedder(embedder)
        self._tasks = tasks
        self._reader = reader
        self._pauses = pauses
        self._table: VectorTable | None = None
        self._scale = 1.0
        """Brings cosines to the spread of the built-in table."""
        self._is_behind = True
        """Whether tools may have changed since the vectors were brought up to date."""
        self._work: anyio.Event | None = None
        self._failure: AlitaError | None = None
        self._failures = 0
        self._rests_until = 0.0

    def track(self) -> None:
        """Notes that tools changed; the next search brings the vectors up to date."""
        self._is_behind = True

    async def cosines(self, need: str) -> Mapping[str, float] | None:
        """Cosines of the nearest tools, on the scale of the built-in table. None: search by words.

        That is so while the embedder is away or slow, the table fails, or the vectors are not complete. A search that
        waited for it in vain spares the next ones the wait, for a pause that grows.
        """
        if anyio.current_time() < self._rests_until:
            return None
        try:
            with anyio.fail_after(PATIENCE_S if self._table else FIRST_PATIENCE_S):
                table = await self.ready()
                (vector,) = await self._embedder.embed([need])
                near = table.nearest(unit(vector), NEAREST)
        except (AlitaError, TimeoutError) as failure:
            pause_s = self._pauses.pause(min(self._failures, MOST_DOUBLED), None)
            self._rests_until = anyio.current_time() + pause_s
            self._failures += 1
            reason = str(failure) or "the embedder takes too long."
            _log.warning("Search goes by words for a while: %s", reason)
            return None
        self._failures = 0
        return {name: cosine * self._scale for name, cosine in near.items()}

    async def ready(self) -> VectorTable:
        """The table, once every tool has its vector.

        Raises:
            AlitaError: the embedder or the table failed.
        """
        while self._is_behind or self._work is not None or self._table is None:
            if self._work is None:
                self._is_behind, self._failure, self._work = False, None, anyio.Event()
                self._tasks.start_soon(self._update, self._work)
            await self._work.wait()
            if self._failure is not None:
                raise self._failure
        return self._table

    async def _update(self, done: anyio.Event) -> None:
        """Brings the vectors up to date with the tools."""
        try:
            table = self._table = self._table or await self._find_table()
            wanted = await anyio.to_thread.run_sync(self._reader.read_hashes)
            if await anyio.to_thread.run_sync(table.load_snapshot, wanted):
                async with table.lock():
                    await self._add_vectors(table, await table.load(wanted))
            self._rests_until = 0.0
        except AlitaError as failure:
            self._is_behind, self._failure = True, failure
        finally:
            self._work = None
            done.set()

    async def _add_vectors(self, table: VectorTable, lacking: Sequence[str]) -> None:
        """Adds the vectors of these tools; the table is written whole, so only once it has become twice as large."""
        hashes: dict[str, str] = {}
        vectors: list[Vector] = []
        for at in range(0, len(lacking), TOOLS_AT_ONCE):
            names = lacking[at : at + TOOLS_AT_ONCE]
            found = await anyio.to_thread.run_sync(self._reader.read_texts, names)
            vectors += await self._embed_tools([texts for _, texts in found.values()])
            hashes |= {name: digest for name, (digest, _) in found.items()}
            if len(hashes) >= table.count or at + TOOLS_AT_ONCE >= len(lacking):
                await table.write_vectors(hashes, vectors)
                hashes, vectors = {}, []

    async def _find_table(self) -> VectorTable:
        """The table of the embedder, not read yet; notes how wide its cosines spread, too."""
        from statistics import fmean  # loads numbers of many kinds, for an embedder's first use

        texts = [text for pair in PARAPHRASES for text in pair]
        vectors = [unit(vector) for vector in await self._embedder.embed(texts)]
        alike = fmean(map(cosine, vectors[::2], vectors[1::2]))
        unrelated = fmean(cosine(one, other) for one, other in combinations(vectors[::2], 2))
        self._scale = SPREAD / max(alike - unrelated, 0.01)
        length, name = len(vectors[0]), self._embedder.name
        words = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[-40:]
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        return VectorTable(self._folder, f"tools_{words}_{digest}_{length}", length)

    async def _embed_tools(self, tools: Sequence[Sequence[str]]) -> list[Vector]:
        """The vector of each tool; where the embedder refuses all texts together, it is given one tool at a time."""
        try:
            return await embed_documents(tools, self._embedder)
        except ModelError:
            # raises where the embedder is away, and refuses nothing
            (plain,) = await self._embedder.embed([PARAPHRASES[0][0]])
        vectors: list[Vector] = []
        for texts in tools:
            try:
                vectors += await embed_documents([texts], self._embedder)
            except ModelError as failure:
                _log.warning("A tool is found by its words only: %s", failure)
                vectors.append(unit([0.0] * len(plain)))
        return vectors


async def embed_documents(documents: Sequence[Sequence[str]], embedder: Embedder) -> list[Vector]:
    """For each document the vector between that of its first text and the mean of the others'."""
    every = [text for texts in documents for text in texts]
    found = await embedder.embed(every) if every else []

    def average() -> list[Vector]:
        vectors, units = [], map(unit, found)
        for texts in documents:
            first, *others = (next(units) for _ in texts)
            mean = [math.fsum(column) / len(others) for column in zip(*others, strict=True)] or first
            vectors.append(unit([a + b for a, b in zip(first, mean, strict=True)]))
        return vectors

    return await anyio.to_thread.run_sync(average)


def cosine(one: Vector, other: Vector) -> float:
    """Of two vectors of length one."""
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def unit(vector: Vector) -> Vector:
    """The vector at length one; one without a direction gets the same small part of every direction."""
    length = math.hypot(*vector)
    if length < 1e-12:  # such a row would vanish from every answer
        return [1 / math.sqrt(len(vector))] * len(vector)
    return [value / length for value in vector]
