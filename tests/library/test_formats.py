"""Homes, catalogues and manifests of other formats, and links in the place of what alita keeps."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from alita_mcp.errors import LibraryError
from alita_mcp.library.decisions import HOME_FORMAT
from alita_mcp.library.versions.files import UnknownManifest
from tests.library.factory import SLUGIFY_EXAMPLES, accepted, events, found, opened, simple


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything below a folder, with its identity and when it was changed."""
    return {str(path): (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in folder.rglob("*")}


def set_user_version(home: Path, number: int) -> None:
    with closing(sqlite3.connect(home / "library.sqlite3")) as database:
        database.execute(f"PRAGMA user_version = {number}")


def newer_catalogue(home: Path) -> None:
    set_user_version(home, 99)


def newer_record(home: Path) -> None:
    (home / "home.json").write_text('{"format": 99, "alita": "9.1.0", "number": 1, "and": {"more": []}}')


def hostile_record(home: Path) -> None:
    (home / "home.json").write_text(json.dumps({"format": 99, "alita": "9; rm -rf ~ #" * 50}))


@pytest.mark.parametrize("make", [newer_catalogue, newer_record, hostile_record])
async def test_a_home_of_a_newer_alita_is_refused_and_nothing_is_written(
    home: Path, make: Callable[[Path], None]
) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
    make(home)
    before = tree(home / "generated_tools"), (home / "library.sqlite3").read_bytes()
    with pytest.raises(LibraryError, match=r"newer alita \(format 99") as refused:
        async with opened(home):
            pass
    assert ("9.1.0 or later" in refused.value.hint) == (make is newer_record)
    assert "rm -rf" not in str(refused.value)
    assert (tree(home / "generated_tools"), (home / "library.sqlite3").read_bytes()) == before


async def test_an_older_catalogue_is_migrated_and_a_copy_of_it_is_kept(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.disable("slugify")
    (home / "home.json").unlink()
    (home / "generated_tools" / "slugify" / "decisions.json").unlink()
    for answer in ("first", "last"):
        set_user_version(home, 1)
        async with opened(home) as library:
            assert library.entry("slugify").state == "disabled"
            await library.publish(simple(answer), expected_version=0)
    copy = home / "library.sqlite3.format-1"
    assert found(home, "library.sqlite3.format-*") == [copy]
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,)
        assert database.execute("SELECT name FROM tool ORDER BY name").fetchall() == [
            ("first",),
            ("slugify",),
        ]
    with closing(sqlite3.connect(home / "library.sqlite3")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (HOME_FORMAT,)
    kept = json.loads((home / "generated_tools" / "slugify" / "decisions.json").read_text())
    assert kept["state"] == "disabled"


async def test_a_migration_without_room_for_the_copy_changes_nothing(home: Path) -> None:
    async with opened(home):
        pass
    set_user_version(home, 1)
    (home / "library.sqlite3.format-1.part").mkdir()
    before = (home / "library.sqlite3").read_bytes()
    with pytest.raises(LibraryError, match=r"format-1\S* cannot be used"):
        async with opened(home):
            pass
    assert (home / "library.sqlite3").read_bytes() == before


def rewrite(folder: Path, change: Callable[[dict[str, object]], object]) -> None:
    document = json.loads((folder / "manifest.json").read_text())
    change(document)
    (folder / "manifest.json").write_text(json.dumps(document))


def newer_format(folder: Path) -> None:
    rewrite(folder, lambda document: document.update(format=2, seals=[]))
    (folder / "signature").write_text("a file that only a newer alita knows")


def unknown_field(folder: Path) -> None:
    rewrite(folder, lambda document: document["manifest"].update(needs_gpu=True))


@pytest.mark.parametrize("make", [newer_format, unknown_field])
async def test_a_version_of_a_newer_alita_is_named_and_left_where_it_is(
    home: Path, make: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.publish(simple("plain_tool"), expected_version=0)
    folder = home / "generated_tools" / "slugify" / "v1"
    make(folder)
    (home / "library.sqlite3").unlink()
    before = tree(folder)
    async with opened(home) as library:
        assert [entry.name for entry in library.tools.entries()] == ["plain_tool"]
        assert "slugify v1" in library.journal(1, "rebuilt")[0].detail["report"]
        await library.reindex()
        assert "slugify v1 was written by a newer alita" in caplog.text
        with pytest.raises(UnknownManifest, match="slugify v1 was written by a newer alita"):
            await library.publish(accepted(), expected_version=0)
        assert not {"quarantined", "set aside"} & set(events(library))
    assert tree(folder) == before


async def test_a_published_version_of_a_newer_alita_is_not_quarantined(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        folder = home / "generated_tools" / "slugify" / "v1"
        rewrite(folder, lambda document: document.update(format=2))
        seal = hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
        library._store.catalogue._db.execute("UPDATE version SET seal = ?", (f"sha256:{seal}",))
        with pytest.raises(UnknownManifest, match="Upgrade"):
            await library.read("slugify")
        assert "quarantined" not in events(library)


LINKED = (
    "library.sqlite3", "library.sqlite3-wal", "library.sqlite3-shm", "library.lock", "owners", "generated_tools",
    "set-aside", "home.json",
)  # fmt: skip


@pytest.mark.parametrize("target", ["file", "folder", "nothing", "itself"])
@pytest.mark.parametrize("name", LINKED)
async def test_a_link_in_the_place_of_what_alita_keeps_is_refused(
    home: Path, tmp_path: Path, name: str, target: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("of somebody else")
    for folder in (elsewhere / "folder", home):
        folder.mkdir()
    link = home / name
    link.symlink_to(link if target == "itself" else elsewhere / target)
    before = tree(elsewhere)
    with pytest.raises(LibraryError, match=rf"{name} is a link") as refused:
        async with opened(home):
            pass
    assert "in its place" in refused.value.hint
    assert tree(elsewhere) == before
    assert (elsewhere / "file").read_text() == "of somebody else"
    assert tree(home).keys() == {str(link)}


async def test_nothing_is_written_moved_or_removed_through_a_linked_tool_folder(
    home: Path, tmp_path: Path
) -> None:
    tools = home / "generated_tools"
    async with opened(home) as library:
        await library.publish(
            accepted(examples=SLUGIFY_EXAMPLES[:1], trust="provisional"), expected_version=0
        )
        known = await library.read("slugify")
        (tools / "slugify").rename(tmp_path / "elsewhere")
        (tools / "slugify").symlink_to(tmp_path / "elsewhere")
        (tools / "other_tool").symlink_to(tmp_path / "elsewhere")
        before = tree(tmp_path / "elsewhere")
        for publish in (
            lambda: library.publish(accepted(), expected_version=1),
            lambda: library.raise_trust(accepted(), known),
            lambda: library.publish(simple("other_tool"), expected_version=0),
        ):
            with pytest.raises(LibraryError, match=rf"(slugify|other_tool) is a link to {tmp_path}"):
                await publish()
        await library.disable("slugify")
        await library.delete("slugify")
        library._store.catalogue._db.execute("UPDATE tool SET deleted_at = '2020-01-01'")
        await library.reindex()
    async with opened(home) as library:
        assert library.tools.entry("slugify") is None
    (home / "library.sqlite3").unlink()
    async with opened(home) as library:
        assert not list(library.tools.entries())
        assert (
            f"{tools / 'other_tool'} is a link, {tools / 'slugify'} is a link"
            in library.journal(1, "rebuilt")[0].detail["report"]
        )
    assert tree(tmp_path / "elsewhere") == before
