"""What a balancer sees of a server that ends: not ready at once, no lost call, then nothing."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import httpx
import psutil
import pytest

from benchmarks.load.client import Address, Lost, connect
from tests.postgres_cluster import PostgresServer
from tests.server.connections import http_process, publish_spin
from tests.server.processes import PATIENCE_S, TINY, Peer, environment, started
from tests.server.test_http import opened_session

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]
CALLS = 20


class Holding:
    """A server of which calls are under way until they are released."""

    def __init__(self, peer: Peer, url: str, release: Path) -> None:
        self.peer = peer
        self.url = url
        self.port = int(url.split(":")[2].split("/", maxsplit=1)[0])
        self.release = release
        self.answers: list[str] = []
        self.losses: list[str] = []

    async def call(self, text: str, tool: str = "hold") -> None:
        """A call of the modern era over a connection of its own."""
        try:
            async with connect(Address(self.port)) as client:
                result = await client.call_tool(tool, {"text": text})
            self.answers.append(result["content"][0]["text"])
        except Lost as lost:
            self.losses.append(str(lost))

    async def call_in_session(self, http: httpx.AsyncClient, session: dict[str, str], number: int) -> None:
        """A call of the older era."""
        params = {"name": "hold", "arguments": {"text": str(number)}}
        call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        answer = await http.post(self.url, json=call, headers=session)
        (self.answers if f'"text":"{number}"' in answer.text else self.losses).append(str(number))

    async def are_held(self, calls: int) -> None:
        """Waits until so many calls are under way."""
        with anyio.fail_after(PATIENCE_S):
            while self.peer.stderr.count("holding") < calls:  # noqa: ASYNC110 - another process
                await anyio.sleep(0.02)

    async def ready(self) -> tuple[int, dict[str, object]]:
        async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
            answer = await http.get(self.url.replace("/mcp", "/readyz"))
            return answer.status_code, answer.json()

    async def refuses(self) -> None:
        """Waits until no connection is accepted any more."""
        with anyio.fail_after(PATIENCE_S):
            while True:
                try:
                    await (await anyio.connect_tcp("127.0.0.1", self.port)).aclose()
                except OSError:
                    return


@asynccontextmanager
async def holding(tmp_path: Path, grace_s: float, limit_s: float) -> AsyncIterator[Holding]:
    release = tmp_path / "release"
    env = environment(drain_grace_s=str(grace_s), drain_limit_s=str(limit_s)) | {"TINY_RELEASE": str(release)}
    async with started((sys.executable, str(TINY), "http"), env, tmp_path) as peer:
        url = (await peer.says("serving MCP at")).split()[-1]
        yield Holding(peer, url, release)
    assert "Traceback" not in peer.stderr


async def test_a_server_that_ends_loses_no_call_of_either_era(tmp_path: Path) -> None:
    async with holding(tmp_path, 5, PATIENCE_S) as server, httpx.AsyncClient(timeout=PATIENCE_S) as http:
        session = await opened_session(http, server.url)
        assert await server.ready() == (200, {"status": "ready"})
        async with anyio.create_task_group() as tasks:
            for number in range(CALLS // 2):
                tasks.start_soon(server.call, f"modern {number}")
                tasks.start_soon(server.call_in_session, http, session, number)
            await server.are_held(CALLS)
            server.peer.process.send_signal(signal.SIGTERM)
            await server.peer.says("draining")
            assert await server.ready() == (503, {"status": "not ready", "reasons": ["draining"]})
            await server.call("late", "echo")
            assert server.answers == ["late"]
            await server.refuses()
            assert len(server.answers) == 1
            server.release.touch()
        assert await server.peer.ended() == 143
        assert server.losses == []
        assert len(server.answers) == CALLS + 1
        assert "cleaned up" in server.peer.stderr
        assert "did not finish" not in server.peer.stderr


async def test_every_response_of_a_server_that_ends_closes_its_connection(tmp_path: Path) -> None:
    async with holding(tmp_path, PATIENCE_S, 0) as server, connect(Address(server.port)) as client:
        await client.call_tool("echo", {"text": "before"})
        assert client.is_open
        server.peer.process.send_signal(signal.SIGTERM)
        await server.peer.says("draining")
        await client.call_tool("echo", {"text": "after"})
        assert not client.is_open


async def test_a_second_signal_ends_the_drain(tmp_path: Path) -> None:
    async with holding(tmp_path, 0, PATIENCE_S) as server, anyio.create_task_group() as tasks:
        tasks.start_soon(server.call, "held")
        await server.are_held(1)
        server.peer.process.send_signal(signal.SIGTERM)
        await server.peer.says("draining")
        await server.refuses()
        assert server.peer.process.returncode is None
        server.peer.process.send_signal(signal.SIGTERM)
        assert await server.peer.ended() == 143
        tasks.cancel_scope.cancel()
    assert "cleaned up" in server.peer.stderr


async def test_a_call_that_hangs_is_told_when_the_limit_is_over(tmp_path: Path) -> None:
    async with holding(tmp_path, 0, 0.5) as server, httpx.AsyncClient(timeout=PATIENCE_S) as http:
        session = await opened_session(http, server.url)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.call_in_session, http, session, 1)
            await server.are_held(1)
            server.peer.process.send_signal(signal.SIGTERM)
            assert await server.peer.ended() == 143
        assert server.losses == ["1"]
    assert "Calls or jobs did not finish within 0.5 s" in server.peer.stderr
    assert "cleaned up" in server.peer.stderr


async def test_calls_of_tools_in_a_sandbox_finish(tmp_path: Path) -> None:
    await publish_spin(tmp_path / "home")
    async with http_process(tmp_path / "home", drain_limit_s=str(PATIENCE_S)) as (url, peer):
        address = Address(int(url.split(":")[2].split("/", maxsplit=1)[0]))
        answers: list[int] = []
        first = anyio.Event()

        async def call() -> None:
            async with connect(address) as client:
                called = await client.call_tool("spin_around", {"turns": 200_000})
            answers.append(called["structuredContent"]["result"])
            first.set()

        async with anyio.create_task_group() as tasks:
            for _ in range(CALLS):
                tasks.start_soon(call)
            await first.wait()
            peer.process.send_signal(signal.SIGTERM)
            await peer.says("draining")
            assert len(answers) < CALLS
        assert await peer.ended() == 143
        assert "Traceback" not in peer.stderr
        assert answers == [sum(range(200_000)) % 1_000_003] * CALLS


async def test_a_server_is_ready_once_its_sandbox_runs(tmp_path: Path) -> None:
    async with http_process(tmp_path / "home", token="correct horse battery staple") as (url, _peer):
        await has_readiness(url, {"status": "ready"})


async def test_a_server_whose_sandbox_cannot_run_is_not_ready(tmp_path: Path) -> None:
    async with http_process(tmp_path / "home", sandbox="no_such_module:Sandbox") as (url, peer):
        await has_readiness(url, {"status": "not ready", "reasons": ["sandbox"]})
        await peer.says("not ready: The sandbox 'no_such_module:Sandbox' does not work here")
        await has_readiness(url, {"status": "not ready", "reasons": ["sandbox"]})


@pytest.mark.postgres
@pytest.mark.extra("team")
async def test_a_server_whose_database_is_away_is_not_ready_until_it_is_back(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    away = {"status": "not ready", "reasons": ["database"]}
    async with http_process(tmp_path / "home", library=postgres_url) as (url, peer):
        await has_readiness(url, {"status": "ready"})
        # 1. It was killed; a balancer may leave that to the calls.
        await anyio.to_thread.run_sync(postgres_server.stop, "immediate")
        try:
            await has_readiness(url, away)
            await has_readiness(f"{url}?exclude=database", {"status": "ready"})
        finally:
            await anyio.to_thread.run_sync(postgres_server.start)
        await has_readiness(url, {"status": "ready"})
        # 2. It hangs: connections stay, and nobody answers.
        processes = [psutil.Process(postgres_server.pid), *psutil.Process(postgres_server.pid).children()]
        for process in processes:
            process.suspend()
        try:
            await has_readiness(url, away)
        finally:
            for process in processes:
                process.resume()
        await has_readiness(url, {"status": "ready"})
        assert "cannot be reached" in peer.stderr


async def has_readiness(url: str, expected: dict[str, object]) -> None:
    """Waits until `/readyz` says what is expected."""
    with anyio.fail_after(PATIENCE_S):
        async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
            while True:
                answer = await http.get(url.replace("/mcp", "/readyz"))
                assert answer.status_code == (200 if answer.json()["status"] == "ready" else 503)
                if answer.json() == expected:
                    return
                await anyio.sleep(0.05)
