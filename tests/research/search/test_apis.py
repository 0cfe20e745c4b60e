"""What is particular to one search API: how GitHub is asked."""

from __future__ import annotations

import pytest

from alita_mcp.errors import UsageError
from tests.research.json_server import Reply, json_server
from tests.research.search.apis import APIS

pytestmark = pytest.mark.anyio
GITHUB = APIS["github"]


async def test_github_is_asked_for_the_words_that_tell_something() -> None:
    with json_server(GITHUB.answering()) as (url, asked):
        async with GITHUB.opened(url) as backend:
            (first, *_) = await backend.search(
                "How can I read RINEX user:evil NOT observation files in Python?", 5
            )
    assert asked[0].path == "/search/repositories"
    assert asked[0].query["q"] == "rinex user evil observation files in:name,description,topics,readme"
    assert "authorization" not in asked[0].headers
    for words in ("12 stars", "licence MIT", "Python", "last push 2026-03-04"):
        assert words in first.snippet
    assert "archived" not in first.snippet


async def test_githubs_own_limit_is_told() -> None:
    spent = Reply(b"", 403, {"x-ratelimit-remaining": "0"})
    with json_server(lambda request: spent) as (url, _):
        async with GITHUB.opened(url) as backend:
            with pytest.raises(UsageError, match=r"answered 403: too many requests\. Try again later"):
                await backend.search("owls", 10)
