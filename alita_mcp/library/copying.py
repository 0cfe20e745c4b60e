"""Copies of a whole library between a home and PostgreSQL: tools, files, grants, journal and use, proved equal."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from alita_mcp.errors import LibraryError, ToolUnavailable, UsageError
from alita_mcp.library.catalogue.mirror import (
    KEYS,
    NOTHING,
    MirrorState,
    clean_rows,
    read_changes,
    send_rows,
)
from alita_mcp.library.catalogue.shared import lock, send_blobs
from alita_mcp.library.versions.files import read_version_folder, unpack
from alita_mcp.library.versions.shared import SharedStore, version_blobs
from alita_mcp.library.versions.store import Store
from alita_mcp.postgres.database import Connection, Database
from alita_mcp.postgres.migrations import migrate
from alita_mcp.values import Value

AT_ONCE = 200
Tables = Mapping[str, Sequence[Mapping[str, Any]]]


class Copy(Value):
    """What was copied."""

    tools: int
    versions: int
    journal: int
    """Lines."""
    digest: str
    """Of all rows, the same on both sides."""
    damaged: tuple[str, ...]
    """Versions whose files are not what was verified; they were not copied, and the copy quarantines them."""


def copy_library(home: Path, url: str, to: str) -> Copy:
    """Copies the library of a home, or with `url` the one in that database, to a database or a new home.

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
        with closing(Database(url)) as database:
            return _copy_to_home(database, place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)  # there was nothing in it
        raise


def _copy_to_database(store: Store, database: Database) -> Copy:
    migrate(database)
    tables = {name: clean_rows(rows) for name, rows in store.catalogue.read_tables().items()}
    damaged = []
    with database.transaction() as connection:
        lock(connection)
        if connection.execute("SELECT 1 FROM tool UNION ALL SELECT 1 FROM journal LIMIT 1").fetchone():
            raise LibraryError(
                f"There is a library at {database.name} already.", hint="Name an empty database."
            )
        for table, rows in tables.items():
            for first in range(0, len(rows), AT_ONCE):
                send_rows(connection, table, list(rows[0]), rows[first : first + AT_ONCE])
        connection.execute("INSERT INTO changed (name) SELECT name FROM tool")
        connection.execute("SELECT setval('journal_id_seq', max(id)) FROM journal")
        for row in tables["version"]:
            name, version = row["name"], row["version"]
            try:
                files = read_version_folder(store.files.folder(name, version), name, version)
                unpack(files, name, version, row["seal"])
                send_blobs(connection, version_blobs(files))
            except ToolUnavailable as changed:
                damaged.append(changed.message)
        wrong = "SELECT 1 FROM blob WHERE digest != 'sha256:' || encode(sha256(content), 'hex')"
        if connection.execute(wrong).fetchone():
            raise LibraryError("A file came out otherwise. Nothing was copied.", hint="Try again.")
        return _compare(tables, connection, damaged)


def _copy_to_home(database: Database, place: Path) -> Copy:
    damaged = []
    with closing(SharedStore(place, None, database)) as store:
        for name, version in sorted(store.catalogue.list_known_versions()):
            try:
                store.read_version(name, version)
            except ToolUnavailable as changed:
                damaged.append(changed.message)
        with database.transaction() as connection:
            lock(connection)
            store.catalogue.pull()
            copied = _compare(store.catalogue.read_tables(), connection, damaged)
        store.catalogue.detach()
    with closing(Store(place, None)):  # keeps beside the tools what people decided
        return copied


def _compare(ours: Tables, connection: Connection, damaged: Sequence[str]) -> Copy:
    """Refuses a copy whose rows in PostgreSQL are not those of the home."""
    theirs = read_changes(connection, MirrorState("", "", NOTHING)).rows
    digests = []
    for table, rows in ours.items():
        columns = sorted(rows[0]) if rows else KEYS[table]
        digests.append(_digest_rows(rows, columns))
        if digests[-1] != _digest_rows(theirs.get(table, ()), columns):
            raise LibraryError(
                f"The rows of {table!r} came out otherwise. Nothing was copied.", hint="Try again."
            )
    return Copy(
        tools=len(ours["tool"]), versions=len(ours["version"]), journal=len(ours["journal"]),
        digest=f"sha256:{hashlib.sha256(''.join(digests).encode()).hexdigest()}", damaged=tuple(damaged),
    )  # fmt: skip


def _digest_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    lines = sorted(json.dumps([row.get(column) for column in columns]) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
