from __future__ import annotations

from pathlib import Path
from typing import Any

from alita_mcp.library.catalogue.use import FOUND_NOTHING
from alita_mcp.library.journal.gaps import MAX_TEXTS, find_gaps, group_texts
from alita_mcp.library.opening import open_library
from alita_mcp.library.private_text import looks_private
from alita_mcp.library.rows import JournalRow
from alita_mcp.library.search.answer import SearchAnswer
from alita_mcp.settings import Settings
from tests.library.factory import hit_of


def row(number: int, query: Any, event: str = FOUND_NOTHING, nearest: str = "") -> JournalRow:
    detail = {"query": query, "nearest": nearest}
    time = f"2026-01-{number:02}T00:00:00Z"
    return JournalRow(id=number, time=time, event=event, name=None, version=None, detail=detail)


def test_searches_in_like_words_are_one_gap_and_the_most_wanted_comes_first() -> None:
    rows = [
        row(1, "read a QR code from an image"),
        row(2, "translate text to Klingon", nearest="slugify"),
        row(3, "read QR codes from a photo image"),
        row(4, "read QR codes from a photo image"),
        row(5, "the weather", event="called"),
    ]
    first, second = find_gaps(rows)
    assert (first.need, first.times) == ("read QR codes from a photo image", 3)
    assert first.others == ("read a QR code from an image",)
    assert (first.first[:10], first.last[:10]) == ("2026-01-01", "2026-01-04")
    assert (second.need, second.times, second.nearest) == ("translate text to Klingon", 1, "slugify")


def test_texts_without_words_or_of_hostile_length_are_gaps_of_their_own() -> None:
    texts = ["", "???", "the of and", "word " * 5_000, "\ud800"]
    assert sorted(map(len, group_texts(texts))) == [1] * len(texts)
    assert [gap.need for gap in find_gaps([row(1, "???"), row(2, ""), row(3, None)])] != []


async def test_only_searches_that_find_nothing_are_kept_and_cut(tmp_path: Path) -> None:
    hit = hit_of("near", 0.1)
    settings = Settings(home=tmp_path / "home")
    async with open_library(settings, starters=lambda: None) as library:
        library.calls.record_search("found", SearchAnswer(fit="match", total=1, results=(hit,)))
        library.calls.record_search("maybe", SearchAnswer(fit="possible", total=1, results=(hit,)))
        library.calls.record_search("  \n ", SearchAnswer(fit="none", total=1, results=(hit,)))
        library.calls.record_search("xy " * 300 + "\ud800", SearchAnswer(fit="none", total=1, results=(hit,)))
        library.calls.record_search("no\x1b tools\nyet\u202e", SearchAnswer(fit="none", total=0, results=()))
        gaps = find_gaps(library.journal(100))
    assert [(gap.need, gap.nearest) for gap in gaps] == [("no tools yet", ""), (("xy " * 67)[:200], "near")]


def test_of_many_searches_the_newest_are_put_together() -> None:
    rows = (row(1, f"convert {number} files number {number * 7}") for number in range(2 * MAX_TEXTS))
    gaps = find_gaps(each.model_copy(update={"id": at}) for at, each in enumerate(rows))
    assert sum(gap.times for gap in gaps) == MAX_TEXTS


def test_needs_in_other_languages_and_letters_are_put_group_texts() -> None:
    groups = group_texts(
        [
            "翻译文本成英文", "把文本翻译成英文", "音声を文字にする", "音声を文字にして", "QR Code lesen",
            "qr \uff43\uff4f\uff44\uff45 lesen",
            "расшифровать запись", "Расшифровать запись разговора",
        ]
    )  # fmt: skip
    assert sorted(map(len, groups)) == [2, 2, 2, 2]


async def test_what_looks_private_is_not_kept_of_a_search_in_vain(tmp_path: Path) -> None:
    nothing = SearchAnswer(fit="none", total=0, results=())
    async with open_library(Settings(home=tmp_path / "home"), starters=lambda: None) as library:
        for query in ("decode sk-proj-0123456789abcdefghij", "mail jane@example.org", "brew coffee"):
            library.calls.record_search(query, nothing)
        library.calls.record_search("a call", SearchAnswer(fit="match", total=1, results=()))
        rows = library.journal(10, FOUND_NOTHING)
    assert [each.detail["query"] for each in rows] == ["brew coffee"]


def test_private_words_are_recognised_and_plain_ones_are_not() -> None:
    for plain in (
        "convert 25 °C to °F", "parse 2026-11-21 as a date", "wie viele Wörter hat ein Text", "文字数を数える",
        "and/or logic",
        "dd/mm/yyyy to ISO", "count_words for snake_case", "is 17 prime?", "token count of a text", "C to F", "x" * 31,
    ):  # fmt: skip
        assert not looks_private(plain), plain
    for private in (
        "~/notes/today.txt", "call +49 170 1234567", r"\\host\share", "numbers for jane.doe@example.org",
        "add numbers from https://example.org/x", "numbers of card 4111 1111 1111 1111",
        "add numbers, my password is hunter2", r"add numbers in C:\Users\jane",
        "numbers QWxhZGRpbjpvcGVuIHNlc2FtZQ0123", "numbers deadbeefdeadbeefdeadbeefdeadbeef",
    ):  # fmt: skip
        assert looks_private(private), private
