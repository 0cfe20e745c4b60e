"""What waits for a person: versions that ask for grants, until one person decides, and nobody decides again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.grants.code_approvals import AskedCode
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, Manifest
from tests.library.factory import opened, simple

WIDE = Grants(network=("api.example.org",), model=True)
ORIGIN = {"from": "page"}


async def publish(library: Library, answer: str, grants: Grants = WIDE, **more: str) -> Manifest:
    known = library.tools.entry("asker")
    follows = max(known.versions) if known else 0
    return await library.publish(
        simple("asker", answer=answer, grants=grants, **more), expected_version=follows
    )


def waiting(library: Library) -> list[tuple[str, int, int]]:
    return [(each.manifest.name, each.manifest.version, each.current) for each in library.waiting_versions()]


async def test_of_each_tool_the_newest_version_that_asks_for_more_waits_until_a_person_decides(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "home") as library:
        pure = await publish(library, "one", Grants())
        assert waiting(library) == []
        await publish(library, "two")
        third = await publish(library, "three")
        assert waiting(library) == [("asker", 3, 1)]
        await library.refuse("asker", 3, third.digest, ORIGIN)
        assert waiting(library) == []
        assert library.entry("asker").manifest == pure
        fourth = await publish(library, "four")
        assert waiting(library) == [("asker", 4, 1)]
        await library.approve("asker", fourth.digest, seen=1, once=True, origin=ORIGIN)
        assert waiting(library) == []
        await library.revoke("asker")
        assert waiting(library) == []


async def test_what_may_hold_no_grants_and_what_came_with_alita_asks_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path / "home") as library:
        await publish(library, "one", trust="provisional")
        assert waiting(library) == []
    async with open_library(Settings(home=tmp_path / "other")) as library:
        assert waiting(library) == []
        assert library.effective_grants.of(library.entry("http_request").manifest) is None


async def approve_twice(library: Library, manifest: Manifest) -> None:
    for _ in range(2):
        await library.approve("asker", manifest.digest, once=True, origin=ORIGIN)


async def approve_then_refuse(library: Library, manifest: Manifest) -> None:
    await library.approve("asker", manifest.digest, once=True, origin=ORIGIN)
    await library.refuse("asker", manifest.version, manifest.digest, ORIGIN)


async def approve_less_then_all(library: Library, manifest: Manifest) -> None:
    await library.approve("asker", manifest.digest, hosts=["a.example.org"], once=True, origin=ORIGIN)
    await library.approve("asker", manifest.digest, hosts=["b.example.org"], once=True, origin=ORIGIN)


@pytest.mark.parametrize("decide", [approve_twice, approve_then_refuse, approve_less_then_all])
async def test_of_two_people_one_decides_and_the_other_is_told(
    tmp_path: Path, decide: Callable[[Library, Manifest], object]
) -> None:
    hosts = "*" if decide is approve_less_then_all else "api.example.org"
    async with opened(tmp_path / "home") as library:
        made = await publish(library, "one", Grants(network=(hosts,)))
        with pytest.raises(ToolUnavailable, match="asker v1 was approved already"):
            await decide(library, made)  # type: ignore[misc]
        decided = [row.event for row in library.journal() if row.event in ("approved", "not approved")]
        assert decided == ["approved"]
        granted = library.effective_grants.of(made)
        assert granted
        assert granted.network == (("a.example.org",) if hosts == "*" else (hosts,))


async def test_what_became_current_by_itself_meanwhile_is_not_approved(tmp_path: Path) -> None:
    async with opened(tmp_path / "home") as library:
        await publish(library, "one", Grants())
        second = await publish(library, "two")
        await library.rollback("asker", 2)
        with pytest.raises(ToolUnavailable, match="not as it was a moment ago"):
            await library.approve("asker", second.digest, seen=1, once=True, origin=ORIGIN)
        assert library.effective_grants.of(second) is None


async def test_an_approval_without_the_hosts_that_are_left_open_keeps_nobody_from_naming_them(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "home") as library:
        made = await publish(library, "one", Grants(network=("*",)))
        await library.approve("asker", made.digest)
        assert waiting(library) == [("asker", 1, 1)]
        await library.approve("asker", made.digest, hosts=["a.example.org"], once=True, origin=ORIGIN)
        assert waiting(library) == []


async def test_a_refusal_holds_for_the_digest_that_was_seen(tmp_path: Path) -> None:
    async with opened(tmp_path / "home") as library:
        await publish(library, "one")
        with pytest.raises(ToolUnavailable, match="not as it was a moment ago"):
            await library.refuse("asker", 1, f"sha256:{64 * '0'}", ORIGIN)
        assert waiting(library) == [("asker", 1, 1)]


async def test_code_is_approved_once_and_a_refusal_takes_nothing_back_that_another_person_approved(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "home") as library:
        approvals = library.code_approvals
        asked = AskedCode(code="1", grants=WIDE)
        number = approvals.ask(asked)
        assert [each for each, _ in approvals.list_waiting()] == [number]
        won: list[bool] = []

        async def approve() -> None:
            won.append(await library.approve_code(number, asked.digest, ORIGIN))

        async with anyio.create_task_group() as people:
            for _ in range(4):
                people.start_soon(approve)
        assert sorted(won) == [False, False, False, True]
        assert (await library.revoke_code(number, if_waiting=True)).approved_at
        assert approvals.is_approved(asked)
        assert approvals.list_waiting() == []
        assert [row.event for row in library.journal(2)].count("code approved") == 1
