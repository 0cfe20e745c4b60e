"""Agents on the TypeScript clients: what `created` says of the new tool is what their very next request holds."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conversation import PROMPT, assert_true, http_command, seen, shouting, stdio_command
from tests.clients.model_server import model_server
from tests.in_process import IN_PROCESS
from tests.server.local.conftest import User
from tests.server.node_tools import NodeTools
from tests.server.processes import started

pytestmark = pytest.mark.node


async def answers(
    node_tools: NodeTools, script: str, folder: Path, task: dict[str, Any], era: str
) -> list[dict[str, Any]]:
    for module in ("conversation.mjs", "agent.mjs"):
        node_tools.client(module)
    env = {"ERA": era, "DOES": "./agent.mjs"}
    ran = await node_tools.run([node_tools.client(script), json.dumps(task)], folder, env)
    assert ran.status == 0, ran.out + ran.err
    given: list[dict[str, Any]] = ran.answer["answers"]  # type: ignore[assignment]
    return given


CLIENTS = {
    "v1": ("client_v1.mjs", "legacy"),
    "v2 legacy": ("client_v2.mjs", "legacy"),
    "v2 auto": ("client_v2.mjs", "auto"),
}
OFTEN = {("v1", True, "stdio"), ("v2 auto", True, "http")}
"""What `make test` runs: each protocol and each transport."""


@pytest.mark.parametrize(
    ("client", "follows", "transport"),
    [
        pytest.param(*way, marks=[] if way in OFTEN else pytest.mark.exhaustive)
        for way in product(CLIENTS, (True, False), ("stdio", "http"))
    ],
)
async def test_the_very_next_request_holds_what_the_answer_promised(
    tmp_path: Path, user: User, node_tools: NodeTools, client: str, follows: bool, transport: str
) -> None:
    script, era = CLIENTS[client]
    env = user.environment(sandbox=IN_PROCESS)
    with model_server(shouting) as (url, asked):
        task: dict[str, Any] = {"model": url, "prompt": PROMPT, "follows": follows}
        if transport == "stdio":
            command, *words = stdio_command(follows=follows)
            task["server"] = {"command": command, "args": words, "env": env}
            made, shouted = await answers(node_tools, script, tmp_path, task, era)
        else:
            async with started(http_command(follows=follows), env, tmp_path) as peer:
                task["url"] = (await peer.says("serving MCP at")).split()[-1]
                made, shouted = await answers(node_tools, script, tmp_path, task, era)
    assert_true(made, seen(asked), follows)
    assert shouted == {"result": "HELLO!"}
