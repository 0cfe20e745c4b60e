"""Reader of the search index through a connection of its own, so that no search waits for a commit."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from alita_mcp.errors import LibraryError
from alita_mcp.library.catalogue.search_tables import is_damage
from alita_mcp.library.catalogue.teams import hide_other_teams
from alita_mcp.machine import is_of_the_disk, unusable

BUSY_SECONDS = 10.0
_TEXTS = """
SELECT d.name, d.hash, t.name || ': ' || t.description, t.requests
FROM json_each(?) n JOIN document d ON d.name = n.value JOIN document_text t ON t.rowid = d.id
"""


class SearchReader:
    """The search index of one catalogue; used from several threads, one at a time."""

    def __init__(self, path: Path, team: str | None = None) -> None:
        """The file is opened with the first search; with a `team` (empty: none), tools of others are not there."""
        self.path = path
        self._team = team
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def read_hashes(self) -> Mapping[str, str]:
        """Hashes of the present documents, by the names of all tools that can be found."""
        with self.transaction() as db:
            return dict(db.execute("SELECT name, hash FROM document ORDER BY name"))

    def read_texts(self, names: Collection[str]) -> Mapping[str, tuple[str, list[str]]]:
        """For those of these tools that can be found the hash, `name in words: description`, and the requests."""
        with self.transaction() as db:
            found = db.execute(_TEXTS, (json.dumps(list(names)),))
            return {
                name: (digest, [about, *requests.splitlines()]) for name, digest, about, requests in found
            }

    def close(self) -> None:
        """Closes the file."""
        with self._lock, suppress(sqlite3.Error):
            if self._db is not None:
                self._db.close()
            self._db = None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One state of the index, whatever is committed meanwhile.

        Raises:
            LibraryError: the index is damaged, or the file cannot be read.
        """
        with self._lock:
            try:
                if self._db is None:
                    self._db = sqlite3.connect(
                        self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
                    )
                    if self._team is not None:
                        hide_other_teams(self._db, self._team, "document")
                    self._db.execute("PRAGMA query_only = ON")
                self._db.execute("BEGIN")
                try:
                    yield self._db
                finally:
                    self._db.execute("ROLLBACK")
            except sqlite3.Error as error:
                if is_of_the_disk(error):
                    raise unusable(self.path, error) from error
                hint = "Run `alita tool reindex`." if is_damage(error) else "Check that the file can be read."
                raise LibraryError(f"The search index in {self.path} fails: {error}.", hint=hint) from error
