"""Copies of a whole library between a home and PostgreSQL: tools, files, grants, journal and use, proved equal."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from alita_mcp.errors import LibraryError, ToolUnavailable, UsageError
from alita_mcp.library.catalogue.mirror import KEYS, Postgres, clean_row, put_rows, read_changes
from alita_mcp.library.catalogue.shared import lock
from alita_mcp.library.versions.files import read_version_folder, unpack
from alita_mcp.library.versions.shared import SharedStore, put_files, read_files
from alita_mcp.library.versions.store import Store
from alita_mcp.postgres.database import Connection, Database
from alita_mcp.values import Value

Tables = Mapping[str, Sequence[Mapping[str, Any]]]
_log = logging.getLogger(__name__)


class Copy(Value):
    """What was copied."""

    tools: int
    versions: int
    journal: int
    """Lines."""
    digest: str
    """Of all rows, the same on both sides."""


def copy_library(home: Path, url: str, to: str) -> Copy:
    """Copies the library of a home, or with `url` the one in that database, to a database or a new home.

    A version whose files are not what was verified is logged; the copy has none of its files, and quarantines it.

    Raises:
        UsageError: `to` is no place for it.
        LibraryError: there is a library already, a side cannot be used, or the copy differs; nothing was copied.
    """
    is_database = to.startswith(("postgresql://", "postgres://"))
    if is_database == bool(url):
        raise UsageError(
            f"The library is in {'PostgreSQL' if url else home} already, and not copied to such a place.",
            hint="Copy from a home to postgresql://…, or with ALITA_LIBRARY set to a new folder.",
        )
    if is_database:
        with closing(Store(home, None)) as store, closing(Database(to)) as database:
            return _copy_to_database(store, database)
    place = Path(to).expanduser().absolute()
    if place.exists() and any(place.iterdir()):
        raise LibraryError(f"{place} is not empty.", hint="Name a new folder.")
    try:
        return _copy_to_home(url, place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)  # there was nothing in it
        raise


def _copy_to_database(store: Store, database: Database) -> Copy:
    with database.transaction() as connection:
        lock(connection)
        if connection.execute("SELECT 1 FROM journal WHERE event != 'created' LIMIT 1").fetchone():
            raise LibraryError(
                f"There is a library at {database.name} already.", hint="Name an empty database."
            )
        connection.execute("DELETE FROM journal")
        tables = _read_tables(store)
        for table, rows in tables.items():
            put_rows(Postgres(connection), table, rows)
        connection.execute("INSERT INTO changed (name) SELECT name FROM tool")
        connection.execute("SELECT setval('journal_id_seq', max(id)) FROM journal")
        for row in tables["version"]:
            name, version = row["name"], row["version"]
            try:
                files = read_version_folder(store.files.folder(name, version), name, version)
                unpack(files, name, version, row["seal"])
            except ToolUnavailable as changed:
                _log.warning("Not copied: %s", changed.message)
                continue
            put_files(connection, row["seal"], files)
            if read_files(connection, name, version) != (row["seal"], files):
                raise LibraryError(
                    f"{name} v{version} came out otherwise. Nothing was copied.", hint="Try again."
                )
        return _compare(tables, connection)


def _copy_to_home(url: str, place: Path) -> Copy:
    with closing(SharedStore(place, None, Database(url))) as store:
        for name, version in sorted(store.catalogue.list_known_versions()):
            try:
                store.read_version(name, version)
            except ToolUnavailable as changed:
                _log.warning("Not copied: %s", changed.message)
        with store.database.transaction() as connection:
            lock(connection)
            store.catalogue.pull()
            copied = _compare(_read_tables(store), connection)
    with closing(sqlite3.connect(place / "library.sqlite3")) as db:
        db.execute("DROP TABLE mirror")
    with closing(Store(place, None)):  # keeps beside the tools what people decided
        return copied


def _read_tables(store: Store) -> Tables:
    """All rows of a home, as they are at one moment and PostgreSQL takes them."""
    with closing(sqlite3.connect(store.catalogue.path, isolation_level=None)) as db:
        db.row_factory = sqlite3.Row
        db.execute("BEGIN")
        return {
            table: [clean_row(dict(row)) for row in db.execute(f"SELECT * FROM {table}")]  # noqa: S608
            for table in KEYS
        }


def _compare(ours: Tables, connection: Connection) -> Copy:
    """Refuses a copy whose rows in PostgreSQL are not those of the home."""
    columns = {table: sorted(rows[0]) if rows else [] for table, rows in ours.items()}
    digest = _digest_rows(ours, columns)
    if digest != _digest_rows(read_changes(connection), columns):
        raise LibraryError("The rows came out otherwise. Nothing was copied.", hint="Try again.")
    return Copy(
        tools=len(ours["tool"]), versions=len(ours["version"]), journal=len(ours["journal"]), digest=digest
    )


def _digest_rows(tables: Tables, columns: Mapping[str, Sequence[str]]) -> str:
    digest = hashlib.sha256()
    for table, names in columns.items():
        lines = sorted(json.dumps([row[name] for name in names]) for row in tables.get(table, ()))
        digest.update("\n".join([table, *lines]).encode())
    return f"sha256:{digest.hexdigest()}"
