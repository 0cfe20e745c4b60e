"""A tool that another process published a moment ago: the next call of it by name, in this process, finds it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.in_process import IN_PROCESS
from tests.server.processes import ENTRY, Peer, environment, started

pytestmark = pytest.mark.process

PUBLISH = """
import sys, anyio
from pathlib import Path
from alita_mcp.settings import Settings
from alita_mcp.library.opening import open_library
from tests.app.conftest import adder

async def publish(home: Path) -> None:
    async with open_library(Settings(home=home)) as library:
        for line in sys.stdin:
            made = adder(line.strip())
            report = made.report.model_copy(update={"sandbox": "wasm"})
            await library.publish(made.model_copy(update={"report": report}), expected_version=0)
            print('{"jsonrpc": "2.0", "method": "published"}', flush=True)

anyio.run(publish, Path(sys.argv[1]))
"""
"""Publishes a tool for each name that it is told, and says so as soon as it is done."""


async def missed(peer: Peer, home: Path, rounds: int) -> list[str]:
    """Names of the tools that the server at `peer` did not find right after another process had published them."""
    lost = []
    async with started((sys.executable, "-c", PUBLISH, str(home)), environment(), home.parent) as other:
        for number in range(rounds):
            name = f"adder_{number:04}"
            await other.write(f"{name}\n".encode())
            assert (await other.message())["method"] == "published"
            call = {"name": name, "arguments": {"a": number, "b": 1}}
            answer = (await peer.request("tools/call", call))["result"]
            if answer.get("structuredContent") != {"result": number + 1}:
                lost.append(f"{name}: {answer['content'][0]['text']}")
    return lost


async def test_a_tool_made_elsewhere_is_found_by_the_next_call(tmp_path: Path, stocked: Path) -> None:
    home = shutil.copytree(stocked, tmp_path / "home")
    async with started(ENTRY, environment(home=home, sandbox=IN_PROCESS), tmp_path) as peer:
        await peer.initialize()
        await peer.request("tools/list")
        assert await missed(peer, home, rounds=20) == []
