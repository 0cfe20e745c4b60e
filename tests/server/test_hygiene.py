"""However the real server ends while a tool runs: it is gone, and no sandbox survives it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
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


def ways_to_end() -> Iterator[Any]:
    for sandbox in ("wasm", "bubblewrap"):
        for name, (number, status) in ENDS.items():
            marks = [pytest.mark.bubblewrap] if sandbox == "bubblewrap" else []
            if sandbox == "bubblewrap" and name in ("SIGTERM", "SIGINT"):
                marks.append(pytest.mark.exhaustive)
            yield pytest.param(sandbox, number, status, marks=marks, id=f"{sandbox}-{name}")


def server_environment(tmp_path: Path, sandbox: str) -> dict[str, str]:
    return environment(home=tmp_path / "home", sandbox=sandbox, allow_weak_limits="true")


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


@pytest.mark.sample(3)
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


@pytest.mark.parametrize("sandbox", ["wasm"])
async def test_no_process_survives_an_orphaned_server_whose_input_is_held_open(
    tmp_path: Path, sandbox: str
) -> None:
    host = f"""if True:
        import os, subprocess, sys
        reads, writes = os.pipe()
        holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], pass_fds=(writes,))
        server = subprocess.Popen({list(UNHURRIED)!r}, stdin=reads)
        print("pids", holder.pid, server.pid, file=sys.stderr, flush=True)
        for line in sys.stdin.buffer:
            os.write(writes, line)
    """
    await publish_spin(tmp_path / "home", sandbox)
    async with started((sys.executable, "-c", host), server_environment(tmp_path, sandbox), tmp_path) as peer:
        holder, server = map(psutil.Process, map(int, (await peer.says("pids")).split()[1:]))
        try:
            await busy_since(server.pid, await with_spinning_tool(peer))
            everything = [server, *server.children(recursive=True)]
            peer.process.kill()
            await gone(everything)
            assert holder.is_running()
        finally:
            holder.kill()


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
@pytest.mark.parametrize(
    "number",
    [pytest.param(None, marks=pytest.mark.exhaustive), signal.SIGTERM],
    ids=["end of input", "SIGTERM"],
)
async def test_no_container_survives_the_server(tmp_path: Path, number: signal.Signals | None) -> None:
    await publish_spin(tmp_path / "home", "docker")
    async with started(UNHURRIED, server_environment(tmp_path, "docker"), tmp_path) as peer:
        await with_spinning_tool(peer)
        await containers_of(peer.pid, there=True)
        await end(peer, number)
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


def test_the_clock_of_the_busiest_process_is_read() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            used = anyio.run(busy_since, psutil.Process().pid, {})
            assert used.pid == busy.pid
            assert used in processor_seconds(psutil.Process().pid)
        finally:
            busy.kill()
