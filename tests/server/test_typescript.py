"""TypeScript clients, which most hosts are built on, hear of a new tool, call it natively and read a cut result."""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.settings import FixedLimits
from tests.in_process import IN_PROCESS
from tests.server.connections import SHOUT
from tests.server.node_tools import NodeTools
from tests.server.processes import ENTRY, SERVE_WITH_TOKEN, environment, started

pytestmark = pytest.mark.node

LIMIT = FixedLimits().result_characters


async def conversation(
    node_tools: NodeTools, script: str, folder: Path, server: dict[str, Any], era: str
) -> dict[str, Any]:
    task = {**server, "make": SHOUT, "call": {"text": "hello"}, "times": LIMIT, "offset": 12}
    node_tools.client("conversation.mjs")
    ran = await node_tools.run([node_tools.client(script), json.dumps(task)], folder, {"ERA": era})
    assert ran.status == 0, ran.out + ran.err
    return ran.answer


CLIENTS = {
    "v1": ("client_v1.mjs", "legacy", "2025-11-25"),
    "v2 legacy": ("client_v2.mjs", "legacy", "2025-11-25"),
    "v2 auto": ("client_v2.mjs", "auto", "2026-07-28"),
}
OFTEN = {("v1", "http"), ("v2 auto", "stdio")}
"""What `make test` runs: each protocol and each transport."""


@pytest.mark.parametrize(
    ("client", "transport"),
    [
        pytest.param(*way, marks=[] if way in OFTEN else pytest.mark.exhaustive)
        for way in product(CLIENTS, ("stdio", "http"))
    ],
)
async def test_a_typescript_client_hears_of_a_new_tool_and_calls_it(
    tmp_path: Path, node_tools: NodeTools, client: str, transport: str
) -> None:
    script, era, protocol = CLIENTS[client]
    env = environment(home=tmp_path / "home", sandbox=IN_PROCESS)
    if transport == "stdio":
        server: dict[str, Any] = {"server": {"command": sys.executable, "args": list(ENTRY[1:]), "env": env}}
        answer = await conversation(node_tools, script, tmp_path, server, era)
    else:
        async with started(SERVE_WITH_TOKEN, env, tmp_path) as peer:
            url = (await peer.says("serving MCP at")).split()[-1]
            token = (tmp_path / "home" / "http_token").read_text(encoding="ascii").strip()
            server = {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
            answer = await conversation(node_tools, script, tmp_path, server, era)
    assert answer["advertised"] is True
    assert answer["protocol"] == protocol
    assert answer["made"]["status"] == "created"
    assert SHOUT["name"] in answer["lists"][-1]
    assert answer["outputSchema"]["type"] == "object"
    assert answer["result"] == {"result": "HELLO!"}
    assert answer["cut"]["isError"] is True
    assert "structuredContent" not in answer["cut"]
    assert answer["cut"]["content"][0]["text"].startswith("The call succeeded")
    assert answer["part"].startswith("ÉÉ")
