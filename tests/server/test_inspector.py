"""The Inspector's command line lists our tools without a portability complaint and calls one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.server.connections import META_TOOLS
from tests.server.node_tools import NodeTools
from tests.server.processes import ENTRY, SERVE_HTTP, environment, started

pytestmark = pytest.mark.node


@asynccontextmanager
async def target(transport: str, folder: Path) -> AsyncIterator[list[str]]:
    """The Inspector's words for a server of ours."""
    env = environment(home=folder / "home", sandbox="wasm")
    if transport == "stdio":
        settings = [
            f"{name}={value}" for name, value in env.items() if name.startswith(("ALITA_", "PYTHONPATH"))
        ]
        yield [*ENTRY, *(word for setting in settings for word in ("-e", setting))]
        return
    async with started(SERVE_HTTP, env, folder) as peer:
        yield [(await peer.says("serving MCP at")).split()[-1], "--transport", "http"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_inspector_lists_strictly_and_calls(
    tmp_path: Path, node_tools: NodeTools, transport: str, era: str
) -> None:
    script = node_tools.package("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
    async with target(transport, tmp_path) as words:
        inspect = [script, "--cli", *words, "--protocol-era", era, "--format", "json"]
        listed = await node_tools.run([*inspect, "--method", "tools/list", "--strict"], tmp_path)
        assert listed.status == 0, listed.out + listed.err
        answer = json.loads(listed.out)
        assert "schemaFindings" not in answer
        names = [tool["name"] for tool in answer["result"]["tools"]]
        assert names[: len(META_TOOLS)] == META_TOOLS
        call = ["--method", "tools/call", "--tool-name", "search_capabilities", "--tool-arg", "query=slug"]
        called = await node_tools.run([*inspect, *call], tmp_path)
        assert called.status == 0, called.out + called.err
        assert '"fit"' in called.out
