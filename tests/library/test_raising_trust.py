"""Raising a version's trust in place: all of it or nothing, whoever dies or reads when, and never less than before."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import LibraryError, NameTaken, ToolQuarantined, ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.values import AcceptedVersion, Example, Grants, Lock, Manifest, StoredVersion
from tests.library.factory import (
    RAISE_STEPS,
    SLUGIFY_EXAMPLES,
    SURVIVED,
    accepted,
    events,
    found,
    opened,
    simple,
    version_folder,
)
from tests.library.processes import finish, start

THIN = accepted(examples=SLUGIFY_EXAMPLES[:1], trust="provisional")
WHOLE = accepted()


async def published_thin(library: Library, **more: Any) -> StoredVersion:
    await library.publish(
        accepted(examples=SLUGIFY_EXAMPLES[:1], trust="provisional", **more), expected_version=0
    )
    return await library.read("slugify")


async def test_more_examples_raise_the_same_version(home: Path) -> None:
    async with opened(home) as library:
        before = await published_thin(library)
        heard: list[str] = []
        library.on_change(lambda: heard.append(library.entry("slugify").manifest.trust))
        await library.raise_evidence("slugify", 1, "docker", Lock())

        manifest = await library.raise_trust(WHOLE, before)

        entry, after = library.entry("slugify"), await library.read("slugify")
        assert (entry.manifest, entry.versions, entry.manifest.trust) == (manifest, (1,), "verified")
        assert heard == ["verified"]
        assert after.manifest.created_at == before.manifest.created_at
        assert after.manifest.digest != before.manifest.digest
        assert (after.code, after.examples, after.report) == (
            WHOLE.draft.code,
            SLUGIFY_EXAMPLES,
            WHOLE.report,
        )
        assert library.tools.sandboxes_of("slugify", 1) == ("scripted",), (
            "the other kind has not seen the new examples"
        )
        assert events(library)[-1] == "raised"
        assert not found(home, "generated_tools/.staging-*")
    async with opened(home) as library:
        assert (await library.read("slugify")) == after


@pytest.mark.one_machine
async def test_the_steps_of_raising_are_those_that_are_written_down(home: Path) -> None:
    done: list[str] = []
    async with opened(home, done.append) as library:
        before = await published_thin(library)
        done.clear()
        await library.raise_trust(WHOLE, before)
    assert tuple(done) == RAISE_STEPS


@pytest.mark.one_machine
@pytest.mark.process
@pytest.mark.parametrize("step", RAISE_STEPS)
async def test_a_kill_at_any_step_leaves_the_version_as_it_was_or_raised(home: Path, step: str) -> None:
    with anyio.fail_after(120):
        async with opened(home) as library:
            await published_thin(library)
        status, _ = await anyio.to_thread.run_sync(finish, start("raise_and_die", str(home), step))
        assert status == -signal.SIGKILL
        async with opened(home) as library:
            await assert_whole(library, home, raised=step in SURVIVED)
            if step not in SURVIVED:
                await library.raise_trust(WHOLE, await library.read("slugify"))
            await assert_whole(library, home, raised=True)
            assert (await library.publish(accepted(), expected_version=1)).version == 2


async def assert_whole(library: Library, home: Path, *, raised: bool) -> None:
    expected = WHOLE if raised else THIN
    stored = await library.read("slugify")
    assert (stored.draft, stored.report) == (expected.draft, expected.report)
    assert library.entry("slugify").state == "enabled"
    assert not found(home, "generated_tools/.staging-*")
    assert [place.name for place in found(home, "generated_tools/slugify/*")] == ["v1"]


@pytest.mark.one_machine
@pytest.mark.process
@pytest.mark.parametrize("step", ["laid aside", "replaced", "in place", "row written"])
async def test_who_reads_after_a_kill_puts_the_version_right_and_does_not_quarantine_it(
    home: Path, step: str
) -> None:
    with anyio.fail_after(120):
        async with opened(home) as library:
            await published_thin(library)
            status, _ = await anyio.to_thread.run_sync(finish, start("raise_and_die", str(home), step))
            assert status == -signal.SIGKILL

            assert (await library.read("slugify")).draft == THIN.draft
            assert "quarantined" not in events(library)
            raised = await library.raise_trust(WHOLE, await library.read("slugify"))
            assert raised.trust == "verified"


@pytest.mark.one_machine
@pytest.mark.slow
@pytest.mark.parametrize("step", sorted(set(RAISE_STEPS) - SURVIVED))
async def test_a_disk_that_refuses_in_the_middle_leaves_the_version_as_it_was(home: Path, step: str) -> None:
    failing = False

    def fail(done: str) -> None:
        if failing and done == step:
            raise OSError(28, "No space left on device")

    async with opened(home, fail) as library:
        before = await published_thin(library)
        failing = True
        with pytest.raises((LibraryError, OSError)):
            await library.raise_trust(WHOLE, before)
        failing = False
        await assert_whole(library, home, raised=False)
        await library.raise_trust(WHOLE, before)
        await assert_whole(library, home, raised=True)


@pytest.mark.process
async def test_of_two_processes_raising_at_once_one_wins_and_the_other_is_told(home: Path) -> None:
    with anyio.fail_after(120):
        async with opened(home) as library:
            await published_thin(library)
            racers = [start("raise", str(home), str(number)) for number in range(3)]
            for racer in racers:
                assert await anyio.to_thread.run_sync(racer.read_line) == "ready"
            for racer in racers:
                racer.send_line("go")
            ends = [await anyio.to_thread.run_sync(racer.wait) for racer in racers]
            assert sorted(said for _, said in ends) == ["raised", "taken: verified", "taken: verified"]
            stored = await library.read("slugify")
            winner = [said for _, said in ends].index("raised")
            assert stored.examples[-1] == Example(
                arguments={"text": f"Racer {winner}"}, expected=f"racer-{winner}"
            )
            assert not found(home, "generated_tools/.staging-*")


async def test_another_process_hears_of_it_and_reads_the_new_evidence(home: Path) -> None:
    with anyio.fail_after(60):
        async with opened(home) as one, opened(home) as two:
            before = await published_thin(one)
            await two.read("slugify")
            heard = anyio.Event()

            def hear() -> None:
                if two.entry("slugify").manifest.trust == "verified":
                    heard.set()

            two.on_change(hear)
            await one.raise_trust(WHOLE, before)
            await heard.wait()
            assert (await two.read("slugify")).report == WHOLE.report


async def test_readers_never_see_anything_but_a_whole_version(home: Path) -> None:
    """Two processes' worth of readers while the evidence grows example by example."""
    done = False

    async def keep_reading(library: Library) -> None:
        while not done:
            stored = await library.read("slugify")
            assert stored.report.examples_passed == len(stored.examples)

    with anyio.fail_after(120):
        async with opened(home) as one, opened(home) as two:
            known = await published_thin(one)
            async with anyio.create_task_group() as tasks:
                for library in (one, two, two):
                    tasks.start_soon(keep_reading, library)
                for number in range(25):
                    example = Example(arguments={"text": f"No {number}"}, expected=f"no-{number}")
                    grown = accepted(examples=(*known.examples, example), trust="provisional")
                    await one.raise_trust(grown, known)
                    known = await one.read("slugify")
                done = True
            assert "quarantined" not in events(one)
            assert one.entry("slugify").state == two.entry("slugify").state == "enabled"


LESS: dict[str, tuple[AcceptedVersion, str]] = {
    "trust": (accepted(trust="provisional"), "stays so"),
    "rejected": (accepted(trust="rejected"), "rejected"),
    "examples": (accepted(examples=SLUGIFY_EXAMPLES[1:]), "would lose examples"),
    "code": (accepted(code=accepted().draft.code + "\n# other\n"), "another tool"),
    "packages": (accepted(packages=("numpy>=2",)), "another tool"),
    "grants": (accepted(grants=Grants(model=True)), "another tool"),
    "description": (accepted(description="Make slugs."), "another tool"),
    "schema": (accepted(input_schema={"type": "object", "properties": {}}), "another tool"),
}


@pytest.mark.parametrize("what", LESS)
async def test_what_is_less_or_other_never_replaces_a_version(home: Path, what: str) -> None:
    instead, said = LESS[what]
    async with opened(home) as library:
        await library.publish(WHOLE, expected_version=0)
        known = await library.read("slugify")
        with pytest.raises(LibraryError, match=said):
            await library.raise_trust(instead, known)
        assert await library.read("slugify") == known
        assert "raised" not in events(library)


async def test_a_true_is_not_a_one_among_examples(home: Path) -> None:
    def flags(*expected: Any) -> AcceptedVersion:
        return accepted(examples=tuple(Example(arguments={"text": "x"}, expected=each) for each in expected))

    async with opened(home) as library:
        await library.publish(flags(1), expected_version=0)
        with pytest.raises(LibraryError, match="would lose examples"):
            await library.raise_trust(flags(True), await library.read("slugify"))


async def test_a_version_that_moved_on_is_not_raised(home: Path) -> None:
    async with opened(home) as library:
        before = await published_thin(library)
        await library.raise_trust(WHOLE, before)
        with pytest.raises(NameTaken, match="not what it was"):
            await library.raise_trust(WHOLE, before)
        await library.delete("slugify")
        with pytest.raises(ToolUnavailable, match="was deleted"):
            await library.raise_trust(WHOLE, before)


@pytest.mark.one_machine
async def test_a_damaged_version_is_not_raised_over(home: Path) -> None:
    async with opened(home) as library:
        before = await published_thin(library)
        file = version_folder(home, before.manifest) / "tool.py"
        file.chmod(0o644)
        file.write_text("edited", encoding="utf-8")
        with pytest.raises(ToolQuarantined):
            await library.read("slugify")
        with pytest.raises(NameTaken):
            await library.raise_trust(WHOLE, before)
        assert library.entry("slugify").state == "quarantined"


async def test_raising_an_old_version_leaves_the_current_one(home: Path) -> None:
    async with opened(home) as library:
        old = await published_thin(library)
        await library.publish(accepted(description="Better slugs."), expected_version=1)
        raised: Manifest = await library.raise_trust(WHOLE, old)
        assert raised.version == 1
        entry = library.entry("slugify")
        assert (entry.manifest.version, entry.versions) == (2, (1, 2))
        assert (await library.rollback("slugify", 1)).manifest.trust == "verified"


async def test_other_tools_stand_where_they_stood(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(simple("bystander"), expected_version=0)
        other = library.entry("bystander")
        await library.raise_trust(WHOLE, await published_thin(library))
        assert library.entry("bystander") == other
