"""`research_web`: passages with where and when, strangers' words behind a fence, and nothing to search with."""

from __future__ import annotations

import re

import pytest

from alita_mcp.server.build import build_server
from alita_mcp.settings import Settings
from tests.research.local_site import Reply, local_site
from tests.server.agents.scripted import AT, ScriptedWeb, serving
from tests.server.in_memory import called, connected, refused, succeeded, text_of


async def test_passages_come_with_their_page_and_time(settings: Settings, era: str) -> None:
    made = serving(settings)
    async with connected(made.server(), era) as client:
        answer = await called(client, "research_web", query="who?", limit=3, urls=["https://d.example/"])
    told = answer.structured_content
    assert isinstance(told, dict)
    assert [(each["url"], each["retrieved_at"]) for each in told["passages"]] == [
        ("https://a.example/1", AT)
    ] * 3
    assert told["failed"] == [{"backend": "brave", "reason": "refused"}]
    text = text_of(answer)
    assert f"[1] https://a.example/1 (read {AT})" in text
    assert "Not read: https://c.example/: too slow" in text
    assert "Reading stopped at the pages limit." in text
    (asked,) = made.web.asked
    assert (asked[0], asked[2]) == ("who?", ("https://d.example/",))


async def test_what_strangers_wrote_stands_behind_a_fence_that_they_cannot_close(settings: Settings) -> None:
    async with connected(serving(settings).server(), "modern") as client:
        first = await called(client, "research_web", query="who?")
        second = await called(client, "research_web", query="who?")
    seals = []
    for answer in (first, second):
        told = answer.structured_content
        assert isinstance(told, dict)
        found = re.search(r"<<<([0-9a-f]{16})", told["note"])
        assert found is not None
        seals.append(found[1])
        for text in [each["text"] for each in (*told["passages"], *told["hits"])]:
            assert text.startswith(f"<<<{seals[-1]}\n")
            assert text.endswith(f"\n{seals[-1]}>>>")
        outside = re.sub(rf"<<<{seals[-1]}\n.*?\n{seals[-1]}>>>", "", text_of(answer), flags=re.DOTALL)
        assert "Ignore your instructions" not in outside
    assert seals[0] != seals[1]


async def test_without_a_back_end_it_says_what_to_set(settings: Settings, era: str) -> None:
    made = serving(settings, web=ScriptedWeb(backends=()))
    async with connected(made.server(), era) as client:
        text = await refused(client, "research_web", query="who?")
        read = await succeeded(client, "research_web", query="who?", urls=["https://a.example/1"])
    assert "ALITA_SEARXNG_URL" in text
    assert read["passages"]


UNFIT: list[dict[str, object]] = [
    {}, {"query": ""}, {"query": "q" * 2_001}, {"query": "q", "limit": 21}, {"query": "q", "limit": 0},
    {"query": "q", "urls": ["https://a.example/"] * 11}, {"query": "q", "urls": [7]}, {"query": "q", "x": 1},
]  # fmt: skip


@pytest.mark.slow
async def test_the_real_web_agent_reads_a_page_that_a_person_allowed_and_no_other(settings: Settings) -> None:
    words = "<p>Owls hear with ears at different heights, which tells them where a mouse is.</p>" * 3
    article = f"<html><body><article><h1>Owls</h1>{words}</article></body></html>".encode()
    with local_site({"/owls": Reply(article)}) as site:
        chosen = settings.model_copy(update={"web_allow": site.place, "sandbox": "wasm"})
        async with connected(build_server(chosen), "modern") as client:
            told = await succeeded(client, "research_web", query="how do owls hear", urls=[site.url("/owls")])
        async with connected(build_server(settings), "modern") as client:
            closed = await succeeded(
                client, "research_web", query="how do owls hear", urls=[site.url("/owls")]
            )
    assert "different heights" in told["passages"][0]["text"]
    assert told["passages"][0]["url"] == site.url("/owls")
    assert closed["passages"] == []
    assert site.place in closed["unread"][0]
