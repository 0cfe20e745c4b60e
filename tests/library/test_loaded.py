"""Versions kept in memory: read once while nobody touches a file of them, read and proved again when anybody does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alita_mcp.errors import ToolQuarantined
from alita_mcp.library.versions.files import VERSION_FILES
from alita_mcp.library.versions.loaded import LoadedVersions
from alita_mcp.library.versions.store import Store
from alita_mcp.values import StoredVersion
from tests.library.factory import accepted, opened


class Counted:
    """A store whose readings are counted."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.readings = 0

    def read_version(self, name: str, version: int) -> StoredVersion:
        self.readings += 1
        return self.store.read_version(name, version)


@pytest.fixture
def known(tmp_path: Path) -> Iterator[Store]:
    opened_store = Store(tmp_path / "home", None)
    opened_store.publish(accepted(), 0)
    yield opened_store
    opened_store.close()


def rewritten(folder: Path) -> None:
    """Other words of the same length, with the old time put back."""
    file = folder / "tool.py"
    before = file.stat()
    file.write_bytes(file.read_bytes().replace(b"slug", b"slag"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(folder: Path) -> None:
    evil = folder.parent.parent / "evil"
    shutil.copy2(folder / "tool.py", evil)
    evil.write_bytes(evil.read_bytes().replace(b"slug", b"slag"))
    evil.replace(folder / "tool.py")


def linked(folder: Path) -> None:
    (folder / "tool.py").rename(folder.parent.parent / "elsewhere.py")
    (folder / "tool.py").symlink_to(folder.parent.parent / "elsewhere.py")


def folder_linked(folder: Path) -> None:
    folder.rename(folder.parent.parent / "v1-elsewhere")
    folder.symlink_to(folder.parent.parent / "v1-elsewhere")


def removed(folder: Path) -> None:
    (folder / "report.json").unlink()


def added(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("evil = 1\n")


@pytest.mark.parametrize("tamper", [rewritten, replaced, linked, folder_linked, removed, added])
def test_whatever_is_done_to_the_files_is_noticed_before_the_next_call(
    known: Store, home: Path, tamper: Callable[[Path], None]
) -> None:
    versions = LoadedVersions(known.files, known.read_version, settled_s=0)
    versions.read_version("slugify", 1)
    assert versions.find_unchanged("slugify", 1) is not None
    tamper(home / "generated_tools" / "slugify" / "v1")
    assert versions.find_unchanged("slugify", 1) is None
    with pytest.raises(ToolQuarantined):
        versions.read_version("slugify", 1)


def test_an_unchanged_version_is_read_once(known: Store, home: Path) -> None:
    counted = Counted(known)
    versions = LoadedVersions(known.files, counted.read_version, settled_s=0)
    first = versions.read_version("slugify", 1)
    assert [versions.find_unchanged("slugify", 1) for _ in range(5)] == [first] * 5
    assert counted.readings == 1
    (home / "generated_tools" / "slugify" / "v1" / "tool.py").touch()
    assert versions.find_unchanged("slugify", 1) is None
    assert versions.read_version("slugify", 1) == first
    assert versions.find_unchanged("slugify", 1) == first
    assert counted.readings == 2


@pytest.mark.parametrize("file", VERSION_FILES)
def test_every_file_counts(known: Store, home: Path, file: str) -> None:
    versions = LoadedVersions(known.files, known.read_version, settled_s=0)
    versions.read_version("slugify", 1)
    (home / "generated_tools" / "slugify" / "v1" / file).touch()
    assert versions.find_unchanged("slugify", 1) is None


def test_a_version_touched_a_moment_ago_is_not_relied_on(known: Store) -> None:
    versions = LoadedVersions(known.files, known.read_version, settled_s=3_600)
    versions.read_version("slugify", 1)
    assert versions.find_unchanged("slugify", 1) is None
    assert len(versions) == 0


def test_a_version_that_changed_while_it_was_read_is_not_kept(known: Store, home: Path) -> None:
    def slow(name: str, version: int) -> StoredVersion:
        stored = known.read_version(name, version)
        (home / "generated_tools" / "slugify" / "v1" / "tool.py").touch()
        return stored

    versions = LoadedVersions(known.files, slow, settled_s=0)
    versions.read_version("slugify", 1)
    assert versions.find_unchanged("slugify", 1) is None


def test_the_least_recently_used_version_makes_room(known: Store) -> None:
    known.publish(accepted(), 1)
    known.publish(accepted(), 2)
    versions = LoadedVersions(known.files, known.read_version, settled_s=0, at_most=2)
    for version in (1, 2):
        versions.read_version("slugify", version)
    assert versions.find_unchanged("slugify", 1)
    versions.read_version("slugify", 3)
    assert [versions.find_unchanged("slugify", version) is None for version in (1, 2, 3)] == [
        False,
        True,
        False,
    ]


async def test_a_version_quarantined_elsewhere_is_not_taken_from_memory(home: Path) -> None:
    async with opened(home) as library, opened(home) as other:
        await library.publish(accepted(), expected_version=0)
        await library.publish(accepted(), expected_version=1)
        library._loaded = LoadedVersions(library._store.files, library._store.read_version, settled_s=0)
        await library.read("slugify", 1)
        file = home / "generated_tools" / "slugify" / "v1" / "tool.py"
        good = file.read_bytes()
        file.write_text("evil = 1\n")
        await other.refresh()
        with pytest.raises(ToolQuarantined):
            await other.read("slugify", 1)
        file.write_bytes(good)
        with pytest.raises(ToolQuarantined):
            await library.read("slugify", 1)
        await library.refresh()
        assert library.entry("slugify").state == "enabled"
        with pytest.raises(ToolQuarantined):
            await library.read("slugify", 1)
