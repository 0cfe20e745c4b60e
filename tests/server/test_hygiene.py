"""However the real server ends while a tool runs: it is gone, and no sandbox survives it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from alita_mcp.sandbox.docker.engine import OWNER_LABEL
from tests.server.connections import publish_spin
from tests.server.processes import (
    PATIENCE_S,
    UNHURRIED,
    Peer,
    busy_since,
    environment,
    gone,
    processor_seconds,
    started,
)

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]


ENDS = {
    "end of input": (None, 0), "SIGTERM": (signal.SIGTERM, 143), "SIGINT": (signal.SIGINT, 130),
    "SIGKILL": (signal.SIGKILL, -9),
}  # fmt: skip


OFTEN = {("wasm", "SIGTERM"), ("wasm", "SIGKILL"), ("bubblewrap", "end of input")}
"""What `make test` runs."""


def ways_to_end() -> Iterator[Any]:
    for sandbox, (name, (number, status)) in product(("wasm", "bubblewrap"), ENDS.items()):
        marks = [pytest.mark.bubblewrap] if sandbox == "bubblewrap" else []
        if (sandbox, name) not in OFTEN:
            marks.append(pytest.mark.exhaustive)
        yield pytest.param(sandbox, number, status, marks=marks, id=f"{sandbox}-{name}")


def server_environment(tmp_path: Path, sandbox: str) -> dict[str, str]:
    return environment(home=tmp_path / "home", sandbox=sandbox)


async def with_spinning_tool(peer: Peer) -> dict[psutil.Process, float]:
    """Calls a tool and leaves a second call of it running for ever; gives what all processes had used before."""
    await peer.initialize()
    short = await peer.request("tools/call", {"name": "spin_around", "arguments": {"turns": 4}})
    assert short["result"]["structuredContent"] == {"result": 6}, short
    before = processor_seconds(psutil.Process().pid)
    await peer.send("tools/call", {"name": "spin_around", "arguments": {"turns": 10**15}}, id=99)
    return before


async def end(peer: Peer, number: signal.Signals | None) -> None:
    if number is None:
        await peer.end_input()
    else:
        peer.process.send_signal(number)


@pytest.mark.parametrize(("sandbox", "number", "status"), [*ways_to_end()])
async def test_no_process_survives_the_server(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    sandbox: str,
    number: signal.Signals | None,
    status: int,
) -> None:
    if sandbox == "bubblewrap":
        request.getfixturevalue("bubblewrap")
    await publish_spin(tmp_path / "home", sandbox)
    async with started(UNHURRIED, server_environment(tmp_path, sandbox), tmp_path) as peer:
        await busy_since(peer.pid, await with_spinning_tool(peer))
        everything = peer.descendants()
        await end(peer, number)
        assert await peer.ended() == status
        await gone(everything)
        assert "clean-up took longer" not in peer.stderr
        assert "Traceback" not in peer.stderr


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
async def test_no_container_survives_the_server(tmp_path: Path) -> None:
    await publish_spin(tmp_path / "home", "docker")
    async with started(UNHURRIED, server_environment(tmp_path, "docker"), tmp_path) as peer:
        await with_spinning_tool(peer)
        await containers_of(peer.pid, there=True)
        peer.process.terminate()
        await peer.ended()
        await containers_of(peer.pid, there=False)
        assert "clean-up took longer" not in peer.stderr


async def containers_of(server: int, *, there: bool) -> None:
    """Waits until the engine has a container that the server process owns, or none."""
    command = [
        "docker",
        "ps",
        "--all",
        "--filter",
        f"label={OWNER_LABEL}",
        "--format",
        f'{{{{.Label "{OWNER_LABEL}"}}}}',
    ]
    with anyio.fail_after(PATIENCE_S):
        while True:
            listed = await anyio.run_process(command)
            if any(f"-{server}-" in owner for owner in listed.stdout.decode().split()) == there:
                return
            await anyio.sleep(0.1)
