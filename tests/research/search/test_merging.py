"""Several back ends as one search: order, duplicates, failures and limits."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import UsageError
from alita_mcp.research.search.backends import MergedSearch, canonical_url, merge_hits
from alita_mcp.research.values import SearchHit

pytestmark = pytest.mark.anyio


def hit(url: str, backend: str = "one", snippet: str = "", published: str = "") -> SearchHit:
    return SearchHit(
        url=url, title=f"{backend} {url}", snippet=snippet, backends=(backend,), published=published
    )


class Scripted:
    def __init__(self, name: str, *urls: str, fails: Exception | None = None) -> None:
        self.name = name
        self._urls, self._fails = urls, fails
        self.asked: list[tuple[str, int]] = []

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        self.asked.append((query, limit))
        if self._fails:
            raise self._fails
        return [hit(url, self.name) for url in self._urls]


async def test_what_several_back_ends_found_comes_first() -> None:
    one = Scripted("one", "https://a.org/1", "https://a.org/2", "https://a.org/3")
    two = Scripted("two", "https://a.org/9", "http://A.org:80/3/#part")
    found = await MergedSearch([one, two]).search("owls", 3)
    assert [each.url for each in found.hits] == [
        "https://a.org/3",
        "https://a.org/1",
        "https://a.org/9",
    ]
    assert found.hits[0].backends == ("one", "two")
    assert one.asked == [("owls", 3)]


async def test_failures_are_told_and_the_rest_is_answered() -> None:
    search = MergedSearch(
        [
            Scripted("good", "https://a.org/1"),
            Scripted("refuses", fails=UsageError("refuses answered 401.", hint="Check it.")),
        ],
    )
    with anyio.fail_after(60):
        found = await search.search("owls")
    assert [each.url for each in found.hits] == ["https://a.org/1"]
    assert {each.backend: each.reason for each in found.failed} == {
        "refuses": "refuses answered 401. Check it.",
    }


async def test_an_empty_query_asks_nobody() -> None:
    one = Scripted("one", "https://a.org/1")
    assert (await MergedSearch([one]).search(" \n\u200b")).hits == ()
    assert one.asked == []


def test_a_page_that_one_back_end_lists_twice_counts_once() -> None:
    twice = [hit("https://a.org/1"), hit("https://a.org/1#part"), hit("https://a.org/2")]
    assert [each.url for each in merge_hits([twice, [hit("https://a.org/2", "two")]])] == [
        "https://a.org/2",
        "https://a.org/1",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://example.org", "https://example.org/"),
        ("https://Example.ORG:443/a/", "http://example.org:80/a"),
        ("https://example.org/a#part", "https://example.org/a"),
    ],
)
def test_ways_to_write_one_address_have_one_key(one: str, other: str) -> None:
    assert canonical_url(one) == canonical_url(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.org/a", "https://example.org/A"),
        ("https://example.org/a", "https://example.org:8443/a"),
        ("https://example.org/?a=1", "https://example.org/?a=2"),
        ("https://example.org/?a=1%26b=2", "https://example.org/?a=1&b=2"),
        ("https://www.example.org/", "https://example.org/"),
    ],
)
def test_other_pages_have_other_keys(one: str, other: str) -> None:
    assert canonical_url(one) != canonical_url(other)


@given(st.text() | st.from_regex(r"https?://[a-z\[\]:@%.0-9]{0,20}(/.{0,20})?", fullmatch=True))
def test_any_text_has_a_key_or_none(url: str) -> None:
    assert not canonical_url(url) or urlsplit(url).scheme in ("http", "https")
