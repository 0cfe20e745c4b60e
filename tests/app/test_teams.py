"""Tools of a team: its members find, read, call and change them; for everybody else they are not there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from alita_mcp.app import App
from alita_mcp.app.code_runner import CHAIN
from alita_mcp.errors import NameTaken, ToolNotFound, ToolUnavailable
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.owners import ANYONE, USER, ClientIdentity, Maker, team_of
from tests.app.conftest import Open, adder

ANN, ALF, BOB = "red/ann", "red/alf", "blue/bob"
ISSUER = {"oauth_issuer": "https://login.example.org", "oauth_audience": "https://tools.example.org/mcp"}


@pytest.fixture
async def app(open_with: Open) -> AsyncIterator[App]:
    tools = [
        adder(name).model_copy(update={"made_by": Maker("a client", owner)})
        for name, owner in (("add_red", ANN), ("add_blue", BOB), ("add_plain", USER))
    ]
    async with open_with(None, *tools, **ISSUER) as opened:
        yield opened


def seen(entries: object) -> set[str]:
    assert isinstance(entries, (list, tuple))
    return {each.name if isinstance(each, CatalogueEntry) else each for each in entries} & {
        "add_red", "add_blue", "add_plain",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "theirs"),
    [(ANN, "add_red"), (ALF, "add_red"), (BOB, "add_blue"), (ANYONE, None), ("red", None), (USER, "both")],
)
async def test_a_tool_of_a_team_is_there_for_its_members_alone(app: App, owner: str, theirs: str) -> None:
    view = app.seen_by(owner)
    tools = view.library.tools
    expected = {"add_plain", theirs} if theirs != "both" else {"add_red", "add_blue", "add_plain"}
    expected.discard(None)
    found = await view.library.search("add two numbers", 10)
    listings = {
        "entries": list(tools.entries()),
        "names": tools.names(),
        "alike": tools.names_like("add_reds"),
        "most used": tools.most_used(10),
        "candidates": tools.candidates(10, 10),
        "visible": view.visible_tools(),
        "found": [hit.name for hit in found.results],
        "similar": await view.library.similar("add two numbers"),
    }
    assert {name: seen(listed) for name, listed in listings.items()} == dict.fromkeys(listings, expected)
    everything = app.library.tools.counts()["enabled"]
    assert tools.counts()["enabled"] == found.total == everything - (3 - len(expected))


async def test_the_name_of_a_foreign_tool_is_refused_as_one_that_no_tool_has(app: App) -> None:
    library = app.seen_by(ANN).library

    async def error_of(name: str) -> str:
        with pytest.raises(ToolNotFound) as missing:
            await app.run_tool(name, {"a": 1, "b": 2}, identity=ClientIdentity(owner=ANN))
        for refused in (
            library.read(name),
            library.disable(name),
            library.enable(name),
            library.delete(name),
        ):
            with pytest.raises(ToolNotFound) as other:
                await refused
            assert str(other.value) == str(missing.value)
        return str(missing.value)

    missing, foreign = await error_of("add_blxe"), await error_of("add_blue")
    assert foreign == "There is no tool 'add_blue'. Did you mean add_red?"
    assert missing == foreign.replace("add_blue", "add_blxe")
    assert (await app.run_tool("add_blue", {"a": 1, "b": 2}, identity=ClientIdentity(owner=BOB))).result.ok


async def test_code_and_tools_call_only_what_their_caller_sees(app: App) -> None:
    with pytest.raises(ToolNotFound):
        await app.calls.run_tool(
            "add_blue", {"a": 1, "b": 2}, chain=CHAIN, identity=ClientIdentity(owner=ANN)
        )
    stages: list[str] = []

    async def on_stage(stage: str) -> None:
        stages.append(stage)

    await app.calls.prepare_tools(["add_blue"], CHAIN, ClientIdentity(owner=ANN), on_stage)
    assert stages == []


async def test_nobody_takes_the_name_of_a_foreign_tool(app: App) -> None:
    library = app.seen_by(ANN).library
    with pytest.raises(NameTaken):
        await library.publish(adder("add_blue"), expected_version=0)
    assert library.is_taken("add_blue")
    assert not library.is_taken("add_red")
    assert not library.is_taken("add_nobody")


async def test_a_team_changes_its_own_tools_and_no_common_ones(app: App) -> None:
    library = app.seen_by(ALF).library
    assert (await library.disable("add_red")).state == "disabled"
    assert (await library.enable("add_red")).state == "enabled"
    known = app.library.entry("add_plain")
    for change in (library.disable, library.enable, library.delete, library.pin, library.revoke):
        with pytest.raises(ToolUnavailable, match="everybody's"):
            await change("add_plain")
    with pytest.raises(ToolUnavailable, match="everybody's"):
        await library.publish(adder("add_plain"), expected_version=1)
    assert app.library.entry("add_plain") == known


async def test_a_second_version_leaves_a_tool_with_its_team(app: App) -> None:
    newer = adder("add_red").model_copy(update={"made_by": Maker("the command line", USER)})
    await app.library.publish(newer, expected_version=1)
    with pytest.raises(ToolNotFound):
        app.seen_by(BOB).library.entry("add_red")
    assert app.seen_by(ANN).library.entry("add_red").versions == (1, 2)


@pytest.mark.parametrize(("owner", "kept_as"), [(USER, ANN), (ALF, ALF), (BOB, ANN)])
async def test_more_evidence_leaves_a_tool_with_its_team(app: App, owner: str, kept_as: str) -> None:
    again = adder("add_red").model_copy(update={"made_by": Maker("a client", owner)})
    await app.library.raise_trust(again, await app.library.read("add_red"))
    assert app.library.tools.origin("add_red", 1).owner == kept_as
    with pytest.raises(ToolNotFound):
        app.seen_by(BOB).library.entry("add_red")


async def test_a_team_reviews_no_foreign_tool(app: App) -> None:
    digest = app.library.entry("add_blue").manifest.digest
    assert not await app.seen_by(ANN).library.review("add_blue", 1, digest)
    assert await app.seen_by(BOB).library.review("add_blue", 1, digest)


async def test_what_the_library_is_about_tells_nothing_of_teams(open_with: Open) -> None:
    made = adder("convert_celsius").model_copy(update={"made_by": Maker("a client", BOB)})
    async with open_with(None, made, **ISSUER) as app:
        told = await app.seen_by(ANYONE).library.find_domains()
        assert told == await app.seen_by(ANN).library.find_domains()


async def test_without_teams_everybody_has_the_same_library(open_with: Open) -> None:
    async with open_with() as app:
        assert all(app.seen_by(owner) is app for owner in (USER, ANYONE, "token:0123", ANN))


@pytest.mark.parametrize(
    ("owner", "team"), [("user", ""), ("token:1", ""), ("red/ann", "red"), ("red/a/b", "red"), ("/x", "")]
)
def test_the_team_of_an_owner_stands_before_the_first_slash(owner: str, team: str) -> None:
    assert team_of(owner) == team
