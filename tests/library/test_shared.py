"""A library that several servers share: what one commits, the others know, whatever fails on the way."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import LibraryError, NameTaken
from tests.conftest import share_library
from tests.library.factory import accepted, events, opened, simple, version_folder

pytestmark = [pytest.mark.postgres, pytest.mark.extra("team")]


@pytest.fixture
def store() -> str:
    return "postgres"


@pytest.fixture
def other_home(tmp_path: Path, postgres_url: str) -> Path:
    """The home of a second server."""
    share_library(tmp_path / "other", postgres_url)
    return tmp_path / "other"


async def test_what_one_server_publishes_the_other_announces_reads_and_counts(
    home: Path, other_home: Path
) -> None:
    with anyio.fail_after(60):
        async with opened(home) as one, opened(other_home) as two:
            announced = anyio.Event()
            two.on_change(announced.set)
            manifest = await one.publish(accepted(), expected_version=0)
            await announced.wait()
            assert two.entry("slugify").manifest == manifest
            assert (await two.read("slugify")).draft == accepted().draft
            assert version_folder(other_home, manifest).is_dir()
            for library in (one, two):
                library.calls.record("slugify", 1, ok=True, status="ok", seconds=0.1, sandbox="scripted")
                await library.settle()
            await one.look_again()
            assert one.entry("slugify").calls == 2
            assert events(one) == events(two) == ["created", "published", "called", "called"]


async def test_a_tool_is_found_by_its_name_before_any_notice(home: Path, other_home: Path) -> None:
    async with opened(home) as one, opened(other_home) as two:
        for number in range(20):
            await one.publish(simple(f"tool_{number}"), expected_version=0)
            assert (await two.find_entry(f"tool_{number}")).name == f"tool_{number}"


async def test_the_loser_of_a_name_sees_what_took_it(home: Path, other_home: Path) -> None:
    async with opened(home) as one, opened(other_home) as two:
        await one.publish(accepted(), expected_version=0)
        with pytest.raises(NameTaken, match="at v1 already"):
            await two.publish(simple("slugify"), expected_version=0)
        assert (await two.read("slugify")).draft == accepted().draft


async def test_a_home_of_the_other_kind_is_refused(home: Path, tmp_path: Path) -> None:
    async with opened(home):
        pass
    (home / "alita.toml").unlink()
    with pytest.raises(
        LibraryError, match=r"copy of a library that several servers share.*Set ALITA_LIBRARY"
    ):
        async with opened(home):
            pass
