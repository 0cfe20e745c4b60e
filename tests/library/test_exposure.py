"""Homes and secrets files that someone else may change are refused; the hint mends them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from alita_mcp.app.secrets_file import read_secrets_file
from alita_mcp.errors import AlitaError, LibraryError
from alita_mcp.library.grants.exposure import exposure
from tests.library.factory import accepted, opened, simple

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX's")
IS_ROOT = getattr(os, "geteuid", lambda: 1)() == 0
SOMEBODY = 54_321


def carry_out(hint: str) -> None:
    """Does what a hint says, in a shell."""
    subprocess.run(["sh", "-c", hint.removeprefix("Run: ")], check=True, timeout=60)


def state(mode: int, owner: int) -> os.stat_result:
    return os.stat_result((mode, 1, 1, 1, owner, 1, 0, 0, 0, 0))


@pytest.mark.parametrize("mode", [0o100644, 0o100600, 0o100444, 0o040755, 0o042755])
@pytest.mark.parametrize("owner", [0, None])
def test_what_only_the_user_or_root_may_change_is_fine(mode: int, owner: int | None) -> None:
    assert exposure(Path("x"), state(mode, os.geteuid() if owner is None else owner)) is None


@pytest.mark.parametrize("mode", [0o100664, 0o100622, 0o100602, 0o100620, 0o041777, 0o040775])
def test_what_the_group_or_others_may_write_is_exposed(mode: int) -> None:
    found = exposure(Path("a b"), state(mode, os.geteuid()))
    assert found is not None
    assert f"mode {mode & 0o7777:o}" in found.what
    assert found.command == "chmod go-w 'a b'"


def test_what_belongs_to_somebody_else_is_exposed_whatever_its_mode() -> None:
    found = exposure(Path("a b"), state(0o100400, SOMEBODY), recursive=True)
    assert found is not None
    assert str(SOMEBODY) in found.what
    assert found.command == "chown -R \"$(id -un)\" 'a b'"


async def test_a_home_that_is_made_belongs_to_its_user_alone(tmp_path: Path) -> None:
    former = os.umask(0)
    try:
        async with opened(tmp_path / "home") as library:
            await library.publish(accepted(), expected_version=0)
        async with opened(tmp_path / "home") as library:
            assert library.entry("slugify")
    finally:
        os.umask(former)
    assert (tmp_path / "home").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o702, 0o1777, 0o720])
async def test_a_home_that_others_may_write_is_refused_until_the_hint_is_followed(
    tmp_path: Path, mode: int
) -> None:
    home = tmp_path / "a home; of mine"
    async with opened(home) as library:
        await library.publish(simple("mine"), expected_version=0)
    home.chmod(mode)
    with pytest.raises(LibraryError, match=f"others may write it .mode {mode:o}") as refused:
        async with opened(home):
            pass
    carry_out(refused.value.hint)
    async with opened(home) as library:
        assert library.entry("mine")


@pytest.mark.parametrize("inside", ["library.sqlite3", "generated_tools"])
async def test_what_lies_in_a_home_counts_where_others_may_enter_it(tmp_path: Path, inside: str) -> None:
    home = tmp_path / "home"
    async with opened(home):
        pass
    (home / inside).chmod(0o777)
    async with opened(home):
        pass
    home.chmod(0o711)
    with pytest.raises(LibraryError, match=f"{inside} cannot be relied on") as refused:
        async with opened(home):
            pass
    carry_out(refused.value.hint)
    async with opened(home):
        pass


async def test_a_link_to_a_home_counts_for_what_it_leads_to(tmp_path: Path) -> None:
    home, link = tmp_path / "home", tmp_path / "link"
    home.mkdir(mode=0o700)
    link.symlink_to(home)
    async with opened(link):
        pass
    home.chmod(0o777)
    with pytest.raises(LibraryError, match="others may write it") as refused:
        async with opened(link):
            pass
    carry_out(refused.value.hint)
    async with opened(link):
        pass


@pytest.mark.skipif(not IS_ROOT, reason="only root gives files away")
async def test_what_somebody_else_owns_is_refused_until_the_hint_is_followed(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "file.json"
    home.mkdir(mode=0o700)
    file.write_text("{}")
    file.chmod(0o600)

    async def open_home() -> None:
        async with opened(home):
            pass

    for place in (home, file):
        os.chown(place, SOMEBODY, -1)
    with pytest.raises(LibraryError, match="belongs to another user") as refused:
        await open_home()
    carry_out(refused.value.hint)
    await open_home()
    os.chown(file, SOMEBODY, -1)
    with pytest.raises(AlitaError, match="belongs to another user") as refused_file:
        read_secrets_file(file)
    carry_out(refused_file.value.hint)
    assert read_secrets_file(file) == {}
