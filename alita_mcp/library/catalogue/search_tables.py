"""Full-text index of the tools in the catalogue's file, updated in the transaction of every change of a tool.

Triggers note the names whose rows any process writes; before the commit those tools are indexed again. The index is
derived: `alita tool reindex` makes it anew from the catalogue.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Collection

from alita_mcp.errors import LibraryError
from alita_mcp.library.words.documents import Document, document_of

VERSION = 5
"""Raised when the same tool gives other rows: every library is then indexed anew."""
AT_ONCE = 500

TABLES = (
    "CREATE TABLE document (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash TEXT NOT NULL)",
    """
    CREATE VIRTUAL TABLE document_text USING fts5 (
        name, description, parameters, requests, tokenize = 'porter unicode61 remove_diacritics 2'
    )
    """,
    "CREATE TABLE search_total (version INTEGER)",
)
NAMES = ("document_text", "document", "search_total", "term", "letter_group", "taught")
"""The last three are of versions before this one."""

UNINDEXED = (
    "CREATE TABLE IF NOT EXISTS unindexed (name TEXT PRIMARY KEY) WITHOUT ROWID",
    *(
        f"""
        CREATE TRIGGER IF NOT EXISTS unindexed_by_{change}_of_{table} AFTER {change} ON {table} BEGIN
            INSERT INTO unindexed SELECT {row}.name
            WHERE NOT EXISTS (SELECT 1 FROM unindexed WHERE name = {row}.name);
        END
        """  # noqa: S608 - of our own words
        for table in ("tool", "version")
        for change, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD"))
    ),
)

FINDABLE = """
SELECT t.name, v.manifest FROM json_each(?) n JOIN tool t ON t.name = n.value
JOIN version v ON v.name = t.name AND v.version = t.current
WHERE t.state = 'enabled' AND v.quarantined IS NULL
"""

_log = logging.getLogger(__name__)


def prepare(db: sqlite3.Connection) -> None:
    """Makes the index where there is none, and anew where it is of another version.

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
    if _read_version(db) != VERSION:
        rebuild(db)


def _read_version(db: sqlite3.Connection) -> int | None:
    there = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_total'").fetchone()
    row = db.execute("SELECT version FROM search_total").fetchone() if there else None
    return row[0] if row else None


def rebuild(db: sqlite3.Connection) -> int:
    """Makes the index anew from the catalogue; returns how many tools can be found."""
    create(db)
    db.execute("INSERT OR IGNORE INTO unindexed SELECT name FROM tool")
    _index_changed(db)
    return int(db.execute("SELECT count(*) FROM document").fetchone()[0])


def create(db: sqlite3.Connection) -> None:
    """Makes an empty index in place of the one that is there, whatever that holds."""
    for table in NAMES:
        try:
            db.execute(f"DROP TABLE IF EXISTS {table}")
        except sqlite3.DatabaseError:  # a full text with damaged rows of its own is not even dropped
            db.execute("PRAGMA writable_schema = ON")
            db.execute("DELETE FROM sqlite_master WHERE name = ?", (table,))
            db.execute("PRAGMA writable_schema = RESET")
            for part in ("data", "idx", "content", "docsize", "config"):
                db.execute(f"DROP TABLE IF EXISTS {table}_{part}")
    for statement in TABLES:
        db.execute(statement)
    db.execute("INSERT INTO search_total VALUES (?)", (VERSION,))


def follow(db: sqlite3.Connection) -> None:
    """Indexes the tools changed in this transaction, or before by an alita without this index.

    A damaged index stops no change of a tool: the tool is indexed when the index is made anew. Nor does one that an
    alita of another version has made anew since we opened the library: that one indexes the tool.
    """
    if db.execute("SELECT 1 FROM unindexed LIMIT 1").fetchone() is None or _read_version(db) != VERSION:
        return
    db.execute("SAVEPOINT search")
    try:
        _index_changed(db)
        db.execute("SAVEPOINT written")  # has the full text written now, not with the commit
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        db.execute("ROLLBACK TO search")
        _log.warning("The search index cannot be updated (%s); run `alita tool reindex`.", error)
    db.execute("RELEASE search")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether making the index anew may help: it is corrupt, or not there."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)


def _index_changed(db: sqlite3.Connection) -> None:
    while names := [name for (name,) in db.execute("SELECT name FROM unindexed LIMIT ?", (AT_ONCE,))]:
        documents = read_documents(db, names)
        for name in names:
            put_document(db, name, documents.get(name))
        db.executemany("DELETE FROM unindexed WHERE name = ?", ((name,) for name in names))


def read_documents(db: sqlite3.Connection, names: Collection[str]) -> dict[str, Document]:
    """Documents of these tools, from the catalogue; without those that cannot be found."""
    documents = {}
    for name, manifest in db.execute(FINDABLE, (json.dumps(list(names)),)):
        try:
            documents[name] = document_of(json.loads(manifest))
        except (ValueError, LookupError, TypeError, AttributeError):  # it hides no other tool
            _log.warning("%s is not found by search: its row in the catalogue cannot be read.", name)
    return documents


def put_document(db: sqlite3.Connection, name: str, document: Document | None) -> None:
    """Indexes a tool's document in place of the one before; None removes it from search."""
    known = db.execute("SELECT id, hash FROM document WHERE name = ?", (name,)).fetchone()
    if known is not None:
        if document is not None and known[1] == document.hash:
            return
        db.execute("DELETE FROM document_text WHERE rowid = ?", (known[0],))
        db.execute("DELETE FROM document WHERE id = ?", (known[0],))
    if document is not None:
        entered = db.execute("INSERT INTO document (name, hash) VALUES (?, ?)", (name, document.hash))
        texts = (document.name, document.description, document.parameters, "\n".join(document.requests))
        insert = "INSERT INTO document_text (rowid, name, description, parameters, requests) VALUES (?, ?, ?, ?, ?)"
        db.execute(insert, (entered.lastrowid, *texts))
