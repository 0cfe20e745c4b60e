"""Pin, roll back, disable, delete, approve, quarantine: what each does, and how a tool comes back."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from alita_mcp.errors import ToolNotFound, ToolQuarantined, ToolUnavailable, UsageError
from alita_mcp.library.library import Library
from alita_mcp.library.versions.files import VERSION_FILES
from alita_mcp.values import Grants, Lock
from tests.library.factory import accepted, events, opened, publish_six, simple


async def two_versions(library: Library) -> None:
    await library.publish(accepted(), expected_version=0)
    await library.publish(accepted(description="Better slugs."), expected_version=1)


async def test_rollback_moves_the_pointer_and_loses_nothing(home: Path) -> None:
    async with opened(home) as library:
        await two_versions(library)
        back = await library.rollback("slugify")
        assert (back.manifest.version, back.versions) == (1, (1, 2))
        assert (await library.read("slugify")).manifest.version == 1
        assert (await library.rollback("slugify", 2)).manifest.version == 2
        third = await library.publish(accepted(), expected_version=2)
        assert third.version == 3
    async with opened(home) as library:
        assert library.entry("slugify").versions == (1, 2, 3)
        assert events(library).count("rolled back") == 2


async def test_there_is_nothing_before_the_first_version(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        with pytest.raises(UsageError, match="v1 has none before it"):
            await library.rollback("slugify")
        for version in (0, -1, 7):
            with pytest.raises(ToolNotFound):
                await library.rollback("slugify", version)
        assert library.entry("slugify").manifest.version == 1


async def test_pins_hold_across_openings(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        assert (await library.pin("slugify")).pinned
        assert (await library.pin("slugify")).pinned
    async with opened(home) as library:
        assert library.entry("slugify").pinned
        assert not (await library.unpin("slugify")).pinned


async def test_a_disabled_tool_says_how_it_comes_back(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        assert (await library.disable("slugify")).state == "disabled"
        with pytest.raises(ToolUnavailable, match=r"disabled.*enable") as refused:
            library.callable_entry("slugify")
        assert "alita tool enable slugify" in refused.value.hint
        assert (await library.read("slugify")).manifest.version == 1
        assert (await library.enable("slugify")).callable_now
        assert library.callable_entry("slugify").name == "slugify"


async def test_a_deleted_tool_can_be_had_back(home: Path) -> None:
    async with opened(home) as library:
        await two_versions(library)
        last = await library.delete("slugify")
        assert (last.state, last.versions) == ("deleted", (1, 2))
        assert not list(library.tools.entries())
    async with opened(home) as library:
        for attempt in (library.read, library.pin, library.disable, library.delete, library.rollback):
            with pytest.raises(ToolUnavailable, match=r"slugify was deleted.*enable"):
                await attempt("slugify")
        with pytest.raises(ToolUnavailable, match="was deleted"):
            library.entry("slugify")
        assert (await library.enable("slugify")).versions == (1, 2)
        assert (await library.read("slugify")).manifest.version == 2


async def test_a_tombstone_older_than_thirty_days_is_cleared_away_at_the_next_start(home: Path) -> None:
    async with opened(home) as library:
        await publish_six(library)
        await library.delete("slugify")
        await library.delete("word_count")
    with sqlite3.connect(home / "library.sqlite3") as database:
        database.execute("UPDATE tool SET deleted_at = '2020-01-01' WHERE name = 'slugify'")
    database.close()
    async with opened(home) as library:
        with pytest.raises(ToolNotFound):
            library.entry("slugify")
        assert not (home / "generated_tools" / "slugify" / "v1").exists()
        assert (home / "generated_tools" / "word_count" / "v1").exists()
        assert (await library.enable("word_count")).callable_now
        assert (await library.publish(accepted(), expected_version=0)).version == 1


async def test_a_tombstone_that_got_too_old_meanwhile_is_not_undone(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.delete("slugify")
        with sqlite3.connect(home / "library.sqlite3") as database:
            database.execute("UPDATE tool SET deleted_at = '2020-01-01'")
        database.close()
        with pytest.raises(ToolUnavailable, match="more than 30 days ago"):
            await library.enable("slugify")


@pytest.mark.one_machine
@pytest.mark.parametrize("file", VERSION_FILES)
async def test_an_edited_file_quarantines_the_tool_for_good(home: Path, file: str) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        place = home / "generated_tools" / "slugify" / "v1" / file
        before = place.read_bytes()
        place.write_bytes(before + b"\n")
        with pytest.raises(ToolQuarantined, match=rf"slugify v1 .*{file}") as refused:
            await library.read("slugify")
        for way_out in (
            "Synthesize it again",
            "`alita tool rollback slugify VERSION`",
            "`alita tool delete slugify`",
        ):
            assert way_out in refused.value.hint
        assert library.entry("slugify").state == "quarantined"
        assert not library.entry("slugify").callable_now
        assert events(library)[-1] == "quarantined"
        place.write_bytes(before)
    async with opened(home) as library:
        assert library.entry("slugify").state == "quarantined"
        with pytest.raises(ToolQuarantined):
            await library.read("slugify")
        with pytest.raises(ToolQuarantined):
            library.callable_entry("slugify")
        assert (await library.enable("slugify")).state == "enabled"
        assert (await library.read("slugify")).code == accepted().draft.code
        assert events(library).count("quarantined") == 1


@pytest.mark.one_machine
async def test_enabling_a_quarantined_tool_that_is_still_changed_is_refused(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        (home / "generated_tools" / "slugify" / "v1" / "tool.py").write_text("evil = 1\n")
        for _ in range(2):
            with pytest.raises(ToolQuarantined, match=r"tool\.py differs"):
                await library.enable("slugify")
            assert library.entry("slugify").state == "quarantined"


@pytest.mark.one_machine
async def test_a_changed_old_version_does_not_take_the_current_one_along(home: Path) -> None:
    async with opened(home) as library:
        await two_versions(library)
        (home / "generated_tools" / "slugify" / "v1" / "tool.py").unlink()
        with pytest.raises(ToolQuarantined, match=r"tool\.py is missing"):
            await library.read("slugify", 1)
        assert library.callable_entry("slugify").manifest.version == 2
        with pytest.raises(ToolQuarantined):
            await library.rollback("slugify")
        assert library.entry("slugify").manifest.version == 2


@pytest.mark.one_machine
async def test_rolling_back_frees_a_tool_whose_newest_version_was_changed(home: Path) -> None:
    async with opened(home) as library:
        await two_versions(library)
        (home / "generated_tools" / "slugify" / "v2" / "tool.py").write_text("evil = 1\n")
        with pytest.raises(ToolQuarantined):
            await library.read("slugify")
        assert (await library.rollback("slugify")).callable_now
        assert (await library.read("slugify")).manifest.version == 1


@pytest.mark.one_machine
async def test_a_new_version_frees_a_quarantined_tool(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        (home / "generated_tools" / "slugify" / "v1" / "tool.py").write_text("evil = 1\n")
        with pytest.raises(ToolQuarantined):
            await library.read("slugify")
        await library.publish(accepted(), expected_version=1)
        assert library.callable_entry("slugify").manifest.version == 2


@pytest.mark.one_machine
async def test_files_given_a_foreign_but_consistent_version_do_not_pass(home: Path, tmp_path: Path) -> None:
    async with opened(tmp_path / "other") as other:
        await other.publish(accepted(code=accepted().draft.code + "\n# evil\n"), expected_version=0)
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        for file in VERSION_FILES:
            forged = tmp_path / "other" / "generated_tools" / "slugify" / "v1" / file
            (home / "generated_tools" / "slugify" / "v1" / file).write_bytes(forged.read_bytes())
        with pytest.raises(ToolQuarantined, match=r"manifest\.json differs"):
            await library.read("slugify")


async def test_grants_hold_for_one_digest_only(home: Path) -> None:
    wide = {"grants": Grants(network=("api.example.org",))}
    async with opened(home) as library:
        await library.publish(simple("fetch_rates", **wide), expected_version=0)
        assert not library.entry("fetch_rates").approved
        with pytest.raises(ToolUnavailable, match=r"nobody approved.*alita approve fetch_rates"):
            library.callable_entry("fetch_rates")
        assert (await library.approve("fetch_rates")).callable_now
        assert (await library.approve("fetch_rates")).callable_now
        await library.publish(simple("fetch_rates", answer="other", **wide), expected_version=1)
        assert (library.entry("fetch_rates").manifest.version, library.entry("fetch_rates").approved) == (
            1,
            True,
        )
        assert not (await library.rollback("fetch_rates", 2)).approved
        assert (await library.rollback("fetch_rates")).approved
        assert not (await library.revoke("fetch_rates")).approved


async def test_evidence_of_another_sandbox_belongs_to_its_version(home: Path) -> None:
    async with opened(home) as library:
        await two_versions(library)
        await library.raise_evidence("slugify", 2, "docker", Lock())
        await library.raise_evidence("slugify", 2, "docker", Lock())
        await library.raise_evidence("slugify", 9, "docker", Lock())
        assert (
            library.tools.sandboxes_of("slugify", 2)
            == ("docker", "scripted")
            == library.entry("slugify").sandboxes
        )
        assert library.tools.sandboxes_of("slugify", 1) == ("scripted",)
        assert library.tools.sandboxes_of("slugify", 9) == library.tools.sandboxes_of("unknown", 1) == ()
        assert events(library).count("passed elsewhere") == 1


async def test_unknown_names_and_versions_name_what_there_is(home: Path) -> None:
    async with opened(home) as library:
        with pytest.raises(ToolNotFound, match="no tools yet"):
            library.entry("slugify")
        await publish_six(library)
        for hostile in (
            "slugfy",
            "slugify/../x",
            "",
            "\x00",
            "\ud800",
            "s" * 1_000_000,
            "'; DROP TABLE tool; --",
        ):
            with pytest.raises(ToolNotFound) as missing:
                await library.read(hostile)
            assert set(missing.value.nearest) <= {"slugify"}
            assert bool(missing.value.nearest) == hostile.startswith("slug")
            assert len(missing.value.message) < 300
        with pytest.raises(ToolNotFound, match="Did you mean slugify") as missing:
            library.entry("slugfy")
        assert missing.value.nearest[0] == "slugify"
        with pytest.raises(ToolNotFound, match=r"no slugify v9.*v1"):
            await library.read("slugify", 9)
        for change in (library.pin, library.enable, library.rollback, library.delete, library.export):
            with pytest.raises(ToolNotFound):
                await change("slugfy")
        assert len(list(library.tools.entries())) == 6


async def test_the_journal_gives_the_newest_first_and_keeps_what_it_is_told(home: Path) -> None:
    async with opened(home) as library:
        await library.record("synthesis", "slugify", {"status": "rejected", "stage": "examples"})
        await library.record("synthesis", "\ud800" * 1_000, {"reason": "\ud800"})
        assert len(library.journal(1)[0].name or "") == 100
        await library.record("started", None, {})
        rows = library.journal(3)
        assert [row.event for row in rows] == ["started", "synthesis", "synthesis"]
        assert rows[2].detail == {"status": "rejected", "stage": "examples"}
        assert rows[0].time > rows[1].time
