"""Search tables in the catalogue's file, kept up to date in the transaction of every change of a tool.

Triggers note the names whose rows any process writes; before the commit those tools are read again.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from alita_mcp.errors import LibraryError
from alita_mcp.library.words.documents import Words, document_of, words_of
from alita_mcp.library.words.stems import VERSION, stems
from alita_mcp.library.words.text import Document, Tokens, letter_groups

AT_ONCE = 500

TABLES = (
    """
    CREATE TABLE document (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        hash TEXT NOT NULL,
        words TEXT NOT NULL,
        own INTEGER NOT NULL,
        agreed INTEGER NOT NULL,
        head TEXT NOT NULL,
        letters INTEGER NOT NULL,
        requests INTEGER NOT NULL
    )
    """,
    # `ascii` cuts at the spaces between our words and nowhere else
    """
    CREATE VIRTUAL TABLE document_text
    USING fts5 (words, content = 'document', content_rowid = 'id', tokenize = 'ascii')
    """,
    "CREATE TABLE term (word TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE letter_group (letters TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE search_total (version INTEGER, revision INTEGER, documents INTEGER, words INTEGER, letters INTEGER)",
)
"""The first `own` of `words` are what a tool says of itself, the next `agreed` those that its requests have in common.
`head` are the words of name and description, `letters` the number of their letter groups; `revision` is another number
after each change, also where they were made anew."""
NAMES = ("document_text", "document", "term", "letter_group", "search_total")

UNINDEXED = (
    "CREATE TABLE IF NOT EXISTS unindexed (name TEXT PRIMARY KEY) WITHOUT ROWID",
    *(
        f"""
        CREATE TRIGGER IF NOT EXISTS unindexed_by_{change}_of_{table} AFTER {change} ON {table} BEGIN
            INSERT INTO unindexed SELECT {row}.name
            WHERE NOT EXISTS (SELECT 1 FROM unindexed WHERE name = {row}.name);
        END
        """  # noqa: S608 - of our own words
        for table in ("tool", "version", "wording")
        for change, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD"))
    ),
)

FINDABLE = """
SELECT t.name, v.manifest,
    (SELECT json_group_array(w.text) FROM (SELECT text FROM wording w WHERE w.name = t.name ORDER BY id) w)
FROM json_each(?) n JOIN tool t ON t.name = n.value
JOIN version v ON v.name = t.name AND v.version = t.current
WHERE t.state = 'enabled' AND v.quarantined IS NULL
"""

_log = logging.getLogger(__name__)


def prepare(db: sqlite3.Connection) -> None:
    """Makes the tables where there are none, and anew where they hold other stems than ours.

    Raises:
        LibraryError: this SQLite has no full-text search.
    """
    if not db.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone():
        raise LibraryError(
            f"The SQLite {sqlite3.sqlite_version} of this Python has no full-text search (FTS5).",
            hint="Use a Python whose SQLite has it, as those of uv, of python.org and of most systems do.",
        )
    for statement in UNINDEXED:
        db.execute(statement)
    if _version(db) != VERSION:
        rebuild(db)


def _version(db: sqlite3.Connection) -> int | None:
    there = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_total'").fetchone()
    row = db.execute("SELECT version FROM search_total").fetchone() if there else None
    return row[0] if row else None


def rebuild(db: sqlite3.Connection) -> int:
    """Makes the tables anew from the catalogue; returns how many tools can be found."""
    create(db)
    db.execute("INSERT OR IGNORE INTO unindexed SELECT name FROM tool")
    _take_in(db)
    return int(db.execute("SELECT documents FROM search_total").fetchone()[0])


def create(db: sqlite3.Connection) -> None:
    """Makes empty tables in place of those that are there, whatever these hold."""
    for table in NAMES:
        _drop(db, table)
    for statement in TABLES:
        db.execute(statement)
    db.execute("INSERT INTO search_total VALUES (?, random() / 2, 0, 0, 0)", (VERSION,))


def _drop(db: sqlite3.Connection, table: str) -> None:
    try:
        db.execute(f"DROP TABLE IF EXISTS {table}")
    except sqlite3.DatabaseError:  # a full text with damaged rows of its own is not even dropped
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_master WHERE name = ?", (table,))
        db.execute("PRAGMA writable_schema = RESET")
        for part in ("data", "idx", "docsize", "config"):
            db.execute(f"DROP TABLE IF EXISTS {table}_{part}")


def follow(db: sqlite3.Connection) -> None:
    """Updates the rows of tools changed in this transaction, or before by an alita without these tables.

    Damaged tables stop no change of a tool: it is taken in once they are made anew. An alita of other stems, which has
    made them anew since we opened the library, takes it in by its own.
    """
    if db.execute("SELECT 1 FROM unindexed LIMIT 1").fetchone() is None or _version(db) != VERSION:
        return
    db.execute("SAVEPOINT search")
    try:
        _take_in(db)
        db.execute("SAVEPOINT written")  # has the full text written now, not with the commit
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        db.execute("ROLLBACK TO search")
        _log.warning("The search tables cannot be brought up to date (%s); run `alita tool reindex`.", error)
    db.execute("RELEASE search")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether making the tables anew may help: they are corrupt, or not there."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)


def _take_in(db: sqlite3.Connection) -> None:
    writer = SearchWriter(db)
    while names := [name for (name,) in db.execute("SELECT name FROM unindexed LIMIT ?", (AT_ONCE,))]:
        documents = read_documents(db, names)
        for name in names:
            writer.put(name, documents.get(name))
        db.executemany("DELETE FROM unindexed WHERE name = ?", ((name,) for name in names))
    writer.write()


def read_documents(db: sqlite3.Connection, names: Collection[str]) -> dict[str, Document]:
    """Documents of these tools, from the catalogue; without those that cannot be found."""
    documents = {}
    for name, manifest, others in db.execute(FINDABLE, (json.dumps(list(names)),)):
        try:
            documents[name] = document_of(json.loads(manifest), json.loads(others))
        except (ValueError, LookupError, TypeError, AttributeError):  # it hides no other tool
            _log.warning("%s is not found by search: its row in the catalogue cannot be read.", name)
    return documents


class SearchWriter:
    """Changes of the tables in one transaction: rows at once, counts with `write`, which ends it."""

    def __init__(self, db: sqlite3.Connection, tokens: Tokens = stems) -> None:
        self._db = db
        self._tokens = tokens
        self._terms: Counter[str] = Counter()
        self._documents = self._words = self._letters = 0
        self._changed = False

    def put(self, name: str, document: Document | None) -> None:
        """Sets a tool's document; None removes it from search."""
        known = self._db.execute(
            "SELECT id, hash, words, letters FROM document WHERE name = ?", (name,)
        ).fetchone()
        if known is not None:
            row, digest, words, letters = known
            if document is not None and digest == document.hash:
                return
            old = "INSERT INTO document_text (document_text, rowid, words) VALUES ('delete', ?, ?)"
            self._db.execute(old, (row, words))
            self._db.execute("DELETE FROM document WHERE id = ?", (row,))
            self._count(words.split(), letters, -1)
        if document is not None:
            self._add(name, document, words_of(document, self._tokens))

    def _add(self, name: str, document: Document, found: Words) -> None:
        every = (*found.own, *found.lent)
        words, head = " ".join(every), " ".join(found.head)
        row = self._db.execute(
            "INSERT INTO document (name, hash, words, own, agreed, head, letters, requests)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (name, document.hash, words, len(found.own), len(found.agreed), head, found.letters, found.requests),
        ).lastrowid  # fmt: skip
        self._db.execute("INSERT INTO document_text (rowid, words) VALUES (?, ?)", (row, words))
        self._count(every, found.letters, 1)

    def _count(self, words: Collection[str], letters: int, sign: int) -> None:
        for word in set(words):
            self._terms[word] += sign
        self._documents += sign
        self._words += sign * len(words)
        self._letters += sign * letters
        self._changed = True

    def write(self) -> None:
        """Adds the changes to the counts of all documents."""
        if not self._changed:
            return
        groups: Counter[str] = Counter()
        for word, times in self._terms.items():
            for group in letter_groups(word) if times else ():
                groups[group] += times
        self._add_up("term", "word", self._terms)
        self._add_up("letter_group", "letters", groups)
        self._db.execute(
            "UPDATE search_total SET revision = revision + 1, documents = documents + ?, words = words + ?,"
            " letters = letters + ?",
            (self._documents, self._words, self._letters),
        )

    def _add_up(self, table: str, key: str, changes: Mapping[str, int]) -> None:
        some = sorted((word, times) for word, times in changes.items() if times)
        self._db.executemany(
            f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT ({key})"  # noqa: S608 - of our own words
            " DO UPDATE SET documents = documents + excluded.documents",
            some,
        )
        fewer: Iterable[tuple[str]] = ((word,) for word, times in some if times < 0)
        self._db.executemany(f"DELETE FROM {table} WHERE {key} = ? AND documents <= 0", fewer)  # noqa: S608
