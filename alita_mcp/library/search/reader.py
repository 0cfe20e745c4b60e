"""Reader of the search tables through a connection of its own, so that no search waits for a commit."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from alita_mcp.errors import LibraryError
from alita_mcp.library.catalogue.search_tables import is_damage, read_documents
from alita_mcp.library.words.corpus import Corpus
from alita_mcp.library.words.stems import stems
from alita_mcp.library.words.text import Document, Tokens

BUSY_SECONDS = 10.0


class SearchReader:
    """The search tables of one file; used from several threads, one at a time."""

    def __init__(self, path: Path, tokens: Tokens = stems) -> None:
        """The file is opened with the first search."""
        self.path = path
        self._tokens = tokens
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._known: tuple[int, Corpus] | None = None

    @contextmanager
    def moment(self) -> Iterator[Corpus]:
        """The statistics of the words as they are now; they do not change while they are used.

        Raises:
            LibraryError: the tables are damaged, or the file cannot be read.
        """
        with self._reading() as db:
            revision = int(db.execute("SELECT revision FROM search_total").fetchone()[0])
            if self._known is None or self._known[0] != revision:
                self._known = revision, Corpus(db, self._tokens)
            yield self._known[1]

    def hashes(self) -> Mapping[str, str]:
        """Hashes of the present documents, by the names of all tools that can be found."""
        with self._reading() as db:
            return dict(db.execute("SELECT name, hash FROM document ORDER BY name"))

    def requests(self) -> Mapping[str, int]:
        """Number of example requests of each tool that has any."""
        with self._reading() as db:
            return dict(db.execute("SELECT name, requests FROM document WHERE requests ORDER BY name"))

    def documents(self, names: Collection[str]) -> Mapping[str, Document]:
        """Documents of these tools, of those that can be found."""
        with self._reading() as db:
            return read_documents(db, names)

    def close(self) -> None:
        """Closes the file."""
        with self._lock, suppress(sqlite3.Error):
            if self._db is not None:
                self._db.close()
            self._db = self._known = None

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                db = self._db = self._db or self._opened()
                db.execute("BEGIN")
                try:
                    yield db
                finally:
                    db.execute("ROLLBACK")
            except sqlite3.Error as error:
                hint = "Run `alita tool reindex`." if is_damage(error) else "Check that the file can be read."
                raise LibraryError(f"The search tables in {self.path} fail: {error}.", hint=hint) from error

    def _opened(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA query_only = ON")
        return db
