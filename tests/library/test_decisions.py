"""What a person decided, nothing published later undoes: states, versions and grants."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.values import Grants
from tests.library.factory import accepted, opened, simple

MODEL = Grants(model=True)


async def publish(library: Library, answer: str, follows: int, **more: object) -> None:
    await library.publish(simple("fetch_rates", answer=answer, **more), expected_version=follows)


async def test_what_a_person_disabled_stays_so_whatever_clients_publish(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.disable("slugify")
        await library.publish(accepted(description="Better slugs."), expected_version=1)
        assert library.entry("slugify").state == "disabled"
        assert (await library.enable("slugify")).callable_now


async def test_what_a_person_deleted_no_client_brings_back(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        await library.delete("slugify")
        with pytest.raises(ToolUnavailable, match="was deleted"):
            await library.publish(accepted(), expected_version=1)
        assert (await library.enable("slugify")).callable_now


async def test_a_version_that_a_person_chose_stays_current_whatever_clients_publish(home: Path) -> None:
    async with opened(home) as library:
        for version in range(2):
            await library.publish(accepted(description=f"Slugs {version}."), expected_version=version)
        assert (await library.rollback("slugify")).manifest.version == 1
        await library.publish(accepted(description="Slugs 1."), expected_version=2)
        assert library.entry("slugify").manifest.version == 1
        assert library.entry("slugify").versions == (1, 2, 3)
        assert (await library.rollback("slugify", 3)).manifest.version == 3


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


async def test_what_a_person_approved_no_update_replaces(home: Path) -> None:
    async with opened(home) as library:
        await publish(library, "one", 0, grants=MODEL)
        await library.approve("fetch_rates")
        await publish(library, "two", 1)
        await publish(library, "three", 2, grants=MODEL)
        entry = library.entry("fetch_rates")
        assert (entry.manifest.version, entry.callable_now) == (1, True)
        assert (await library.rollback("fetch_rates", 2)).manifest.version == 2


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


async def test_a_person_approves_some_of_the_hosts_and_no_others_are_in_force(home: Path) -> None:
    wide = Grants(network=("api.example.org", "www.example.com"), model=True, secrets=("token",))
    part = wide.model_copy(update={"network": ("api.example.org",)})
    async with opened(home) as library:
        await publish(library, "one", 0, grants=wide)
        entry = await library.approve("fetch_rates", hosts=part.network)
        assert entry.callable_now
        assert library.effective_grants.of(entry.manifest) == part
        await library.approve("fetch_rates")
        assert library.effective_grants.of(entry.manifest) == wide
        await library.approve("fetch_rates", hosts=part.network)
        await library.revoke("fetch_rates")
        assert library.effective_grants.of(entry.manifest) is None


async def test_hosts_that_a_tool_leaves_open_are_those_that_an_approval_names(home: Path) -> None:
    part = Grants(network=("api.example.org",))
    async with opened(home) as library:
        await publish(library, "one", 0, grants=Grants(network=("*",)))
        assert not (await library.approve("fetch_rates")).callable_now
        entry = await library.approve("fetch_rates", hosts=part.network)
        assert library.effective_grants.of(entry.manifest) == part
        assert [each.name for each in library.promotable(20)] == ["fetch_rates"]


async def test_what_was_approved_in_an_older_catalogue_counts_as_a_persons_choice(home: Path) -> None:
    async with opened(home) as library:
        await publish(library, "one", 0, grants=MODEL)
        await library.approve("fetch_rates")
    with closing(sqlite3.connect(home / "library.sqlite3")) as database:
        database.execute("DROP TABLE decided")
        database.execute("PRAGMA user_version = 1")
    async with opened(home) as library:
        await publish(library, "two", 1)
        assert library.entry("fetch_rates").manifest.version == 1
