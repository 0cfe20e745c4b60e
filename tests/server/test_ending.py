"""A signal at a bad moment: the server ends in time, and leaves no private file."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import httpx
import pytest

from benchmarks.load.client import Address, Lost, connect
from tests.models.openai_server import Transcript, openai_server
from tests.server.processes import PATIENCE_S, SERVE_HTTP, TINY, Peer, environment, started

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]
Moment = Callable[[Path, Transcript], bool]
MOMENTS: dict[str, Moment] = {
    "at once": lambda _folder, _asked: True,
    "the task has a folder": lambda folder, _asked: any(folder.iterdir()),
    "the model is asked": lambda _folder, asked: bool(asked.requests),
}
"""When the signal comes, by what is in the folder for temporary files and what the model was asked."""


@asynccontextmanager
async def asked_server(tmp_path: Path) -> AsyncIterator[tuple[Peer, str, Path, Transcript]]:
    """A server whose model never answers, where it listens, and its own folder for temporary files."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    with openai_server(None, None, None, None) as (model, asked):
        settings = environment(
            home=tmp_path / "home",
            model="openai/scripted",
            model_base_url=model,
            sandbox="wasm",
            embedder="none",
            drain_limit_s="0",
        )
        env = {**settings, "OPENAI_API_KEY": "sk-of-a-test-only", "TMPDIR": str(folder)}
        async with started(SERVE_HTTP, env, tmp_path) as peer:
            url = (await peer.says("serving MCP at")).split()[-1].removesuffix("/mcp")
            yield peer, url, folder, asked


@pytest.mark.extra("models")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.sample(4)
async def test_no_private_file_of_a_task_outlives_a_signal(
    tmp_path: Path, moment: Moment, number: signal.Signals
) -> None:
    async with asked_server(tmp_path) as (peer, url, folder, asked), anyio.create_task_group() as tasks:
        tasks.start_soon(post_task, url)
        with anyio.fail_after(PATIENCE_S):
            while not moment(folder, asked):  # noqa: ASYNC110 - another process: nothing tells
                await anyio.sleep(0.002)
        peer.process.send_signal(number)
        status = await peer.ended()
        tasks.cancel_scope.cancel()
        if number == signal.SIGTERM:
            assert status == 143
            assert "Traceback" not in peer.stderr
        else:  # the next process sweeps
            command = (sys.executable, "-m", "alita_mcp.cli.main", "list")
            env = environment(home=tmp_path / "home", embedder="none") | {"TMPDIR": str(folder)}
            async with started(command, env, tmp_path) as later:
                assert await later.ended() == 0
        assert list(folder.rglob("*")) == []


async def post_task(url: str) -> None:
    """Sends a task; the server may end before it answers."""
    async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
        with suppress(httpx.HTTPError):
            await http.post(f"{url}/api/tasks", json={"task": "Count."})


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_time_to_end_runs_though_the_event_loop_is_blocked(tmp_path: Path, transport: str) -> None:
    env = environment(drain_limit_s="0") | {"TINY_SLOW_CLEANUP": "1"}
    command = (sys.executable, str(TINY), transport)
    async with started(command, env, tmp_path) as peer, anyio.create_task_group() as tasks:
        if transport == "stdio":
            await peer.initialize()
            await peer.send("tools/call", {"name": "block"}, id=99)
        else:
            url = (await peer.says("serving MCP at")).split()[-1]
            tasks.start_soon(call_blocking, url)
        await peer.says("blocking")
        peer.process.send_signal(signal.SIGTERM)
        assert await peer.ended() == 143
        assert "clean-up took longer" in peer.stderr
        tasks.cancel_scope.cancel()


async def call_blocking(url: str) -> None:
    """Calls a tool that blocks the server, which ends before it answers."""
    with suppress(Lost):
        async with connect(Address(int(url.split(":")[2].split("/", maxsplit=1)[0]))) as client:
            await client.call_tool("block", {})
