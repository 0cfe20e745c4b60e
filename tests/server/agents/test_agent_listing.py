"""When clients see the agents' tools, and what the two definitions cost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alita_mcp.server.agents.definitions import AGENT_DEFINITIONS, AGENT_TOOLS, agent_tools_to_list
from alita_mcp.settings import ModelChoice, Settings
from alita_mcp.values import META_TOOLS
from tests.server.agents.scripted import serving
from tests.server.in_memory import connected, names_of, succeeded
from tests.server.test_definitions import wire, word_pieces
from tests.tables import each_case

CONFIGURED: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"model": "openai/x"}, AGENT_TOOLS),
    ({"model_planner": ModelChoice(name="openai/x")}, AGENT_TOOLS),
    ({"search": "github"}, ("research_web",)),
    ({"searxng_url": "http://127.0.0.1:9"}, ("research_web",)),
]


@each_case("said, listed", CONFIGURED)
def test_a_model_lists_both_and_a_search_back_end_the_second(
    settings: Settings, said: dict[str, Any], listed: tuple[str, ...]
) -> None:
    assert agent_tools_to_list(settings.model_copy(update=said)) == listed


def test_nothing_configured_lists_none(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "what many shells have set for other programs")
    assert not agent_tools_to_list(settings)
    assert not agent_tools_to_list(settings.model_copy(update={"search": " , "}))


async def test_they_stand_after_the_fixed_tools_for_every_client(settings: Settings, era: str) -> None:
    async with connected(serving(settings, settings_search="github").server(), era) as client:
        assert (await names_of(client))[:6] == [*META_TOOLS, "research_web"]


async def test_unlisted_they_answer_all_the_same(settings: Settings, era: str) -> None:
    async with connected(serving(settings).server(), era) as client:
        assert not {*AGENT_TOOLS} & {*await names_of(client)}
        assert (await succeeded(client, "solve_task", task="t"))["answer"] == "T"


def test_both_definitions_take_at_most_350_tokens() -> None:
    texts = [wire(tool) for tool in AGENT_DEFINITIONS]
    assert sum(map(len, texts)) / 4 <= 350
    assert sum(map(word_pieces, texts)) <= 430  # finds 30 % more than the tokenizers below
    assert all(json.loads(text)["inputSchema"]["additionalProperties"] is False for text in texts)
