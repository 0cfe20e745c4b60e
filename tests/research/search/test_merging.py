"""Several back ends as one search: order, duplicates, failures and limits."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.research.search.backends import MergedSearch
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


async def test_back_ends_take_turns_and_an_address_comes_once() -> None:
    one = Scripted("one", "https://a.org/1", "https://a.org/2", "https://a.org/3")
    two = Scripted("two", "https://a.org/9", "https://a.org/1")
    found = await MergedSearch([one, two]).search("owls", 3)
    assert [each.url for each in found.hits] == ["https://a.org/1", "https://a.org/9", "https://a.org/2"]
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
