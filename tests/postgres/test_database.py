"""Transactions, notices and migrations on a real PostgreSQL, also while it is away, full of others or newer."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import LiteralString

import pytest

from alita_mcp.errors import LibraryError
from alita_mcp.postgres import database as database_module
from alita_mcp.postgres import migrations
from alita_mcp.postgres.database import Database
from tests.postgres_cluster import PostgresServer

pytestmark = [pytest.mark.postgres, pytest.mark.extra("team")]


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    opened = Database(postgres_url)
    yield opened
    opened.close()


def migrate(database: Database) -> None:
    with database.transaction() as connection:
        migrations.migrate(connection)


def execute(database: Database, statement: LiteralString) -> None:
    with database.transaction() as connection:
        connection.execute(statement)


def test_servers_that_migrate_at_once_do_so_once(postgres_url: str, database: Database) -> None:
    others = [Database(postgres_url) for _ in range(4)]
    threads = [threading.Thread(target=migrate, args=(each,)) for each in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    migrate(database)
    with database.transaction() as connection:
        rows = connection.execute("SELECT number FROM migration ORDER BY number").fetchall()
    assert [row["number"] for row in rows] == [*migrations.read_migrations()]
    for each in others:
        each.close()


@pytest.mark.parametrize(("readable_from", "is_refused"), [(0, False), (9_000, True)])
def test_a_newer_schema_is_left_as_it_is(
    database: Database, monkeypatch: pytest.MonkeyPatch, readable_from: int, is_refused: bool
) -> None:
    ours = migrations.read_migrations()
    sql = f"-- readable from {readable_from}\nCREATE TABLE of_a_newer_version (x text)"
    monkeypatch.setattr(migrations, "read_migrations", lambda: {**ours, 9_000: sql})
    migrate(database)
    monkeypatch.setattr(migrations, "read_migrations", lambda: ours)
    if is_refused:
        with pytest.raises(LibraryError, match=r"schema is number 9000.*Upgrade"):
            migrate(database)
    else:
        migrate(database)
    with database.transaction() as connection:
        assert connection.execute("SELECT * FROM of_a_newer_version").fetchall() == []


def test_a_migration_that_fails_changes_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {9_000: "CREATE TABLE half (x text); SELECT 1 / 0;"}
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "read_migrations", lambda: broken)
        with pytest.raises(LibraryError, match="division by zero"):
            migrate(database)
    with pytest.raises(LibraryError, match='"half" does not exist'):
        execute(database, "SELECT * FROM half")


def test_what_raises_is_rolled_back(database: Database) -> None:
    with suppress(KeyError), database.transaction() as connection:
        connection.execute("CREATE TABLE gone (x text)")
        raise KeyError
    with pytest.raises(LibraryError, match='"gone" does not exist'):
        execute(database, "SELECT * FROM gone")


def test_a_database_that_was_away_is_used_again(
    postgres_server: PostgresServer, postgres_url: str, database: Database
) -> None:
    heard: queue.Queue[str | None] = queue.Queue()
    database.listen("alita", heard.put)
    assert heard.get(timeout=60) is None
    postgres_server.stop("immediate")
    with pytest.raises(LibraryError, match=r"cannot be reached.*can still be called"):
        execute(database, "SELECT 1")
    postgres_server.start()
    assert heard.get(timeout=60) is None, "whatever was missed is looked for"
    with database.transaction() as connection:
        database.notify(connection, "alita", "slugify")
    assert heard.get(timeout=60) == "slugify"


def test_what_goes_on_without_a_database_that_is_away_does_not_wait_for_it(
    postgres_server: PostgresServer, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: queue.Queue[str | None] = queue.Queue()
    database.listen("alita", heard.put)
    assert heard.get(timeout=60) is None
    postgres_server.stop("immediate")
    try:
        while database._away_since is None:
            threading.Event().wait(0.01)
        database._away_since -= 60
        monkeypatch.setattr(database_module, "CONNECT_S", 50.0)
        monkeypatch.setattr(database._pool, "timeout", 50.0)
        for _ in range(8):  # each would take a minute
            with pytest.raises(LibraryError, match="cannot be reached"):
                execute(database, "SELECT 1")
    finally:
        postgres_server.start()
    assert heard.get(timeout=60) is None
    execute(database, "SELECT 1")


def test_a_listener_that_fails_hears_the_next_notice(database: Database) -> None:
    heard: queue.Queue[str | None] = queue.Queue()

    def fail(text: str | None) -> None:
        heard.put(text)
        raise ValueError(text)

    database.listen("alita", fail)
    assert heard.get(timeout=60) is None
    for text in ("one", "two"):
        with database.transaction() as connection:
            database.notify(connection, "alita", text)
        assert heard.get(timeout=60) == text


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://someone:geheim@127.0.0.1:1/alita", "127.0.0.1:1/alita cannot be reached"),
        ("postgresql://someone:geheim@/none?host=/nowhere", "/nowhere:5432/none cannot be reached"),
    ],
)
def test_no_message_holds_the_password(url: str, said: str, caplog: pytest.LogCaptureFixture) -> None:
    database = Database(url)
    with pytest.raises(LibraryError) as refused, database.transaction():
        pass
    assert said in str(refused.value)
    assert "geheim" not in str(refused.value)
    assert caplog.text == "", "what is raised is not logged as well"
    database.close()


def test_a_value_that_no_database_holds_does_not_say_that_it_is_away(database: Database) -> None:
    with (
        pytest.raises(LibraryError, match="refuses: PostgreSQL text fields"),
        database.transaction() as connection,
    ):
        connection.execute("SELECT %s::text", ("a\x00",))


def test_a_read_only_database_is_called_so(database: Database) -> None:
    with pytest.raises(LibraryError, match="read-only"):
        execute(database, "SET TRANSACTION READ ONLY; CREATE TABLE x (y text)")
