"""Searches that led to a call become requests by which the tool is found."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.app import App
from alita_mcp.app.learning import (
    MAX_CLIENTS,
    MAX_SEARCHES,
    WITHIN_S,
    Learning,
)
from alita_mcp.errors import InvalidArguments, LibraryError, UsageError
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.library.search.answer import Fit, SearchAnswer
from alita_mcp.owners import UNIDENTIFIED, USER, ClientIdentity
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.example_requests import MAX_CHARACTERS, says_nothing_new, worth_learning
from tests.app.conftest import Open, adder
from tests.library.factory import hit_of, simple

ASKED = "add the numbers of two zebra herds, say 3 and 4"
ME = ClientIdentity("client 1", "Some Agent 1.0")
OTHER = ClientIdentity("client 2", "Some Agent 1.0")


async def learned(app: App, name: str = "add") -> tuple[str, ...]:
    """What the tool learned."""
    return app.library.entry(name).wordings


async def use(app: App, query: str = ASKED, identity: ClientIdentity = ME, name: str = "add") -> None:
    await app.search_tools(query, identity=identity)
    await app.run_tool(name, {"a": 1, "b": 2}, identity=identity)


async def test_a_search_that_led_to_a_call_is_learned_and_changes_nothing_but_how_it_is_found(
    open_with: Open,
) -> None:
    async with open_with(None, adder()) as app:
        before = app.library.entry("add").manifest
        assert "add" not in await app.library.similar("zebra herds", owner=USER)
        await use(app)
        assert await learned(app) == (ASKED,)
        assert app.library.entry("add").manifest == before, "neither trust nor digest nor grants"
        assert (await app.library.similar("zebra herds", owner=USER))[0] == "add"
        events = {row.event: row for row in app.library.journal()}
        assert (events["learned"].name, events["learned"].detail) == ("add", {"text": ASKED})
        assert (await app.run_tool("add", {"a": 1, "b": 2})).result.ok


@pytest.mark.parametrize("query", ["adds two numbers", "add numbers in /home/jane/salaries.csv"])
async def test_what_says_nothing_new_or_is_nobodys_business_teaches_nothing(
    open_with: Open, query: str
) -> None:
    async with open_with(None, adder()) as app:
        await use(app, query)
        assert await learned(app) == ()


async def test_only_the_clients_own_next_call_counts(open_with: Open) -> None:
    async with open_with(None, adder(), adder("other")) as app:
        await app.search_tools(ASKED, identity=ME)
        await app.run_tool("add", {"a": 1, "b": 2}, identity=OTHER)
        await app.run_tool("add", {"a": 1, "b": 2})
        await app.calls.run_tool("add", {"a": 1, "b": 2}, chain=("other",))
        assert await learned(app) == (), "other clients, nobody, and a tool"
        await app.run_tool("other", {"a": 1, "b": 2}, identity=ME)
        await app.run_tool("add", {"a": 1, "b": 2}, identity=ME)
        assert await learned(app) == (), "the next call was another tool's"
        assert await learned(app, "other") == (ASKED,)
        await app.search_tools(ASKED, identity=ME)
        with pytest.raises(InvalidArguments):
            await app.run_tool("add", {}, identity=ME)
        await app.run_tool("add", {"a": 1, "b": 2}, identity=ME)
        assert await learned(app) == (), "the arguments of the next call did not fit"
        await app.search_tools(ASKED, identity=UNIDENTIFIED)
        await app.run_tool("add", {"a": 1, "b": 2}, identity=UNIDENTIFIED)
        assert await learned(app) == (), "nothing told who that was"


async def test_a_search_that_found_nothing_teaches_nothing_whatever_is_called_then(open_with: Open) -> None:
    async with open_with(None, adder()) as app:
        for _ in range(3):
            answer = await app.search_tools(
                "what jazz numbers will the band play for me tonight", identity=ME
            )
            assert (answer.fit, answer.results[0].name) == ("none", "add")
            assert answer.results[0].score > 0
            assert (await app.run_tool("add", {"a": 1, "b": 2}, identity=ME)).result.ok
        assert await learned(app) == ()
        assert (await app.search_tools("jazz for tonight by the band")).fit == "none"


async def test_words_that_use_taught_never_count_as_much_as_a_tools_own(open_with: Open) -> None:
    async with open_with(None, adder()) as app:
        for words in ("add two numbers, play jazz music", "sum two numbers as jazz music plays"):
            assert (await app.search_tools(words, identity=ME)).fit != "none"
            await app.run_tool("add", {"a": 1, "b": 2}, identity=ME)
        assert len(await learned(app)) == 2
        assert (await app.search_tools("play jazz music")).fit != "match"
        assert (await app.search_tools("please add two numbers")).fit == "match"


async def test_a_person_takes_back_what_a_tool_learned(open_with: Open) -> None:
    async with open_with(None, adder()) as app:
        await use(app)
        await use(app, "sum two numbers of a list")
        await learned(app)
        await app.library.learn_wording("add", "tot up two sums")
        assert [(each.text, each.learned) for each in app.library.tools.wordings("add")] == [
            (ASKED, True), ("sum two numbers of a list", True), ("tot up two sums", False),
        ]  # fmt: skip
        with pytest.raises(UsageError, match="has not learned 'zebra'"):
            await app.library.forget("add", "zebra")
        assert await app.library.forget("add", ASKED) == (ASKED,)
        assert "add" not in await app.library.similar("zebra herds", owner=USER)
        assert await app.library.forget("add") == ("sum two numbers of a list", "tot up two sums")
        assert app.library.entry("add").wordings == ()
        assert await app.library.forget("add") == ()
        assert [row.event for row in app.library.journal()].count("forgot") == 2


async def test_what_an_author_wrote_is_not_forgotten(settings: Settings) -> None:
    async with open_library(settings, starters=lambda: None) as library:
        await library.publish(simple("alpha", use_when=("comb a zebra",)), expected_version=0)
        with pytest.raises(UsageError, match="from its author"):
            await library.forget("alpha", "comb a zebra")


def found(*names: str, score: float = 0.5, fit: Fit = "possible") -> SearchAnswer:
    return SearchAnswer(fit=fit, total=9, results=tuple(hit_of(name, score) for name in names))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_call_long_after_the_search_or_of_what_only_filled_the_list_teaches_nothing(
    settings: Settings,
) -> None:
    clock = Clock()
    async with open_library(settings, starters=lambda: None) as library:
        await library.publish(simple("alpha"), expected_version=0)
        learning = Learning(library, clock=clock)
        learning.remember_search(ME, "groom a zebra", found("alpha", score=0.29))
        await learning.learn_from_call("alpha", learning.take_searches(ME))
        learning.remember_search(ME, "groom a zebra", found("alpha", fit="none"))
        await learning.learn_from_call("alpha", learning.take_searches(ME))
        learning.remember_search(ME, "groom a zebra", found("alpha"))
        clock.now += WITHIN_S + 1
        await learning.learn_from_call("alpha", learning.take_searches(ME))
        learning.remember_search(UNIDENTIFIED, "groom a zebra", found("alpha"))
        await learning.learn_from_call("alpha", learning.take_searches(UNIDENTIFIED))
        learning.remember_search(ME, "groom a zebra", found("gone"))
        await learning.learn_from_call("gone", learning.take_searches(ME))
        learning.remember_search(ME, "comb a zebra", found("alpha"))
        learning.remember_search(ME, "brush a horse", found("alpha", "beta"))
        learning.remember_search(ME, "feed a horse", found("beta"))
        await learning.learn_from_call("alpha", learning.take_searches(ME))
        assert library.entry("alpha").wordings == ("brush a horse",), "the newest that showed it"


async def test_memory_is_bounded_however_many_ask_and_search(settings: Settings) -> None:
    async with open_library(settings, starters=lambda: None) as library:
        await library.publish(simple("alpha"), expected_version=0)
        learning = Learning(library)
        for number in range(MAX_CLIENTS + 50):
            for again in range(MAX_SEARCHES + 3):
                learning.remember_search(
                    ClientIdentity(f"client {number}"), f"groom zebra {again}", found("alpha")
                )
        assert len(learning._searches) == MAX_CLIENTS
        assert {len(each) for each in learning._searches.values()} == {MAX_SEARCHES}
        for number in range(MAX_CLIENTS + 50):
            await learning.learn_from_call(
                "alpha", learning.take_searches(ClientIdentity(f"client {number}"))
            )
        assert learning._searches == {}


async def test_a_library_that_cannot_be_written_fails_no_call(settings: Settings) -> None:
    class Full(Library):
        async def learn_wording(self, name: str, text: str, **how: Any) -> None:
            if text == "groom a zebra":
                raise LibraryError("The disk is full.")
            await super().learn_wording(name, text, **how)

    async with open_library(settings, starters=lambda: None) as library:
        await library.publish(simple("alpha"), expected_version=0)
        library.__class__ = Full
        learning = Learning(library)
        for words in ("groom a zebra", "comb a horse"):
            learning.remember_search(ME, words, found("alpha"))
            await learning.learn_from_call("alpha", learning.take_searches(ME))
        assert library.entry("alpha").wordings == ("comb a horse",)


async def test_a_hostile_client_cannot_drown_a_tools_own_words(settings: Settings) -> None:
    async with open_library(settings, starters=lambda: None) as library:
        await library.publish(simple("alpha", "Combs the fur of zebras."), expected_version=0)
        await library.publish(simple("beta", "Reads the clock."), expected_version=0)
        for number in range(60):
            await library.learn_wording("alpha", f"poison{number} " * 20, from_use=True)
        await library.learn_wording("alpha", "told by a person who asked")
        entry = library.entry("alpha")
        assert len(entry.wordings) == 9, "eight from use, and what was told has places of its own"
        assert (await library.similar("comb a zebra", owner=USER))[0] == "alpha"
        assert (await library.search("comb the fur of zebras", 3, USER)).results[0].name == "alpha"
        assert entry.manifest.trust == "verified"


def test_private_words_are_recognised_and_plain_ones_are_not() -> None:
    for plain in (
        "convert 25 °C to °F", "parse 2026-11-21 as a date", "wie viele Wörter hat ein Text", "文字数を数える",
        "and/or logic",
        "dd/mm/yyyy to ISO", "count_words for snake_case", "is 17 prime?", "token count of a text", "C to F", "x" * 31,
    ):  # fmt: skip
        assert worth_learning(plain) == plain
    for private in (
        "", "???", "a\x00b", "x " * MAX_CHARACTERS, "~/notes/today.txt", "call +49 170 1234567", r"\\host\share",
        "numbers for jane.doe@example.org", "add numbers from https://example.org/x", "numbers \u202e backwards",
        "numbers of card 4111 1111 1111 1111", "add numbers, my password is hunter2", r"add numbers in C:\Users\jane",
        "numbers QWxhZGRpbjpvcGVuIHNlc2FtZQ0123", "numbers deadbeefdeadbeefdeadbeefdeadbeef",
    ):  # fmt: skip
        assert worth_learning(private) is None


def test_a_request_is_new_when_a_fifth_of_its_words_are() -> None:
    known: list[Any] = ["turn a title into a slug for an address"]
    assert says_nothing_new("slugify", known, "slugify")
    assert says_nothing_new(
        "Turn titles into slugs for addresses!", ["turn title into slugs for addresse"], "x"
    )
    assert not says_nothing_new("make a headline fit for links", known, "slugify")
