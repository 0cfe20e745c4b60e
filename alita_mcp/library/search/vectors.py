"""Vectors of tools in LanceDB, brought up to date when a search needs them, and their cosines to a need.

Everything here is derived: a table that fails twice is removed and made anew. While the embedder is away, or the table
is being filled, searches go by words.
"""

from __future__ import annotations

import hashlib
import logging
import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from alita_mcp.errors import AlitaError, LibraryError, ModelError
from alita_mcp.library.search.lance_table import LanceTable, TableBusy, quoted
from alita_mcp.library.search.ranking import Score
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.models.embedding.interface import CheckedEmbedder, Embedder, Vector, same_length
from alita_mcp.models.litellm.backoff import Patience

PREFIX = "vectors_"
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
"""The unrelated and the alike among these say where an embedder's cosines lie."""
UNRELATED_COSINE, PARAPHRASE_COSINE = 0.139, 0.587
"""The means of the built-in table, for which fusion and certainty are calibrated."""
PROBE = ""
"""Name of the row that holds the vector of the first of them, by which an exchanged model shows."""
SAME_MODEL_FROM = 0.9
"""Cosine of one text's vectors; services round differently from day to day, but not by that much."""

_log = logging.getLogger(__name__)


class VectorTable(LanceTable):
    """The vectors of one embedder; those of another one or of another length stand in another table."""

    def __init__(
        self, folder: Path, embedder: str, length: int, columns: Sequence[str] = ("vector",)
    ) -> None:
        """Queries go by the first column; the others only have a cosine, too."""
        words = re.sub(r"[^a-z0-9]+", "_", embedder.lower()).strip("_")[-40:]
        digest = hashlib.sha256(embedder.encode()).hexdigest()[:8]
        super().__init__(
            folder, f"{PREFIX}{words}_{digest}_{length}", partial(_vector_fields, columns, length)
        )
        self.length = length
        self._others = columns[1:]

    async def nearest(
        self, vector: Vector, limit: int = NEAREST, among: Collection[str] = ()
    ) -> dict[str, list[float]]:
        """Cosines of the rows nearest to a vector, one for each column, among all or those of these names.

        Raises:
            ModelError: the vector is not of this table's length.
            LibraryError: the table cannot be read.
        """
        same_length(self.name, vector, self.length)
        with self.translated():
            search = self.rows.query().nearest_to(list(vector)).column("vector")
            search = search.distance_type("cosine").limit(limit)
            if among:
                search = search.where(f"name IN ({quoted(among)})")
            found = await search.select(["name", "_distance", *self._others]).to_arrow()
            cosines = [[1.0 - distance for distance in found["_distance"].to_pylist()]]
            cosines += [[cosine(vector, row) for row in found[each].to_pylist()] for each in self._others]
            return dict(zip(found["name"].to_pylist(), map(list, zip(*cosines, strict=True)), strict=True))


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
        self._scale = (0.0, 1.0)
        """What is added to and multiplied with a cosine to bring it to the scale of the built-in table."""
        self._is_behind = True
        """Whether tools may have changed since the vectors were brought up to date."""
        self._work: anyio.Event | None = None
        self._failure: AlitaError | None = None
        self._failures = 0
        self._rests_until = 0.0

    def track(self) -> None:
        """Notes that tools changed; the next search brings the vectors up to date."""
        self._is_behind = True

    async def cosines(self, need: str) -> Mapping[str, Score] | None:
        """Cosines of the nearest tools, on the scale of the built-in table. None: search by words.

        That is so while the embedder is away or slow, the table fails, or the vectors are not complete. A search that
        waited for it in vain spares the next ones the wait, for a pause that grows.
        """
        if anyio.current_time() < self._rests_until:
            return None
        try:
            with anyio.fail_after(PATIENCE_S if self._table else FIRST_PATIENCE_S):
                table = await self.ready()
                vector = unit((await self._embedder.embed([need]))[0])
                near = await table.nearest(vector)
        except (AlitaError, TimeoutError) as failure:
            await self._rest(failure)
            return None
        self._failures = 0
        shift, factor = self._scale
        return {
            name: Score(*((cosine + shift) * factor for cosine in cosines))
            for name, cosines in near.items()
            if name != PROBE
        }

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

    def close(self) -> None:
        """Closes the files."""
        if self._table is not None:
            self._table.close()

    async def _rest(self, failure: Exception) -> None:
        """Has searches go by words for a while; a table that failed is opened again then, and at last made anew."""
        self._rests_until = anyio.current_time() + self._pauses.pause(min(self._failures, MOST_DOUBLED), None)
        _log.warning("Search goes by words for a while: %s", failure or "the embedder takes too long.")
        if self._table and isinstance(failure, LibraryError) and not isinstance(failure, TableBusy):
            self._is_behind = True
            self.close()
            if self._failures:
                with suppress(LibraryError):
                    await self._table.reset()
        self._failures += 1

    async def _update(self, done: anyio.Event) -> None:
        """Brings the vectors up to date with the tools; one process of a library at a time."""
        try:
            table = await self._open()
            wanted = await anyio.to_thread.run_sync(self._reader.read_hashes)
            async with table.locked():
                there = await table.hashes()
                await table.write((), there.keys() - wanted.keys() - {PROBE})
                lacking = [name for name, digest in wanted.items() if there.get(name) != digest]
                for at in range(0, len(lacking), TOOLS_AT_ONCE):
                    names = lacking[at : at + TOOLS_AT_ONCE]
                    found = await anyio.to_thread.run_sync(self._reader.read_texts, names)
                    vectors = await self._embed([texts for _, texts in found.values()])
                    rows = [
                        {"name": name, "text_hash": digest, "vector": vector, "own": own}
                        for (name, (digest, _)), (vector, own) in zip(found.items(), vectors, strict=True)
                    ]
                    await table.write(rows, ())
        except AlitaError as failure:
            self._is_behind, self._failure = True, failure
        else:
            self._rests_until = 0.0
        finally:
            self._work = None
            done.set()

    async def _open(self) -> VectorTable:
        """The table of the embedder; an empty one where another model has taken the embedder's name."""
        if self._table is not None and self._table.is_open:
            return self._table
        texts = [text for pair in PARAPHRASES for text in pair]
        vectors = [unit(vector) for vector in await self._embedder.embed(texts)]
        alike = {(at, at + 1) for at in range(0, len(texts), 2)}
        pairs = {(a, b): cosine(vectors[a], vectors[b]) for a, b in combinations(range(len(texts)), 2)}
        unrelated = fmean(value for pair, value in pairs.items() if pair not in alike)
        factor = (PARAPHRASE_COSINE - UNRELATED_COSINE) / max(
            fmean(pairs[pair] for pair in alike) - unrelated, 0.01
        )
        self._scale = UNRELATED_COSINE / factor - unrelated, factor
        name, length = f"tools {self._embedder.name}", len(vectors[0])
        table = self._table = VectorTable(self._folder, name, length, ("vector", "own"))
        await table.open()
        async with table.locked():
            known = await table.nearest(vectors[0], 1, [PROBE])
            is_same = bool(known) and known[PROBE][0] >= SAME_MODEL_FROM
            if known and not is_same:
                _log.warning(
                    "Another model answers as %r now; all tools get new vectors.", self._embedder.name
                )
                await table.write((), await table.hashes())
            if not is_same:
                probe = {"name": PROBE, "text_hash": "", "vector": vectors[0], "own": vectors[0]}
                await table.write([probe], ())
        return table

    async def _embed(self, tools: Sequence[Sequence[str]]) -> list[tuple[Vector, Vector]]:
        """The vectors of each tool; where the embedder refuses all texts together, it is given one tool at a time."""
        try:
            return await text_vectors(tools, self._embedder)
        except ModelError:
            (plain,) = await self._embedder.embed(
                [PARAPHRASES[0][0]]
            )  # raises where it is away, and refuses nothing
        vectors: list[tuple[Vector, Vector]] = []
        for texts in tools:
            try:
                vectors += await text_vectors([texts], self._embedder)
            except ModelError as failure:
                _log.warning("A tool is found by its words only: %s", failure)
                vectors.append((unit([0.0] * len(plain)),) * 2)
        return vectors


def _vector_fields(columns: Sequence[str], length: int) -> Sequence[Any]:
    import pyarrow as pa

    return [pa.field(column, pa.list_(pa.float32(), length), nullable=False) for column in columns]


async def text_vectors(texts: Sequence[Sequence[str]], embedder: Embedder) -> list[tuple[Vector, Vector]]:
    """For each row of texts the vector between that of the first and the mean of the others', and that of the first."""
    every = [text for row in texts for text in row]
    found = await embedder.embed(every) if every else []

    def average() -> list[tuple[Vector, Vector]]:
        vectors, units = [], map(unit, found)
        for row in texts:
            first, *others = (next(units) for _ in row)
            mean = [math.fsum(column) / len(others) for column in zip(*others, strict=True)] or first
            vectors.append((unit([a + b for a, b in zip(first, mean, strict=True)]), first))
        return vectors

    return await anyio.to_thread.run_sync(average)


def cosine(one: Vector, other: Vector) -> float:
    """Of two vectors of length one."""
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def unit(vector: Vector) -> Vector:
    """The vector at length one; one without a direction gets the same small part of every direction."""
    length = math.sqrt(math.fsum(value * value for value in vector))
    if length < 1e-12:  # such a row would vanish from every answer
        return [1 / math.sqrt(len(vector))] * len(vector)
    return [value / length for value in vector]
