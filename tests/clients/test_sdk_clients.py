"""Agents on the Python SDK's client: what `created` says of the new tool is what their very next request holds."""

from __future__ import annotations

from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from tests.clients.conversation import assert_true, http_command, seen, shouting, stdio_command
from tests.clients.model_server import model_server
from tests.clients.sdk_agent import deaf, following
from tests.in_process import IN_PROCESS
from tests.server.connections import ERAS
from tests.server.local.conftest import User
from tests.server.processes import started

pytestmark = pytest.mark.process


OFTEN = {
    *(("follower", transport, era) for transport in ("stdio", "http") for era in ERAS),
    ("non-follower", "stdio", "legacy"), ("non-follower", "http", "modern"),
    ("poller", "stdio", "modern"), ("poller", "http", "legacy"),
}  # fmt: skip
"""What `make test` runs: each kind over both transports and in both eras."""


@pytest.mark.parametrize(
    ("kind", "transport", "era"),
    [
        pytest.param(*way, marks=[] if way in OFTEN else pytest.mark.exhaustive)
        for way in product(("follower", "non-follower", "poller"), ("stdio", "http"), ERAS)
    ],
)
async def test_the_very_next_request_holds_what_the_answer_promised(
    tmp_path: Path, user: User, kind: str, transport: str, era: str
) -> None:
    env = user.environment(sandbox=IN_PROCESS)
    async with AsyncExitStack() as stack:
        url, asked = stack.enter_context(model_server(shouting))
        if transport == "stdio":
            program, *words = stdio_command(follows=kind == "follower")
            target: Any = StdioServerParameters(command=program, args=words, env=env)
        else:
            command = http_command(follows=kind == "follower")
            peer = await stack.enter_async_context(started(command, env, tmp_path))
            target = (await peer.says("serving MCP at")).split()[-1]
        opened = following(target, era) if kind == "follower" else deaf(target, era, polls=kind == "poller")
        agent = await stack.enter_async_context(opened)
        made, shouted = await agent.converse(url)
    follows = {"follower": True, "non-follower": False, "poller": None}[kind]
    assert_true(made, seen(asked), follows)
    assert shouted == {"result": "HELLO!"}
