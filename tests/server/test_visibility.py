"""What answers say of a tool: how this client can call it, and when its list shows it, as the client was seen to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server.lowlevel import Server

from alita_mcp.server.results import visibility
from alita_mcp.settings import Settings
from tests.server.drafts import REPEAT, VOWEL_SHARE, draft
from tests.server.following import Way, agent
from tests.server.in_memory import PATIENCE_S, Build
from tests.server.test_http import listening

pytestmark = pytest.mark.slow

AGES = 10.0 * PATIENCE_S
"""Longer than any test may take: what is waited for so long is waited for in vain."""


@asynccontextmanager
async def served(server: Server[Any], settings: Settings, transport: str) -> AsyncIterator[Server[Any] | str]:
    if transport == "memory":
        yield server
        return
    async with listening(settings, server=server) as url:
        yield url


@pytest.fixture(params=["memory", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def target(build: Build, settings: Settings, transport: str) -> AsyncIterator[Server[Any] | str]:
    async with served(build(), settings, transport) as opened:
        yield opened


@pytest.mark.sample(4)
@pytest.mark.parametrize("way", ["follows", "follows late"])
@pytest.mark.both_eras
async def test_the_answer_comes_when_a_follower_has_the_tool_in_its_list(
    target: Any, era: str, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visibility, "LISTS_WITHIN_S", AGES)
    async with agent(target, era, way) as follower:
        made = await follower.call("synthesize_tool", **VOWEL_SHARE)

        assert follower.log[:3] == ["told", "listed", "synthesize_tool"]
        assert "vowel_share" in follower.names
        assert (made["call"], made["visible"]) == ("direct", "now")
        found = await follower.call("search_capabilities", query="share of vowels in a text")
        assert found["results"][0]["call"] == "direct"
        assert found["next"] == "call vowel_share"


@pytest.mark.sample(2)
@pytest.mark.both_eras
async def test_a_client_that_never_lists_again_is_waited_for_once(
    target: Any, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with agent(target, era, "listens") as client:
        monkeypatch.setattr(visibility, "LISTS_WITHIN_S", 0.01)
        made = await client.call("synthesize_tool", **VOWEL_SHARE)
        monkeypatch.setattr(visibility, "LISTS_WITHIN_S", AGES)
        second = await client.call("synthesize_tool", **REPEAT)
        found = await client.call("search_capabilities", query="share of vowels in a text")

    assert client.log[:2] == ["told", "synthesize_tool"]
    assert "listed" not in client.log
    for answer in (made, second):
        assert (answer["call"], answer["visible"]) == ("run_tool", "after reconnect")
    assert found["results"][0]["call"] == "run_tool"
    assert found["next"] == "call vowel_share through run_tool"


async def test_every_change_of_the_list_is_in_hand_with_its_answer(
    target: Any, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visibility, "LISTS_WITHIN_S", AGES)
    async with agent(target, era, "follows") as follower:
        await follower.call("synthesize_tool", **VOWEL_SHARE)
        again = await follower.call("synthesize_tool", **VOWEL_SHARE)
        assert (again["status"], again["call"], again["visible"]) == ("exists", "direct", "now")
        follower.log.clear()
        changed = draft(code=VOWEL_SHARE["code"].replace("Share of", "The share of"), update=True)
        updated = await follower.call("synthesize_tool", **changed)
        assert (updated["status"], updated["version"]) == ("created", 2)
        assert follower.log == ["told", "listed", "synthesize_tool"]
