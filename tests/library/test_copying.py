"""Copies of a library between a home and PostgreSQL: equal to the last row, or not there."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.errors import LibraryError, ToolUnavailable, UsageError
from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.copying import copy_library
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from alita_mcp.values import Grants
from tests.library.factory import accepted, forge, found, no_starters, opened, simple, version_folder
from tests.postgres_cluster import PostgresServer

pytestmark = [pytest.mark.postgres, pytest.mark.extra("team")]


@pytest.fixture
def store() -> str:
    return "sqlite"


async def stock(home: Path) -> None:
    """Fills a home with what a library may hold."""
    async with opened(home) as library:
        await library.publish(accepted(grants=Grants(network=("example.org",))), expected_version=0)
        await library.approve("slugify")
        await library.publish(accepted(description="Better slugs."), expected_version=1)
        await library.rollback("slugify", 1)
        for name in ("pinned_tool", "deleted_tool", "disabled_tool"):
            manifest = await library.publish(simple(name), expected_version=0)
            await library.review(name, 1, manifest.digest)
        await library.pin("pinned_tool")
        await library.delete("deleted_tool")
        await library.disable("disabled_tool")
        for name in ("slugify", "pinned_tool"):
            library.calls.record(name, 1, ok=True, status="ok", seconds=0.1, sandbox="scripted", code_bytes=7)
        await library.settle()
        await library.record("nul", "a\0b", {"said": "c\0d"})


def state_of(library: Library) -> list[Any]:
    names = library.tools.names(deleted=True)
    return [
        [library.tools.entry(name) for name in names],
        [library.tools.origin(name, 1) for name in names],
        [library.tools.approval(name, library.tools.some([name])[name].manifest.digest) for name in names],
        [library.tools.daily_use("", name) for name in names],
    ]


def files_of(home: Path) -> dict[str, bytes]:
    places = found(home, "generated_tools/*/v*/*")
    return {str(place.relative_to(home)): place.read_bytes() for place in places}


async def test_a_library_goes_to_postgresql_and_comes_back(
    home: Path, tmp_path: Path, postgres_url: str
) -> None:
    await stock(home)
    before = files_of(home)
    there = copy_library(home, "", postgres_url)
    assert (there.tools, there.versions) == (4, 5)
    async with (
        opened(home) as one,
        open_library(
            Settings(home=tmp_path / "server", library=postgres_url), starters=no_starters
        ) as shared,
    ):
        assert state_of(shared) == state_of(one)
        assert shared.callable_entry("slugify").versions == (1, 2)
        for row, theirs in zip(one.journal(100), shared.journal(100), strict=True):
            assert (row.id, row.event, row.detail) == (theirs.id, theirs.event, theirs.detail)
        expected = state_of(one)
    back = copy_library(tmp_path / "unused", postgres_url, str(tmp_path / "back"))
    assert back == there
    assert files_of(tmp_path / "back") == before == files_of(home)
    assert found(tmp_path, "back/generated_tools/deleted_tool/decisions.json"), "kept as in any home"
    async with opened(tmp_path / "back") as library:
        assert state_of(library) == expected
        assert (await library.publish(simple("new_tool"), expected_version=0)).version == 1
    assert stat.S_IMODE((tmp_path / "back").stat().st_mode) == 0o700


async def test_what_is_not_as_it_was_verified_is_not_copied_and_named(
    home: Path, tmp_path: Path, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(home) as library:
        manifest = await library.publish(accepted(), expected_version=0)
        await library.publish(simple("good_tool"), expected_version=0)
    forge(version_folder(home, manifest), manifest={"description": "Worse."})
    copy_library(home, "", postgres_url)
    assert [each for each in caplog.messages if "Not copied: slugify v1" in each]
    settings = Settings(home=tmp_path / "server", library=postgres_url)
    async with open_library(settings, starters=no_starters) as shared:
        assert (await shared.read("good_tool")).draft == simple("good_tool").draft
        with pytest.raises(ToolUnavailable, match="is missing"):
            await shared.read("slugify")
    caplog.clear()
    copy_library(home, postgres_url, str(tmp_path / "back"))
    assert [each for each in caplog.messages if "Not copied: slugify v1" in each]


async def test_nothing_is_copied_over_anything(
    home: Path, tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    await stock(home)
    copy_library(home, "", postgres_url)
    rows = postgres_server.execute("SELECT * FROM alita.tool ORDER BY name", postgres_url)
    with pytest.raises(LibraryError, match=r"There is a library at .* already"):
        copy_library(home, "", postgres_url)
    assert postgres_server.execute("SELECT * FROM alita.tool ORDER BY name", postgres_url) == rows
    with pytest.raises(LibraryError, match="is not empty"):
        copy_library(home, postgres_url, str(home))
    for url, to in ((postgres_url, postgres_url), ("", str(tmp_path / "new"))):
        with pytest.raises(UsageError, match="not copied to such a place"):
            copy_library(home, url, to)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("table", ["approval", "journal", "usage", "origin"])
async def test_a_copy_that_comes_out_otherwise_is_undone(
    home: Path, tmp_path: Path, postgres_server: PostgresServer, postgres_url: str, table: str
) -> None:
    await stock(home)
    async with open_library(Settings(home=tmp_path / "server", library=postgres_url), starters=no_starters):
        pass
    for statement in (
        "DELETE FROM alita.journal",
        "CREATE FUNCTION alita.lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        f"CREATE TRIGGER lose BEFORE INSERT ON alita.{table} FOR EACH ROW EXECUTE FUNCTION alita.lose()",
    ):
        postgres_server.execute(statement, postgres_url)
    with pytest.raises(LibraryError, match="rows came out otherwise"):
        copy_library(home, "", postgres_url)
    assert postgres_server.execute("SELECT count(*) FROM alita.tool", postgres_url) == [(0,)]
    assert postgres_server.execute("SELECT count(*) FROM alita.file", postgres_url) == [(0,)]


async def test_a_copy_to_a_home_that_fails_leaves_no_folder(
    home: Path, tmp_path: Path, postgres_url: str
) -> None:
    await stock(home)
    copy_library(home, "", postgres_url)
    place = tmp_path / "back"

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("alita_mcp.library.copying._digest_rows", lambda *_: os.urandom(8).hex())
        with pytest.raises(LibraryError, match="came out otherwise"):
            copy_library(home, postgres_url, str(place))
    assert not place.exists()
    shutil.rmtree(home)
    copy_library(home, postgres_url, str(place))
    with closing(Catalogue(place / "library.sqlite3")) as catalogue:
        assert len(catalogue.list_known_versions()) == 5
