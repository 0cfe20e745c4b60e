"""What clients of both protocol eras get of code that runs, and how the tool made of it reaches the next one."""

from __future__ import annotations

import json

import mcp_types as types
import pytest
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.clients.agents import AGENTS
from tests.clients.growing import NEED, PICTURE, PNG, STEPS, TOOL, VALUES, WITH_TOOL, growing
from tests.clients.test_agent_clients import conversation
from tests.server.in_memory import called, connected, succeeded
from tests.server.local.conftest import User
from tests.server.processes import ENTRY

pytestmark = pytest.mark.process

SHOWS_NO_PICTURES = {"opencode", "Codex CLI"}
"""Chat completions have no pictures in results of tools; Codex shows its model the structured part alone."""


@pytest.mark.parametrize("era", ["modern", pytest.param("legacy", marks=pytest.mark.exhaustive)])
async def test_code_a_picture_a_tool_in_code_and_a_tool_of_like_runs(era: str, user: User) -> None:
    program, *words = ENTRY
    server = StdioServerParameters(command=program, args=words, env=user.environment())
    async with connected(stdio_client(server), era) as client:
        picture = await called(client, "run_code", code=PICTURE)
        shown = next(block for block in picture.content if isinstance(block, types.ImageContent))
        assert shown.mime_type == "image/png"
        assert shown.data.startswith(PNG)
        converted = await succeeded(client, "run_code", code=WITH_TOOL)
        assert converted["result"] == [1.6, 42.2, 160.9]
        told = [await succeeded(client, "run_code", code=code) for code in STEPS[2:]]
        assert ["keep" in each for each in told] == [False, False, True]
        assert "different values of prices, rate" in told[-1]["keep"]
        made = await succeeded(client, "synthesize_tool", from_run=[each["run"] for each in told], name=TOOL)
        assert (made["status"], made["trust"]) == ("created", "provisional")
        assert made["tests"] == "3/3"
    async with connected(stdio_client(server), era) as later:
        found = await succeeded(later, "search_capabilities", query=NEED)
        assert found["results"][0]["name"] == TOOL
        prices, rate = VALUES[0]
        answer = await succeeded(later, "run_tool", name=TOOL, arguments={"prices": prices, "rate": rate})
        assert answer["result"] == [5.0, 10.0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", AGENTS)
async def test_agents_run_code_see_a_picture_and_keep_what_came_back(
    name: str, programs: str, user: User
) -> None:
    ran = await conversation(AGENTS[name], programs, user, growing)
    assert (ran.answer["status"], ran.answer["tool"]) == ("created", TOOL)
    picture, converted, *like = ran.seen.last.shown("run_code")
    assert "1.6" in converted
    assert "keep" in like[-1]
    assert (PNG in json.dumps(ran.seen.last.body)) == (name not in SHOWS_NO_PICTURES)
    assert "figures" in picture
