"""What is particular to one search API: how GitHub is asked, and which names a query means to the package index."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.research.search.package_index import MAX_NAMES, candidate_names
from tests.research.json_server import Reply, Request, json_server
from tests.research.search.apis import APIS, CODE, Found, project

pytestmark = pytest.mark.anyio
GITHUB, INDEX = APIS["github"], APIS["package_index"]
FILES = {
    "items": [
        {
            "html_url": "https://example.org/owls/blob/main/owl.py",
            "path": "owl.py",
            "repository": {"full_name": "owls/owls"},
            "text_matches": [{"fragment": "def hoot():"}],
        },
        {"html_url": "https://example.org/odd", "repository": None, "text_matches": "none"},
    ]
}


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


async def test_files_of_github_are_told_with_their_repository() -> None:
    with json_server(lambda request: Reply(FILES)) as (url, asked):
        async with CODE.opened(url) as backend:
            first, second = await backend.search("owls", 10)
    assert asked[0].path == "/search/code"
    assert (first.title, first.snippet) == ("owls/owls: owl.py", "def hoot():")
    assert (second.title, second.snippet) == (": None", "")


async def test_githubs_own_limit_is_told() -> None:
    spent = Reply(b"", 403, {"x-ratelimit-remaining": "0"})
    with json_server(lambda request: spent) as (url, _):
        async with GITHUB.opened(url) as backend:
            with pytest.raises(UsageError, match=r"answered 403: too many requests\. Try again later"):
                await backend.search("owls", 10)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("python-docx", ["python-docx"]),
        ("Is there a Python library to read YAML?", ["pyyaml", "yaml"]),
        ("beutifulsoup html", ["beautifulsoup4", "beutifulsoup-html"]),
        ("rinex gnss", ["rinex-gnss", "rinex", "gnss"]),
        ("h5py or lancedb", ["h5py", "lancedb"]),
    ],
)
def test_a_query_means_these_names_first(query: str, names: list[str]) -> None:
    found = candidate_names(query)
    assert [name for name in found if name in names] == names
    assert len(found) <= MAX_NAMES


def test_a_query_without_names_means_none() -> None:
    assert candidate_names("\u732b\u306e\u5199\u771f ???") == []


async def test_packages_that_share_one_word_of_many_are_no_hits() -> None:
    body = project([Found("https://example.org", snippet="The opposite of format")])
    body["info"]["name"] = "parse"

    def answer(request: Request) -> Reply:
        return Reply(body) if "/parse/" in request.path else Reply(status=404)

    with anyio.fail_after(60), json_server(answer) as (url, _):
        async with INDEX.opened(url) as backend:
            assert await backend.search("parse rinex observation headers", 5) == ()
            (hit,) = await backend.search("parse the opposite format", 5)
    assert hit.title == "parse 1.2"


async def test_packages_that_were_found_are_told_although_others_failed() -> None:
    def answer(request: Request) -> Reply:
        return INDEX.answering()(request) if "/georeader/" in request.path else Reply(b"", 500)

    with json_server(answer) as (url, _):
        async with INDEX.opened(url) as backend:
            assert len(await backend.search("georeader", 5)) == 1
