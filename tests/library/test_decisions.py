"""What a person decided, no client undoes: states, versions and grants, by every way there is around them."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.values import Grants
from tests.library.factory import accepted, events, opened, simple

MODEL = Grants(model=True)
NO_CLIENT = "no client undoes"
Step = Callable[[Library], Awaitable[object]]


async def publish(library: Library, answer: str, follows: int, **more: object) -> None:
    await library.publish(simple("fetch_rates", answer=answer, **more), expected_version=follows)


@pytest.mark.parametrize(
    "ways",
    [
        [lambda library: library.enable("slugify", by="client")],
        [
            lambda library: library.disable("slugify", by="client"),
            lambda library: library.enable("slugify", by="client"),
        ],
        [
            lambda library: library.delete("slugify", by="client"),
            lambda library: library.enable("slugify", by="client"),
        ],
        [lambda library: library.publish(accepted(description="Better slugs."), expected_version=1)],
    ],
    ids=["enable", "disable and enable", "delete and enable", "update"],
)
async def test_what_a_person_disabled_stays_so_whatever_clients_try(home: Path, ways: list[Step]) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.disable("slugify")
        for way in ways:
            with suppress(ToolUnavailable):
                await way(library)
        assert library.entry("slugify").state == "disabled"
        assert (await library.enable("slugify")).callable_now


async def test_what_a_person_deleted_no_client_brings_back(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.delete("slugify")
        with pytest.raises(ToolUnavailable, match=NO_CLIENT):
            await library.enable("slugify", by="client")
        with pytest.raises(ToolUnavailable, match="was deleted"):
            await library.publish(accepted(), expected_version=1)
        assert (await library.enable("slugify")).callable_now


async def test_what_a_client_disabled_a_client_enables_until_a_person_says_otherwise(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.disable("slugify", by="client")
        assert (await library.enable("slugify", by="client")).callable_now
        await library.disable("slugify", by="client")
        await library.disable("slugify")
        with pytest.raises(ToolUnavailable, match=NO_CLIENT):
            await library.enable("slugify", by="client")
        await library.enable("slugify")
        await library.delete("slugify", by="client")
        assert (await library.enable("slugify", by="client")).callable_now


async def test_a_version_that_a_person_chose_stays_current_whatever_clients_publish_or_roll_back(
    home: Path,
) -> None:
    async with opened(home) as library:
        for version in range(2):
            await library.publish(accepted(description=f"Slugs {version}."), expected_version=version)
        assert (await library.rollback("slugify")).manifest.version == 1
        with pytest.raises(ToolUnavailable, match=NO_CLIENT):
            await library.rollback("slugify", 2, by="client")
        await library.publish(accepted(description="Slugs 1."), expected_version=2)
        assert library.entry("slugify").manifest.version == 1
        assert library.entry("slugify").versions == (1, 2, 3)
        assert (await library.rollback("slugify", 3)).manifest.version == 3


async def test_a_client_rolls_back_among_versions_of_no_less_trust_that_ask_for_nothing(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(trust="provisional"), expected_version=0)
        await library.publish(accepted(description="Better slugs."), expected_version=1)
        await library.publish(accepted(description="Best slugs."), expected_version=2)
        assert (await library.rollback("slugify", 2, by="client")).manifest.version == 2
        assert (await library.rollback("slugify", 3, by="client")).manifest.version == 3
        with pytest.raises(ToolUnavailable, match="v1 is provisional, v3 is verified"):
            await library.rollback("slugify", 1, by="client")
        await publish(library, "one", 0, grants=MODEL)
        await publish(library, "two", 1)
        assert library.entry("fetch_rates").manifest.version == 2
        with pytest.raises(ToolUnavailable, match="v1 asks for grants"):
            await library.rollback("fetch_rates", 1, by="client")


async def test_a_version_of_lower_trust_is_kept_and_does_not_become_current(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        thin = await library.publish(accepted(trust="provisional", description="Slugs."), expected_version=1)
        entry = library.entry("slugify")
        assert (entry.manifest.version, entry.versions) == (1, (1, 2))
        assert (await library.read("slugify", 2)).manifest == thin
        await library.publish(accepted(description="Good slugs."), expected_version=2)
        assert library.entry("slugify").manifest.version == 3


async def test_a_version_that_waits_for_approval_is_kept_and_the_callable_one_stays(home: Path) -> None:
    async with opened(home) as library:
        await publish(library, "one", 0)
        await publish(library, "two", 1, grants=MODEL)
        entry = library.entry("fetch_rates")
        assert (entry.manifest.version, entry.callable_now) == (1, True)
        approved = await library.approve("fetch_rates")
        assert (approved.manifest.version, approved.callable_now) == (2, True)


async def test_what_a_person_approved_no_update_replaces_and_no_client_deletes(home: Path) -> None:
    async with opened(home) as library:
        await publish(library, "one", 0, grants=MODEL)
        await library.approve("fetch_rates")
        await publish(library, "two", 1)
        await publish(library, "three", 2, grants=MODEL)
        entry = library.entry("fetch_rates")
        assert (entry.manifest.version, entry.callable_now) == (1, True)
        with pytest.raises(ToolUnavailable, match=NO_CLIENT):
            await library.delete("fetch_rates", by="client")
        with pytest.raises(ToolUnavailable, match=NO_CLIENT):
            await library.rollback("fetch_rates", 2, by="client")
        assert (await library.rollback("fetch_rates", 2)).manifest.version == 2


async def test_the_journal_says_who_asked(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.disable("slugify", by="client")
        await library.enable("slugify")
        said = {row.event: row.detail.get("by") for row in library.journal()}
        assert (said["disabled"], said["enabled"]) == ("client", "person")
        assert events(library)[-2:] == ["disabled", "enabled"]


async def test_a_new_version_takes_the_place_of_a_quarantined_one_of_higher_trust(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        (home / "generated_tools" / "slugify" / "v1" / "tool.py").write_text("pass\n")
        with pytest.raises(ToolUnavailable, match="quarantined"):
            await library.read("slugify")
        await library.publish(accepted(trust="provisional", description="Slugs."), expected_version=1)
        assert library.entry("slugify").manifest.version == 2


async def test_an_approval_is_for_the_digest_that_was_seen_and_for_the_version_that_was_current(
    home: Path,
) -> None:
    async with opened(home) as library:
        await publish(library, "one", 0, grants=MODEL)
        seen = library.entry("fetch_rates").manifest
        await publish(library, "two", 1, grants=MODEL)
        assert (await library.approve("fetch_rates", seen.digest)).manifest == seen
        waiting = (await library.read("fetch_rates", 2)).manifest
        await library.rollback("fetch_rates", 2)
        with pytest.raises(ToolUnavailable, match="not as it was a moment ago"):
            await library.approve("fetch_rates", seen.digest, seen=1)
        assert not library.entry("fetch_rates").callable_now
        assert library.effective_grants.of(waiting) is None


async def test_a_person_approves_a_part_and_no_more_is_in_force(home: Path) -> None:
    wide = Grants(network=("api.example.org", "www.example.com"), model=True, secrets=("token",))
    part = Grants(network=("api.example.org",), secrets=("token",))
    async with opened(home) as library:
        await publish(library, "one", 0, grants=wide)
        entry = await library.approve("fetch_rates", part=part)
        assert entry.callable_now
        assert library.effective_grants.of(entry.manifest) == part
        await library.approve("fetch_rates")
        assert library.effective_grants.of(entry.manifest) == wide
        await library.approve("fetch_rates", part=part)
        await library.revoke("fetch_rates")
        assert library.effective_grants.of(entry.manifest) is None


async def test_hosts_that_a_tool_leaves_open_are_those_that_an_approval_names(home: Path) -> None:
    part = Grants(network=("api.example.org",))
    async with opened(home) as library:
        await publish(library, "one", 0, grants=Grants(network=("*",)))
        assert not (await library.approve("fetch_rates")).callable_now
        entry = await library.approve("fetch_rates", part=part)
        assert library.effective_grants.of(entry.manifest) == part
        assert [each.name for each in library.promotable(20, verified_only=False)] == ["fetch_rates"]


async def test_what_stood_in_an_older_catalogue_counts_as_a_persons_decision(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.disable("slugify", by="client")
        await publish(library, "one", 0, grants=MODEL)
        await library.approve("fetch_rates")
    with closing(sqlite3.connect(home / "library.sqlite3")) as database:
        database.execute("DROP TABLE decided")
    async with opened(home) as library:
        with pytest.raises(ToolUnavailable, match=NO_CLIENT):
            await library.enable("slugify", by="client")
        with pytest.raises(ToolUnavailable, match=NO_CLIENT):
            await library.delete("fetch_rates", by="client")
