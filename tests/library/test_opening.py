"""Opening a library: new, damaged, newer, adopted, with starter tools, and watched from two processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from alita_mcp.errors import LibraryError, ToolNotFound, ToolQuarantined
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.library.versions.starter import starter_tools_folder
from alita_mcp.settings import Settings
from alita_mcp.values import Lock
from tests.library.factory import (
    PUBLISH_STEPS,
    accepted,
    events,
    forge,
    found,
    opened,
    publish_six,
    simple,
    write_version_folder,
)
from tests.library.processes import finish, start


@pytest.fixture
def starters(tmp_path: Path) -> Path:
    root = tmp_path / "starters"
    write_version_folder(root / "slugify" / "v1", accepted())
    write_version_folder(root / "slugify" / "v2", accepted(description="Better slugs."), 2)
    write_version_folder(root / "word_count" / "v1", simple("word_count", sandbox="wasm"))
    return root


async def test_a_new_home_gets_the_starter_tools_once(home: Path, starters: Path) -> None:
    for _ in range(2):
        async with open_library(Settings(home=home), starters=lambda: starters) as library:
            assert [entry.name for entry in library.tools.entries()] == ["slugify", "word_count"]
            assert library.entry("slugify").versions == (1, 2)
            assert library.entry("slugify").manifest.version == 2
            assert library.entry("word_count").sandboxes == ("wasm",)
            assert (await library.read("slugify")).manifest.description == "Better slugs."
            assert events(library).count("starter installed") == 3


async def test_an_index_of_words_that_an_earlier_alita_kept_is_removed(home: Path) -> None:
    (home / "index.lance" / "tools_v1.lance").mkdir(parents=True)
    (home / "index.lock").touch()
    (home / "vectors.lance").mkdir()
    async with opened(home):
        assert not found(home, "index.*")
        assert found(home, "vectors.lance")


async def test_starter_tools_that_were_deleted_stay_deleted(home: Path, starters: Path) -> None:
    async with open_library(Settings(home=home), starters=lambda: starters) as library:
        await library.delete("slugify")
    async with open_library(Settings(home=home), starters=lambda: starters) as library:
        assert [entry.name for entry in library.tools.entries()] == ["word_count"]


async def test_a_library_with_tools_of_its_own_gets_no_starter_tools(home: Path, starters: Path) -> None:
    async with opened(home) as library:
        await library.publish(simple("my_tool"), expected_version=0)
    async with open_library(Settings(home=home), starters=lambda: starters) as library:
        assert [entry.name for entry in library.tools.entries()] == ["my_tool"]


async def test_a_changed_starter_tool_is_refused_and_the_others_come(home: Path, starters: Path) -> None:
    (starters / "slugify" / "v1" / "tool.py").write_text("evil = 1\n")
    async with open_library(Settings(home=home), starters=lambda: starters) as library:
        assert [entry.name for entry in library.tools.entries()] == ["word_count"]
        assert events(library).count("refused") == 2
        refused = [row for row in library.journal() if row.event == "refused" and row.version == 1]
        assert "tool.py differs" in refused[0].detail["reason"]


async def test_a_rejected_starter_tool_is_refused(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "s" / "slugify" / "v1"
    write_version_folder(folder, accepted())
    forge(folder, manifest={"trust": "rejected"}, report={"trust": "rejected"})
    async with open_library(Settings(home=home), starters=lambda: tmp_path / "s") as library:
        assert not list(library.tools.entries())


@pytest.mark.process
async def test_two_processes_starting_at_once_install_the_starter_tools_once(
    home: Path, starters: Path
) -> None:
    with anyio.fail_after(120):
        processes = [start("starters", str(home), str(starters)) for _ in range(3)]
        for process in processes:
            await anyio.to_thread.run_sync(process.read_line)
        for process in processes:
            process.send_line("go")
        ends = [await anyio.to_thread.run_sync(process.wait) for process in processes]
        assert ends == [(0, "slugify word_count")] * 3
        async with opened(home) as library:
            assert events(library).count("starter installed") == 3


def test_starter_tools_are_found_in_a_checkout_and_in_an_installed_package(tmp_path: Path) -> None:
    package = tmp_path / "alita_mcp"
    checkout, installed = tmp_path / "generated_tools", package / "starter_tools"
    checkout.mkdir()
    assert starter_tools_folder(package) is None
    (tmp_path / "pyproject.toml").write_text("")
    assert starter_tools_folder(package) == checkout
    installed.mkdir(parents=True)
    assert starter_tools_folder(package) == installed
    assert starter_tools_folder() is not None


async def test_a_lost_catalogue_is_made_again_from_the_files(home: Path) -> None:
    async with opened(home) as library:
        await publish_six(library)
        await library.publish(simple("slugify", "New.", answer="2"), expected_version=1)
    for file in found(home, "library.sqlite3*"):
        file.unlink()
    (home / "generated_tools" / "word_count" / "v1" / "tool.py").write_text("evil = 1\n")
    async with opened(home) as library:
        assert len(list(library.tools.entries())) == 6
        assert library.entry("slugify").versions == (1, 2)
        assert (await library.read("slugify")).manifest.version == 2
        assert "adopted" in events(library)
        assert library.entry("word_count").state == "quarantined"
        assert not found(home, "set-aside/*")


async def test_a_home_that_is_a_file_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("mine")
    with pytest.raises(LibraryError, match=r"cannot be used.*ALITA_HOME"):
        async with opened(tmp_path / "home"):
            pass
    assert (tmp_path / "home").read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="named pipes")
@pytest.mark.parametrize("name", ["library.lock", "library.sqlite3-shm"])
async def test_what_is_no_file_of_a_library_is_named(home: Path, name: str) -> None:
    async with opened(home):
        pass
    (home / name).unlink(missing_ok=True)
    os.mkfifo(home / name)
    with pytest.raises(LibraryError, match=name):
        async with opened(home):
            pass


async def test_a_home_whose_tools_are_gone_quarantines_nothing(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        (home / "generated_tools").rename(home / "elsewhere")
        with pytest.raises(LibraryError, match="is missing") as missing:
            await library.read("slugify")
        assert not isinstance(missing.value, ToolQuarantined)
        (home / "elsewhere").rename(home / "generated_tools")
        assert (await library.read("slugify")).manifest.version == 1


async def test_the_bodys_own_error_comes_out_as_itself(home: Path) -> None:
    with pytest.raises(ToolNotFound):
        async with opened(home) as library:
            library.entry("nothing_here")


async def test_files_are_closed_after_the_work_in_the_background(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread of it that is late would open them again."""
    ended, close = [], Library.close

    async def work(_: Library) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("work")

    def noted(library: Library) -> None:
        ended.append("files")
        close(library)

    monkeypatch.setattr(Library, "watch", work)
    monkeypatch.setattr(Library, "close", noted)
    async with opened(home):
        await anyio.lowlevel.checkpoint()
    assert ended == ["work", "files"]


async def test_only_the_own_staging_of_the_living_is_left_alone(home: Path) -> None:
    async with opened(home):
        owner = next((home / "owners").iterdir()).stem
        (home / "owners" / "0123456789abcdef.lock").touch()  # as a process leaves it that is killed
        living = home / "generated_tools" / f".staging-{owner}-00"
        dead = home / "generated_tools" / ".staging-0123456789abcdef-00"
        odd = home / "generated_tools" / ".staging-..-00"
        for folder in (living, dead, odd):
            folder.mkdir()
        async with opened(home):
            assert living.exists()
            assert not dead.exists()
            assert not odd.exists()


async def test_an_opening_after_no_death_looks_at_no_tool_folder_and_reindex_looks_at_all(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        stranger = home / "generated_tools" / "by_hand" / "v1"
        stranger.mkdir(parents=True)
    looked: list[str] = []

    def watched(name: str) -> None:
        really = getattr(os, name)
        monkeypatch.setattr(os, name, lambda place=".": (looked.append(str(place)), really(place))[1])

    watched("scandir")
    watched("listdir")
    tools = str(home / "generated_tools")
    async with opened(home) as library:
        assert not [place for place in looked if place.startswith(tools)]
        assert stranger.is_dir()
        await library.reindex()
        assert [place for place in looked if place.startswith(tools)]
        assert not stranger.exists()
        assert found(home, "set-aside/by_hand-v1-*")
        assert (await library.read("slugify")).manifest.version == 1


@pytest.mark.process
async def test_who_is_killed_while_it_sweeps_leaves_nothing_to_the_one_after_the_next(home: Path) -> None:
    status, _ = await anyio.to_thread.run_sync(finish, start("die", str(home), "in place", "1"))
    assert status == -signal.SIGKILL
    assert found(home, "generated_tools/slugify/v1")
    status, _ = await anyio.to_thread.run_sync(finish, start("sweep", str(home)))
    assert status == -signal.SIGKILL
    async with opened(home) as library:
        assert not found(home, "generated_tools/slugify/v1")
        assert not found(home, "generated_tools/.staging-*")
        assert (await library.publish(accepted(), expected_version=0)).version == 1
    assert not found(home, "set-aside/*")


async def test_a_publishing_of_the_living_is_not_swept(home: Path) -> None:
    with anyio.fail_after(120):
        seen: list[str] | None = None

        def another_opens(step: str) -> None:
            if seen is not None and step != "row written":  # then the catalogue is locked, for a moment
                seen.append(step)
                anyio.run(open_and_close, home)

        async with opened(home, another_opens) as library:
            seen = []
            await library.publish(accepted(), expected_version=0)
            assert set(PUBLISH_STEPS) - set(seen) == {"row written", "home recorded"}, (
                "another records it first"
            )
            assert (await library.read("slugify")).manifest.version == 1
            assert not {"swept", "set aside"} & set(events(library))


async def open_and_close(home: Path) -> None:
    async with opened(home):
        pass


@pytest.mark.process
async def test_what_another_process_does_is_noticed_and_its_use_is_not_announced(home: Path) -> None:
    with anyio.fail_after(120):
        other = start("stay", str(home), "word_count")

        async def tell(expected: str) -> None:
            other.send_line("go")
            assert await anyio.to_thread.run_sync(other.read_line) == expected

        assert await anyio.to_thread.run_sync(other.read_line) == "ready"
        async with opened(home) as library:
            announced: list[list[str]] = []
            changed = anyio.Event()

            def note() -> None:
                announced.append([f"{entry.name} {entry.state}" for entry in library.tools.entries()])
                changed.set()

            library.on_change(note)
            await tell("published")
            await changed.wait()
            assert announced == [["word_count enabled"]]
            answer = await library.search("how many words does this text count", 3)
            assert [hit.name for hit in answer.results] == ["word_count"]
            await tell("used")
            while library.entry("word_count").calls == 0:  # noqa: ASYNC110 - use is not announced, so wait and look
                await anyio.sleep(0.05)
            assert len(announced) == 1
            changed = anyio.Event()
            await tell("disabled")
            await changed.wait()
            assert announced[1:] == [["word_count disabled"]]
            assert (await library.search("count words", 3)).total == 0
            await anyio.to_thread.run_sync(finish, other)


async def test_a_tool_that_another_process_just_made_can_be_read_at_once(home: Path) -> None:
    async with opened(home) as one, opened(home) as two:
        await one.publish(accepted(), expected_version=0)
        assert (await two.read("slugify")).manifest.version == 1
        await one.publish(accepted(), expected_version=1)
        assert (await two.read("slugify", 2)).manifest.version == 2
        assert two.callable_entry("slugify").versions == (1, 2)


async def test_every_change_of_the_listing_is_announced_once_and_use_never(home: Path) -> None:
    async with opened(home) as library:
        seen: list[int] = []
        stop = library.on_change(lambda: seen.append(library.tools.changes().listed))
        await library.publish(accepted(), expected_version=0)
        await library.publish(accepted(), expected_version=1)
        await library.rollback("slugify")
        await library.pin("slugify")
        await library.pin("slugify")
        library.calls.record("slugify", 1, ok=True, status="ok", seconds=0.1, sandbox="wasm")
        await library.settle()
        await library.raise_evidence("slugify", 1, "docker", Lock())
        await library.disable("slugify")
        await library.enable("slugify")
        await library.delete("slugify")
        assert len(seen) == 7
        assert seen == sorted(set(seen))
        stop()
        stop()
        await library.enable("slugify")
        assert len(seen) == 7
