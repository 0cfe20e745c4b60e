"""A finder over a few tools, opened and closed for a test; and embedders that fail in a chosen way."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path

import anyio

from alita_mcp.errors import ModelError
from alita_mcp.library.background import background
from alita_mcp.library.catalogue.search_tables import create, put_document
from alita_mcp.library.search.finder import Finder
from alita_mcp.library.search.ranking import Ranking, rank
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.words.documents import Document, compose
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
    """Makes the search index of a file, where there is none, that of these documents and no others."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_total'").fetchone():
            create(db)
        for name in [name for (name,) in db.execute("SELECT name FROM document")]:
            put_document(db, name, documents.get(name))
        for name, document in documents.items():
            put_document(db, name, document)
        db.execute("COMMIT")


def ranked(
    need: str, documents: Mapping[str, Document], cosines: Mapping[str, float] | None = None
) -> Ranking:
    """The ranking of these documents for a need."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create(db)
        for name, document in documents.items():
            put_document(db, name, document)
        return rank(db, need, cosines)


@asynccontextmanager
async def opened(
    home: Path, embedder: Embedder | None, documents: Mapping[str, Document] = TOOLS
) -> AsyncIterator[Finder]:
    """A finder over these documents; it keeps on the disk what it has."""
    await anyio.Path(home).mkdir(exist_ok=True)
    path = home / "documents.sqlite3"
    write(path, documents)
    with anyio.fail_after(120):
        with ExitStack() as files:
            async with background() as tasks:
                finder = Finder(SearchReader(path), tasks, embedder, SHORT_PAUSES)
                files.callback(finder.close)
                try:
                    yield finder
                finally:
                    tasks.cancel_scope.cancel()


def set_documents(home: Path, finder: Finder, documents: Mapping[str, Document]) -> None:
    """Makes these documents those of an open finder."""
    write(home / "documents.sqlite3", documents)
    finder.track()


async def best(finder: Finder, query: str) -> str | None:
    """The name of the best hit."""
    hits = (await finder.search(query)).hits
    return hits[0].name if hits else None


async def until_by_meaning(finder: Finder, query: str) -> None:
    """Returns once searches go by meaning."""
    while not (await finder.search(query)).by_meaning:  # noqa: ASYNC110 - asking is what is tested
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
