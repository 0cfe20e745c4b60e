"""One piece of research: what is searched, read and ranked, and what ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.research.values import FailedBackend, Researched, ResearchLimits, SearchHit
from alita_mcp.research.web_agent import CONCURRENCY, NOT_ALLOWED, Parts, WebAgent
from tests.research.pretended import NOW, Never, Page, TableFetcher, TableSearch, page

pytestmark = pytest.mark.extra("web")

WAIT_S = 60
QUESTION = "How do owls hear?"


def hits(*urls: str, snippet: str = "") -> tuple[SearchHit, ...]:
    return tuple(SearchHit(url=url, title=f"About {url}", snippet=snippet) for url in urls)


def made_of(*parts: Any) -> WebAgent:
    async def open_parts() -> Parts:
        return Parts(*parts)

    return WebAgent(open_parts, lambda: ("table",))


def agent(
    pages: dict[str, Page], found: Sequence[SearchHit] = ()
) -> tuple[WebAgent, TableFetcher, TableSearch]:
    fetcher, search = TableFetcher(pages), TableSearch(tuple(found) or hits(*pages))
    return made_of(search, fetcher), fetcher, search


async def ask(web: WebAgent, **changes: object) -> Researched:
    with anyio.fail_after(WAIT_S):
        return await web.research(QUESTION, ResearchLimits(**changes))


async def test_what_is_found_is_read_and_ranked_with_its_address_and_time() -> None:
    pages: dict[str, Page] = {
        "https://a/": page("https://a/", "Mice are small.", "Mice"),
        "https://b/": page("https://b/final", "Owls hear with ears at different heights.", "Owls"),
    }
    web, _, search = agent(pages)
    found = await ask(web)
    assert search.queries == [QUESTION]
    assert found.passages[0].text == "Owls hear with ears at different heights."
    assert (found.passages[0].url, found.passages[0].title) == ("https://b/final", "Owls")
    assert found.passages[0].retrieved_at == NOW
    assert (found.stopped, found.unread, len(found.hits)) == ("", (), 2)
    assert web.backends == ("table",)


async def test_pages_are_read_side_by_side_and_no_more_than_the_cap() -> None:
    pages: dict[str, Page] = {f"https://p{n}/": f"Owls hear well, says page {n}." for n in range(20)}
    web, fetcher, _ = agent(pages)
    found = await ask(web, pages=5)
    assert len(fetcher.fetched) == 5
    assert 1 < fetcher.most_under_way <= CONCURRENCY
    assert found.stopped == "pages"


async def test_a_page_that_cannot_be_read_gives_way_to_the_next_and_is_named_with_its_reason() -> None:
    pages: dict[str, Page] = {
        "https://gone/": UsageError("'https://gone/' answered 404."),
        "https://forbidden/": UsageError("robots.txt forbids it."),
        "https://good/": "Owls hear well.",
    }
    found = await ask(agent(pages)[0], pages=1)
    assert "https://gone/: 'https://gone/' answered 404." in found.unread
    assert [passage.url for passage in found.passages] == ["https://good/"]
    assert len(found.unread) == 2


async def test_pages_that_all_fail_are_not_tried_for_ever() -> None:
    web, fetcher, _ = agent({}, hits(*(f"https://gone{n}/" for n in range(50))))
    found = await ask(web, pages=3)
    assert len(fetcher.fetched) == 8
    assert len(found.unread) == 8
    assert found.passages == ()


async def test_what_a_back_end_says_of_a_page_counts_where_the_page_was_not_read() -> None:
    web, _, _ = agent({}, hits("https://gone/", snippet="Owls hear with two ears."))
    (only,) = (await ask(web)).passages
    assert (only.text, only.url) == ("Owls hear with two ears.", "https://gone/")
    assert only.retrieved_at
    web, _, _ = agent(
        {"https://here/": "Owls hear."}, hits("https://here/", snippet="Owls hear with two ears.")
    )
    assert [passage.text for passage in (await ask(web)).passages] == ["Owls hear."]


async def test_time_that_is_up_ends_the_reading_and_what_was_read_counts() -> None:
    pages: dict[str, Page] = {"https://good/": "Owls hear well.", "https://slow/": Never()}
    found = await ask(agent(pages)[0], seconds=0.2)
    assert [passage.url for passage in found.passages] == ["https://good/"]
    assert found.stopped == "seconds"
    assert found.unread == ("https://slow/: not read within 0.2 s",)


async def test_a_search_that_hangs_leaves_what_the_given_addresses_say() -> None:
    search = TableSearch(hangs=True)
    web = made_of(search, TableFetcher({"https://given/": "Owls hear."}))
    with anyio.fail_after(WAIT_S):
        found = await web.research(
            QUESTION, ResearchLimits(seconds=0.2), urls=["https://given/", "https://given/"]
        )
    assert [passage.url for passage in found.passages] == ["https://given/"]
    assert found.stopped == "seconds"


async def test_given_addresses_are_read_first_and_once() -> None:
    web, fetcher, _ = agent({"https://a/": "Owls.", "https://b/": "Owls hear."})
    with anyio.fail_after(WAIT_S):
        await web.research(QUESTION, urls=["https://b/"])
    assert fetcher.fetched == ["https://b/", "https://a/"]


async def test_addresses_that_may_not_be_read_are_not_even_asked_for() -> None:
    web, fetcher, _ = agent({"https://good/": "Owls hear.", "https://evil/?q=secret": "Owls hear."})
    with anyio.fail_after(WAIT_S):
        found = await web.research(QUESTION, may_fetch=lambda url: url.startswith("https://good/"))
    assert fetcher.fetched == ["https://good/"]
    assert found.unread == (f"https://evil/?q=secret: {NOT_ALLOWED}",)


async def test_back_ends_that_failed_are_told_and_stages_are_heard() -> None:
    stages: list[str] = []

    async def hear(stage: str) -> None:
        stages.append(stage)

    failed = (FailedBackend(backend="other", reason="answered 429"),)
    search = TableSearch(hits("https://a/"), failed=failed)
    web = made_of(search, TableFetcher({"https://a/": "Owls hear."}))
    with anyio.fail_after(WAIT_S):
        found = await web.research("  How\n do owls hear?" + "x" * 9_000, on_stage=hear)
    assert found.failed == failed
    assert stages == ["search", "reading https://a/", "1 pages read"]
    assert len(search.queries[0]) == 400


async def test_the_parts_are_opened_at_the_first_question_and_tried_again_where_they_cannot_be() -> None:
    failures = [UsageError("TAVILY_API_KEY is not set.", hint="Set it.")]
    opened: list[Parts] = []

    async def open_parts() -> Parts:
        await anyio.lowlevel.checkpoint()
        if failures:
            raise failures.pop()
        opened.append(Parts(TableSearch(), TableFetcher({"https://a/": "Owls hear."})))
        return opened[-1]

    web = WebAgent(open_parts, lambda: ("table",))
    assert (web.backends, len(failures)) == (("table",), 1)
    with anyio.fail_after(WAIT_S):
        with pytest.raises(UsageError, match="TAVILY_API_KEY"):
            await web.fetch("https://a/")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.fetch, "https://a/")
            tasks.start_soon(web.fetch, "https://a/")
    assert len(opened) == 1
