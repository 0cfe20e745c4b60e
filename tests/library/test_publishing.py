"""Publishing: whole or absent, whoever dies when; one winner for a name; nothing rejected gets in."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import LibraryError, NameTaken, ToolUnavailable
from alita_mcp.library.library import Library
from tests.library.factory import (
    PUBLISH_STEPS,
    SURVIVED,
    accepted,
    events,
    found,
    opened,
    simple,
    version_folder,
)
from tests.library.processes import finish, start


async def test_a_published_tool_is_listed_read_and_kept(home: Path) -> None:
    with anyio.fail_after(60):
        async with opened(home) as library:
            manifest = await library.publish(accepted(), expected_version=0)
            entry = library.entry("slugify")
            assert (entry.manifest, entry.state, entry.versions) == (manifest, "enabled", (1,))
            assert entry.approved
            assert entry.sandboxes == ("scripted",) == library.tools.sandboxes_of("slugify", 1)
            assert version_folder(home, manifest).is_dir()
        async with opened(home) as library:
            stored = await library.read("slugify")
            assert stored.draft == accepted().draft
            assert stored.manifest == manifest
            assert list(library.tools.entries()) == [entry]
            assert events(library) == ["created", "published"]


@pytest.mark.one_machine
async def test_the_steps_of_publishing_are_those_that_are_written_down(home: Path) -> None:
    done: list[str] = []
    async with opened(home, done.append) as library:
        done.clear()
        await library.publish(accepted(), expected_version=0)
    assert tuple(done) == PUBLISH_STEPS


@pytest.mark.process
@pytest.mark.parametrize("round_number", range(4))
async def test_of_two_processes_racing_for_a_name_exactly_one_wins(home: Path, round_number: int) -> None:
    with anyio.fail_after(120):
        name = f"raced_{round_number}"
        racers = [start("race", str(home), name) for _ in range(3)]
        for racer in racers:
            assert await anyio.to_thread.run_sync(racer.read_line) == "ready"
        for racer in racers:
            racer.send_line("go")
        ends = [await anyio.to_thread.run_sync(racer.wait) for racer in racers]
        assert sorted(said for _, said in ends) == ["taken at v1", "taken at v1", "won"]
        async with opened(home) as library:
            winner = racers[[said for _, said in ends].index("won")]
            assert repr(str(winner.pid)) in (await library.read(name)).code
            assert library.entry(name).versions == (1,)
            assert not found(home, "generated_tools/.staging-*")


@pytest.mark.one_machine
async def test_who_comes_second_waits_to_see_whether_the_first_succeeds(home: Path) -> None:
    with anyio.fail_after(60):
        claimed = anyio.Event()

        def slow(step: str) -> None:
            if step == "claimed" and not claimed.is_set():
                anyio.from_thread.run_sync(claimed.set)
            if step == "synced":
                anyio.from_thread.run(anyio.sleep, 0.3)
                raise OSError(28, "No space left on device")

        async def first(library: Library) -> None:
            with pytest.raises(LibraryError):
                await library.publish(simple("twin_tool"), expected_version=0)

        async with opened(home, slow) as one, opened(home) as two, anyio.create_task_group() as tasks:
            tasks.start_soon(first, one)
            await claimed.wait()
            assert (await two.publish(simple("twin_tool"), expected_version=0)).version == 1


async def test_of_two_tasks_publishing_one_name_exactly_one_wins(home: Path) -> None:
    outcomes: list[str] = []

    async def publish(library: Library, answer: str) -> None:
        try:
            await library.publish(simple("twin_tool", answer=answer), expected_version=0)
            outcomes.append("won")
        except NameTaken:
            outcomes.append(f"taken at v{library.entry('twin_tool').manifest.version}")

    async with opened(home) as library:
        async with anyio.create_task_group() as tasks:
            for answer in "abc":
                tasks.start_soon(publish, library, answer)
        assert sorted(outcomes) == ["taken at v1", "taken at v1", "won"]
        assert len(events(library)) == 2


async def test_a_new_version_goes_on_top_of_the_newest_only(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        with pytest.raises(NameTaken, match="at v1 already"):
            await library.publish(accepted(), expected_version=0)
        with pytest.raises(NameTaken):
            await library.publish(accepted(), expected_version=2)
        manifest = await library.publish(accepted(description="Better slugs."), expected_version=1)
        assert manifest.version == 2
        assert library.entry("slugify").manifest == manifest
        assert (await library.read("slugify", 1)).manifest.description == "Turn a title into a URL slug."


async def test_what_its_gates_rejected_is_not_published(home: Path) -> None:
    async with opened(home) as library:
        with pytest.raises(LibraryError, match="rejected"):
            await library.publish(accepted(trust="rejected"), expected_version=0)
        assert not list(library.tools.entries())
        assert not list((home / "generated_tools").iterdir())


@pytest.mark.one_machine
async def test_a_failing_step_leaves_nothing_and_the_name_free(home: Path) -> None:
    broken = ""

    def fail(step: str) -> None:
        if step == broken:
            raise OSError(28, "No space left on device")

    async with opened(home, fail) as library:
        for step in sorted(set(PUBLISH_STEPS) - SURVIVED):
            broken = step
            with pytest.raises((LibraryError, OSError), match="No space left"):
                await library.publish(accepted(), expected_version=0)
            assert not list(library.tools.entries())
            assert not list((home / "generated_tools").iterdir()), step
        broken = ""
        assert (await library.publish(accepted(), expected_version=0)).version == 1


async def test_a_cancelled_publish_is_whole_all_the_same(home: Path) -> None:
    async with opened(home) as library:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await library.publish(accepted(), expected_version=0)
        known = [entry.name for entry in library.tools.entries()]
        assert known in ([], ["slugify"])
        assert len(found(home, "generated_tools/*/v1")) == len(known)


@pytest.mark.one_machine
async def test_a_stranger_in_the_way_is_set_aside_not_lost(home: Path) -> None:
    async with opened(home) as library:
        stranger = home / "generated_tools" / "slugify" / "v1"
        stranger.mkdir(parents=True)
        (stranger / "notes.txt").write_text("mine")
        await library.publish(accepted(), expected_version=0)
        assert (await library.read("slugify")).code == accepted().draft.code
    assert [path.read_text() for path in found(home, "set-aside/*/notes.txt")] == ["mine"]


@pytest.mark.one_machine
@pytest.mark.process
async def test_a_stranger_in_the_way_outlives_a_publisher_that_dies(home: Path) -> None:
    with anyio.fail_after(120):
        stranger = home / "generated_tools" / "slugify" / "v1"
        async with opened(home):
            stranger.mkdir(parents=True)
        (stranger / "notes.txt").write_text("mine")
        for step in ("claimed", "staged"):
            await anyio.to_thread.run_sync(finish, start("die", str(home), step, "1"))
        async with opened(home) as library:
            assert library.tools.names() == []
        assert [path.read_text() for path in found(home, "set-aside/*/notes.txt")] == ["mine"]


async def test_a_deleted_name_is_not_published_over(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.delete("slugify")
        for expected in (0, 1):
            with pytest.raises(ToolUnavailable, match=r"was deleted.*[Ee]nable"):
                await library.publish(accepted(), expected_version=expected)


async def test_a_new_version_does_not_bring_a_disabled_tool_back(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.disable("slugify")
        await library.publish(accepted(), expected_version=1)
        assert library.entry("slugify").state == "disabled"


@pytest.mark.one_machine
@pytest.mark.process
async def test_the_claim_of_a_dead_publisher_does_not_block_those_that_are_open(home: Path) -> None:
    with anyio.fail_after(120):
        async with opened(home) as library:
            await anyio.to_thread.run_sync(finish, start("die", str(home), "renamed", "1"))
            assert (await library.publish(accepted(), expected_version=0)).version == 1
            assert "swept" in events(library)
