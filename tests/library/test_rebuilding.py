"""A catalogue that is gone, emptied or older than the tools' files: what people decided is taken from beside them."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import ToolQuarantined, ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.values import Grants
from tests.library.factory import accepted, events, opened, simple
from tests.library.processes import finish, start

MODEL = Grants(model=True)
DECISION_STEPS = ("decided", "decisions kept", "home recorded")
"""What a decision does, in order, from the commit on; a process may die after any of them."""
OPENING_STEPS = ("taken in", "decisions kept", "home recorded")
"""What opening a home without its catalogue does, in order; the first one is not committed yet."""


def remove(home: Path) -> None:
    for file in home.glob("library.sqlite3*"):
        file.unlink()


def empty(home: Path) -> None:
    remove(home)
    (home / "library.sqlite3").touch()


def bring_back(home: Path) -> None:
    remove(home)
    shutil.copy(home / "copy", home / "library.sqlite3")


def decisions_file(home: Path, name: str = "slugify") -> Path:
    return home / "generated_tools" / name / "decisions.json"


async def decide(home: Path) -> None:
    """A library about each tool of which a person decided something, and a copy of its catalogue from before."""
    async with opened(home) as library:
        for name in ("disabled_tool", "deleted_tool", "pinned_tool", "plain_tool"):
            await library.publish(simple(name), expected_version=0)
        for version in range(2):
            await library.publish(simple("chosen_tool", answer=f"{version}"), expected_version=version)
        await library.publish(simple("granted_tool", grants=MODEL), expected_version=0)
    shutil.copy(home / "library.sqlite3", home / "copy")
    async with opened(home) as library:
        await library.disable("disabled_tool")
        await library.delete("deleted_tool")
        await library.pin("pinned_tool")
        await library.rollback("chosen_tool")
        await library.approve("granted_tool")
        await library.review("plain_tool", 1, library.entry("plain_tool").manifest.digest)
        await library.publish(simple("later_tool"), expected_version=0)


async def check_decisions(library: Library) -> None:
    with pytest.raises(ToolUnavailable, match="was deleted"):
        library.entry("deleted_tool")
    with pytest.raises(ToolUnavailable, match="was deleted"):
        await library.publish(simple("deleted_tool"), expected_version=0)
    assert library.entry("disabled_tool").state == "disabled"
    assert library.entry("pinned_tool").pinned
    assert library.tools.origin("plain_tool", 1).reviewed
    assert library.entry("later_tool").callable_now
    assert library.entry("chosen_tool").manifest.version == 1
    newest = library.entry("chosen_tool").versions[-1]
    await library.publish(simple("chosen_tool", answer="new"), expected_version=newest)
    assert library.entry("chosen_tool").manifest.version == 1
    granted = library.entry("granted_tool")
    assert library.effective_grants.of(granted.manifest) is None
    assert not granted.approved


@pytest.mark.parametrize("lose", [remove, empty, bring_back])
async def test_what_a_person_decided_outlives_the_catalogue(home: Path, lose: Callable[[Path], None]) -> None:
    await decide(home)
    lose(home)
    for _ in range(2):
        async with opened(home) as library:
            await check_decisions(library)
        remove(home)


async def test_a_catalogue_that_is_older_keeps_what_it_knows_and_gives_back_no_grant(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.publish(simple("granted_tool", grants=MODEL), expected_version=0)
        await library.approve("granted_tool")
        await library.disable("slugify")
        library.calls.record("slugify", 1, ok=True, status="ok", seconds=0.1, sandbox="scripted")
        await library.settle()
    shutil.copy(home / "library.sqlite3", home / "copy")
    async with opened(home) as library:
        await library.revoke("granted_tool")
        await library.enable("slugify")
    bring_back(home)
    async with opened(home) as library:
        assert library.entry("slugify").state == "disabled", "a file beside a tool never enables it"
        assert library.entry("slugify").calls == 1
        assert library.entry("slugify").manifest.trust == "verified"
        assert not library.entry("granted_tool").approved


async def test_an_older_catalogue_is_noticed_though_the_record_of_the_home_is_lost(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
    shutil.copy(home / "library.sqlite3", home / "copy")
    async with opened(home) as library:
        await library.disable("slugify")
    bring_back(home)
    (home / "home.json").unlink()
    async with opened(home) as library:
        assert library.entry("slugify").state == "disabled"


@pytest.mark.process
@pytest.mark.parametrize("decision", ["disable", "delete", "pin"])
@pytest.mark.parametrize("step", DECISION_STEPS)
async def test_a_kill_at_any_step_of_a_decision_loses_nothing(home: Path, step: str, decision: str) -> None:
    with anyio.fail_after(120):
        async with opened(home) as library:
            await library.publish(accepted(), expected_version=0)
        status, _ = await anyio.to_thread.run_sync(finish, start("decide", str(home), step, decision))
        assert status == -signal.SIGKILL
        expected = {"disable": ("disabled", False), "delete": ("deleted", False), "pin": ("enabled", True)}
        for _ in range(2):
            async with opened(home) as library:
                entry = library.tools.entry("slugify")
                assert entry is not None
                assert (entry.state, entry.pinned) == expected[decision]
            kept = json.loads(decisions_file(home).read_text())
            assert (kept["state"], kept["pinned"]) == expected[decision]
            remove(home)


@pytest.mark.process
@pytest.mark.parametrize("lose", [remove, bring_back])
@pytest.mark.parametrize("step", OPENING_STEPS)
async def test_a_kill_at_any_step_of_rebuilding_loses_no_decision(
    home: Path, step: str, lose: Callable[[Path], None]
) -> None:
    with anyio.fail_after(120):
        await decide(home)
        lose(home)
        status, _ = await anyio.to_thread.run_sync(finish, start("decide", str(home), step, "disable"))
        assert status == -signal.SIGKILL
        async with opened(home) as library:
            await check_decisions(library)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere.json"))
    path.symlink_to(path.with_name("elsewhere.json"))


def changed(**changes: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def rewritten(text: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(text)

    return write


DAMAGES = [
    cut,
    link,
    rewritten(""),
    rewritten("[" * 100_000),
    rewritten(" " * (1 << 20)),
    changed(name="other_tool"),
    changed(state="trusted"),
    changed(number=-1),
    changed(number=10**30),
    changed(grants=["everything"]),
]


async def test_a_tool_whose_decisions_cannot_be_read_is_disabled(home: Path) -> None:
    names = [f"damaged_{number}" for number in range(len(DAMAGES))]
    async with opened(home) as library:
        await library.publish(simple("plain_tool"), expected_version=0)
        for name in names:
            await library.publish(simple(name), expected_version=0)
            await library.pin(name)
    for name, damage in zip(names, DAMAGES, strict=True):
        damage(decisions_file(home, name))
    remove(home)
    async with opened(home) as library:
        assert library.entry("plain_tool").callable_now
        assert {name: library.entry(name).state for name in names} == dict.fromkeys(names, "disabled")
        for name in names:
            assert (await library.enable(name)).callable_now


async def test_a_hostile_file_allows_nothing(home: Path) -> None:
    async with opened(home) as library:
        manifest = await library.publish(simple("granted_tool", grants=MODEL), expected_version=0)
        await library.publish(accepted(), expected_version=0)
        await library.pin("granted_tool")
        await library.disable("slugify")
    forged = {"approved": [manifest.digest], "reviewed": [manifest.digest, "sha256:0", ""], "version": 1}
    changed(**forged, number=2**53 - 1)(decisions_file(home, "granted_tool"))
    remove(home)
    async with opened(home) as library:
        assert library.effective_grants.of(library.entry("granted_tool").manifest) is None
        await library.unpin("granted_tool")
        assert library.entry("slugify").state == "disabled"
    remove(home)
    async with opened(home) as library:
        assert not library.entry("granted_tool").pinned


async def test_a_chosen_version_that_is_damaged_gives_way_to_none(home: Path) -> None:
    async with opened(home) as library:
        for version in range(2):
            await library.publish(accepted(), expected_version=version)
        await library.rollback("slugify", 1)
    (home / "generated_tools" / "slugify" / "v1" / "tool.py").write_text("evil = 1\n")
    remove(home)
    async with opened(home) as library:
        assert (library.entry("slugify").state, library.entry("slugify").manifest.version) == (
            "quarantined",
            1,
        )
    shutil.rmtree(home / "generated_tools" / "slugify" / "v1")
    remove(home)
    async with opened(home) as library:
        assert (library.entry("slugify").state, library.entry("slugify").manifest.version) == ("disabled", 2)


@pytest.mark.parametrize("decision", ["delete", "disable"])
async def test_a_tool_whose_files_are_damaged_stays_deleted_or_disabled(home: Path, decision: str) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await getattr(library, decision)("slugify")
    code = home / "generated_tools" / "slugify" / "v1" / "tool.py"
    code.write_text("evil = 1\n")
    remove(home)
    async with opened(home) as library:
        entry = library.tools.entry("slugify")
        assert entry is not None
        assert entry.state == {"delete": "deleted", "disable": "disabled"}[decision]
        with pytest.raises(ToolQuarantined):
            await library.enable("slugify")
        assert code.exists()


async def test_a_damaged_version_takes_the_place_of_no_good_one(home: Path) -> None:
    async with opened(home) as library:
        for version in range(3):
            await library.publish(accepted(description=f"Slugs {version}."), expected_version=version)
    for version in (1, 3):
        (home / "generated_tools" / "slugify" / f"v{version}" / "report.json").unlink()
    remove(home)
    async with opened(home) as library:
        assert library.entry("slugify").manifest.version == 2
        assert library.entry("slugify").callable_now


async def test_a_copy_from_the_middle_of_publishing_does_not_cost_the_version(home: Path) -> None:
    """Its claim is of a process that died long ago, and what it claims was published since."""
    with anyio.fail_after(60):
        copied = home / "copy"

        def copy(step: str) -> None:
            if step == "renamed":
                shutil.copy(home / "library.sqlite3", copied)
                shutil.copy(home / "library.sqlite3-wal", f"{copied}-wal")

        async with opened(home, copy) as library:
            await library.publish(accepted(), expected_version=0)
        remove(home)
        shutil.copy(copied, home / "library.sqlite3")
        shutil.copy(f"{copied}-wal", home / "library.sqlite3-wal")
        async with opened(home) as library:
            assert library.entry("slugify").versions == (1,)


async def test_what_an_older_alita_decides_in_the_same_catalogue_is_kept_later(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        library._store.catalogue.change("disabled", "slugify")
    assert not decisions_file(home).exists()
    async with opened(home):
        assert json.loads(decisions_file(home).read_text())["state"] == "disabled"


async def test_a_damaged_row_of_the_catalogue_stops_no_decision(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.publish(simple("plain_tool"), expected_version=0)
        await library.pin("plain_tool")
    with closing(sqlite3.connect(home / "library.sqlite3")) as database, database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("UPDATE tool SET name = 'Plain tool' WHERE name = 'plain_tool'")
    async with opened(home) as library:
        assert (await library.disable("slugify")).state == "disabled"


async def test_a_home_without_its_record_gets_another_and_nothing_changes(home: Path) -> None:
    await decide(home)
    for damage in (Path.unlink, cut, rewritten("null"), rewritten('{"format": "2"}')):
        before = (home / "home.json").read_text()
        damage(home / "home.json")
        decisions_file(home, "pinned_tool").unlink()
        async with opened(home) as library:
            assert library.entry("pinned_tool").pinned
            assert "rebuilt" not in events(library)
        assert (home / "home.json").read_text() == before
        assert decisions_file(home, "pinned_tool").exists()
