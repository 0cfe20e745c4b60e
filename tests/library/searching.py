"""A finder over a few tools, opened and closed for a test; and embedders that fail in a chosen way."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from weakref import finalize

import anyio
from anyio.abc import TaskGroup

from alita_mcp.errors import ModelError
from alita_mcp.library.background import background
from alita_mcp.library.catalogue.search_tables import SearchWriter, create
from alita_mcp.library.search.finder import Finder
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.words.corpus import Corpus
from alita_mcp.library.words.stems import stems
from alita_mcp.library.words.text import Document, Tokens, compose
from alita_mcp.models.embedding.interface import Embedder
from alita_mcp.models.litellm.backoff import Patience

SHORT_PAUSES = Patience(first_pause_s=0.05, max_pause_s=0.2)
MEANS = {"kitten": "cat", "automobile": "car", "physician": "doctor"}
TOOLS = {
    "feed_cat": compose("feed_cat", "Give food to a cat."),
    "wash_car": compose("wash_car", "Clean a car with water."),
    "call_doctor": compose("call_doctor", "Phone a doctor."),
}


def many(count: int) -> dict[str, Document]:
    """So many tools, each about another number."""
    return {f"tool_{at}": compose(f"tool_{at}", f"Serves number n{at}.") for at in range(count)}


def write(path: Path, documents: Mapping[str, Document]) -> None:
    """Makes the search tables of a file, where there are none, those of these documents and no others."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_total'").fetchone():
            create(db)
        put(db, documents)
        db.execute("COMMIT")


def put(db: sqlite3.Connection, documents: Mapping[str, Document], tokens: Tokens = stems) -> None:
    """Makes the search tables those of these documents and no others."""
    writer = SearchWriter(db, tokens)
    for name in [name for (name,) in db.execute("SELECT name FROM document")]:
        writer.put(name, documents.get(name))
    for name, document in documents.items():
        writer.put(name, document)
    writer.write()


def corpus_of(documents: Mapping[str, Document], tokens: Tokens = stems) -> Corpus:
    """The statistics of these documents, in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    create(db)
    put(db, documents, tokens)
    corpus = Corpus(db, tokens)
    finalize(corpus, db.close)
    return corpus


class Following(Finder):
    """Its catalogue holds what was wanted last."""

    def __init__(
        self, path: Path, tasks: TaskGroup, embedder: Embedder | None, pauses: Patience = SHORT_PAUSES
    ) -> None:
        self.path = path
        self.newest: Mapping[str, Document] = {}
        super().__init__(SearchReader(path), self.documents, tasks, embedder, pauses)

    def documents(self, names: Collection[str]) -> Mapping[str, Document]:
        return {name: self.newest[name] for name in names if name in self.newest}

    def set_documents(self, documents: Mapping[str, Document]) -> None:
        self.newest = dict(documents)
        write(self.path, documents)
        self.track()


@asynccontextmanager
async def opened(
    home: Path,
    embedder: Embedder | None,
    documents: Mapping[str, Document] = TOOLS,
    pauses: Patience = SHORT_PAUSES,
) -> AsyncIterator[Following]:
    """A finder that keeps what is on the disk; another mapping in `set_documents` is what the catalogue holds then."""
    await anyio.Path(home).mkdir(exist_ok=True)
    with anyio.fail_after(120):
        with ExitStack() as files:
            async with background() as tasks:
                finder = Following(home / "documents.sqlite3", tasks, embedder, pauses)
                files.callback(finder.close)
                finder.set_documents(documents)
                try:
                    yield finder
                finally:
                    tasks.cancel_scope.cancel()


async def best(finder: Finder, query: str) -> str | None:
    """The name of the best hit."""
    hits = (await finder.search(query)).hits
    return hits[0].name if hits else None


async def until_by_meaning(finder: Finder, query: str) -> None:
    """Returns once searches go by meaning."""
    while (await finder.search(query)).meaning is None:  # noqa: ASYNC110 - asking is what is tested
        await anyio.sleep(0.02)


async def until(is_so: Callable[[], bool]) -> None:
    """Returns once that is so."""
    while not is_so():  # noqa: ASYNC110 - nobody tells
        await anyio.sleep(0.01)


class Switch:
    """What an embedder does before it answers; to be switched while it is in use."""

    def __init__(self, how: str = "answers", only: str = "") -> None:
        """`how`: answers, fails, hangs or crashes, for requests with `only` in one of their texts."""
        self.how = how
        self.only = only
        self.requests = 0

    async def __call__(self, texts: Sequence[str]) -> None:
        if not any(self.only in text for text in texts):
            return
        self.requests += 1
        match self.how:
            case "fails":
                raise ModelError("gone")
            case "hangs":
                await until(lambda: self.how != "hangs")
            case "crashes":
                raise ValueError("a bug of its own")
