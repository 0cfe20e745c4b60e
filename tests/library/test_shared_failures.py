"""A shared library whose database is away, slow, full, read-only, or of a newer version."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import LibraryError
from alita_mcp.library.catalogue.shared import lock
from alita_mcp.postgres import database as postgres
from alita_mcp.postgres.database import Database
from tests.conftest import share_library
from tests.library.factory import accepted, events, found, opened, simple
from tests.postgres_cluster import ACCOUNT, PostgresServer
from tests.small_disk import fill, small_disk

pytestmark = [pytest.mark.postgres, pytest.mark.extra("team")]


@pytest.fixture
def store() -> str:
    return "postgres"


@pytest.fixture
def other_home(tmp_path: Path, postgres_url: str) -> Path:
    share_library(tmp_path / "other", postgres_url)
    return tmp_path / "other"


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    with closing(Database(postgres_url)) as opened_database:
        yield opened_database


async def test_without_the_database_reading_goes_on_and_writing_says_so(
    home: Path, other_home: Path, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "CONNECT_S", 1.0)
    with anyio.fail_after(120):
        async with opened(home) as library, AsyncExitStack() as stack:
            manifest = await library.publish(accepted(), expected_version=0)
            other = await stack.enter_async_context(opened(other_home))
            postgres_server.stop("immediate")
            assert library.entry("slugify").manifest == manifest
            assert (await library.read("slugify")).draft == accepted().draft
            assert (await library.search("url slug", 1)).results[0].name == "slugify"
            assert events(library) == ["created", "published"]
            for write in (
                library.publish(simple("new_tool"), expected_version=0),
                library.disable("slugify"),
                library.delete("slugify"),
                library.raise_trust(accepted(), await library.read("slugify")),
            ):
                with pytest.raises(LibraryError, match=r"cannot be reached.*can still be called"):
                    await write
            with pytest.raises(LibraryError, match="cannot be reached"):
                await other.read("slugify")
            assert other.entry("slugify").state == "enabled"
            library.calls.record("slugify", 1, ok=True, status="ok", seconds=0.1, sandbox="scripted")
            await library.settle()
            async with opened(home) as restarted:
                assert (await restarted.read("slugify")).draft == accepted().draft
            assert library.tools.names() == ["slugify"]
            postgres_server.start()
            announced = anyio.Event()
            other.on_change(announced.set)
            await library.publish(simple("new_tool"), expected_version=0)
            await announced.wait()
            await library.settle()
            await other.look_again()
            assert other.entry("slugify").calls == 1
            assert (await other.read("slugify")).draft == accepted().draft
            assert other.tools.names() == ["new_tool", "slugify"]


async def test_a_server_that_knows_nothing_does_not_open_without_the_database(home: Path) -> None:
    (home / "alita.toml").write_text('library = "postgresql://someone@127.0.0.1:1/alita"\n', encoding="utf-8")
    with pytest.raises(LibraryError, match="cannot be reached"):
        async with opened(home):
            pass


async def test_a_slow_database_is_called_so_and_holds_up_no_reader(
    home: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "STATEMENT_MS", 1_500)
    async with opened(home) as library:
        manifest = await library.publish(accepted(), expected_version=0)
        with database.transaction() as connection:
            lock(connection)
            async with anyio.create_task_group() as tasks:

                async def publish() -> None:
                    with pytest.raises(LibraryError, match="too slow"):
                        await library.publish(simple("slow_tool"), expected_version=0)

                tasks.start_soon(publish)
                with anyio.fail_after(1.0):
                    assert library.entry("slugify").manifest == manifest
                    assert (await library.read("slugify")).draft == accepted().draft
                    assert len(library.journal(10)) == 2
                    await library.record("noted", None, {})
        assert (await library.publish(simple("slow_tool"), expected_version=0)).version == 1
        assert events(library) == ["created", "published", "noted", "published"]


async def test_a_read_only_database_is_read(
    home: Path, other_home: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    name = postgres_url.partition("@/")[2].partition("?")[0]
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.delete("slugify")
        await library.publish(simple("kept_tool"), expected_version=0)
    postgres_server.execute("UPDATE alita.tool SET deleted_at = '2020' WHERE name = 'slugify'", postgres_url)
    postgres_server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    async with opened(home) as library, opened(other_home) as other:
        for each in (library, other):
            assert (await each.read("kept_tool")).draft == simple("kept_tool").draft
            with pytest.raises(LibraryError, match="read-only"):
                await each.publish(simple("new_tool"), expected_version=0)
            assert each.tools.names() == ["kept_tool"]


def test_a_full_database_is_left_as_it_was(tmp_path: Path, postgres_server: PostgresServer) -> None:
    async def publish_until_full(url: str) -> None:
        share_library(tmp_path / "home", url)
        share_library(tmp_path / "other", url)
        async with opened(tmp_path / "home") as library, opened(tmp_path / "other") as other:
            kept: list[str] = []

            async def publish(number: int) -> None:
                draft = simple(f"tool_{number}").draft
                code = f"{draft.code}# {os.urandom(200_000).hex()}\n"
                more = accepted(
                    draft.name, code=code, examples=draft.examples, input_schema={"type": "object"}
                )
                await library.publish(more, expected_version=0)
                kept.append(draft.name)

            async def publish_all() -> None:
                for number in range(200):
                    await publish(number)

            with pytest.raises(LibraryError, match=r"has no room.*Nothing was changed"):
                await publish_all()
            await other.look_again()
            for each in (library, other):
                assert each.tools.names() == sorted(kept)
                assert (await each.read(kept[-1])).manifest.name == kept[-1]
            assert len(kept) > 1

    # PostgreSQL runs as another user, to whom the folder of a test is closed
    with (
        tempfile.TemporaryDirectory(prefix="small-", ignore_cleanup_errors=True) as folder,
        small_disk(place := Path(folder) / "disk", "24m") as remount,
    ):
        Path(folder).chmod(0o755)
        subprocess.run(["install", "-d", "-o", ACCOUNT, place / "space"], check=True)
        postgres_server.execute(f"CREATE TABLESPACE small LOCATION '{place / 'space'}'")
        postgres_server.execute("CREATE DATABASE small TABLESPACE small")
        url = postgres_server.url("small")
        try:
            anyio.run(publish_until_full, url)
        finally:
            remount("size=96m")
            postgres_server.execute("DROP DATABASE small WITH (FORCE)")
            postgres_server.execute("DROP TABLESPACE small")


@pytest.mark.parametrize(("readable_from", "is_refused"), [(0, False), (9_000, True)])
async def test_a_schema_that_only_a_newer_version_reads_is_refused(
    home: Path,
    other_home: Path,
    postgres_server: PostgresServer,
    postgres_url: str,
    readable_from: int,
    is_refused: bool,
) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
    postgres_server.execute(f"INSERT INTO alita.migration VALUES (9000, {readable_from})", postgres_url)
    if is_refused:
        with pytest.raises(LibraryError, match=r"schema is number 9000.*Upgrade"):
            async with opened(other_home):
                pass
        async with opened(home) as library:
            with pytest.raises(LibraryError, match=r"schema is number 9000.*Upgrade"):
                await library.pin("slugify")
            assert not library.entry("slugify").pinned, "what was known is still there"
        return
    async with opened(home) as library:
        await library.pin("slugify")
        assert library.entry("slugify").pinned


async def test_whoever_is_cut_off_hears_again(
    home: Path, other_home: Path, postgres_server: PostgresServer
) -> None:
    with anyio.fail_after(60):
        async with opened(home) as library, opened(other_home) as other:
            await library.publish(accepted(), expected_version=0)
            await other.look_again()
            postgres_server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'alita%'"
            )
            announced = anyio.Event()
            other.on_change(announced.set)
            await library.publish(simple("new_tool"), expected_version=0)
            await announced.wait()
            assert other.tools.names() == ["new_tool", "slugify"]


async def test_a_full_disk_of_a_server_does_not_undo_what_the_library_has(
    tmp_path: Path, other_home: Path, postgres_url: str
) -> None:
    with small_disk(tmp_path / "disk", "2m"):
        home = tmp_path / "disk" / "home"
        share_library(home, postgres_url)
        async with opened(home) as library, opened(other_home) as other:
            await library.publish(accepted(), expected_version=0)
            ballast = fill(home)
            with suppress(LibraryError):  # it may say that there is no room here
                await library.publish(simple("new_tool"), expected_version=0)
            await other.look_again()
            assert other.entry("new_tool").state == "enabled"
            ballast.unlink()
            await library.look_again()
            assert (await library.read("new_tool")).draft == simple("new_tool").draft
            assert found(home, "generated_tools/new_tool/v1/tool.py")
