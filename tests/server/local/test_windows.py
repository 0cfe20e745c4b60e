"""The shared server as on Windows, which has no sockets in folders: it listens at a port whose number a file holds."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests import simulated_platform
from tests.server.local.conftest import User
from tests.server.processes import gone, started

pytestmark = pytest.mark.process
ENTRY = (sys.executable, simulated_platform.__file__, "win32", "alita_mcp.server.transports.entry")


async def test_clients_share_a_server_at_a_port_and_survive_it(user: User, stocked: Path) -> None:
    shutil.copytree(stocked, user.home)
    env = {**user.environment(), "LOCALAPPDATA": str(user.folder)}
    async with started(ENTRY, env, user.folder) as first, started(ENTRY, env, user.folder) as second:
        for peer in (first, second):
            assert (await peer.initialize())["result"]["serverInfo"]["name"] == "alita"
            assert (await peer.request("tools/list"))["result"]["tools"]
            assert "alone" not in peer.stderr
        server = await user.server()
        folder = user.folder / "alita-mcp-shared"
        (port,) = (path for path in folder.iterdir() if path.name.isalnum() and path.name != "key")
        assert port.read_bytes().isdigit()

        port.write_bytes(b"no port \xff")
        server.kill()
        await gone([server])
        for peer in (first, second):
            assert (await peer.request("tools/list"))["result"]["tools"]
        assert port.read_bytes().isdigit()
        assert await user.server() != server
        for peer in (first, second):
            await peer.end_input()
            assert await peer.ended() == 0


async def test_without_a_folder_for_it_no_server_is_shared(user: User) -> None:
    env = {name: value for name, value in user.environment().items() if name != "LOCALAPPDATA"}
    async with started(ENTRY, env, user.folder) as peer:
        assert (await peer.initialize())["result"]["serverInfo"]["name"] == "alita"
        await peer.says("serving this client alone")
        assert not list(user.folder.glob("*%*"))
