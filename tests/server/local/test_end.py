"""When the shared server ends by itself: without clients and work, and after a change of the program."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
import pytest
from filelock import FileLock

from alita_mcp.server.build import build_server
from alita_mcp.server.transports.local import clients, endpoint
from alita_mcp.server.transports.local.clients import IDLE_S, LocalClients, wait_for_end
from alita_mcp.settings import Settings
from tests.server.local.conftest import User
from tests.server.processes import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX sockets")


class Watched:
    """What `wait_for_end` sees of a server: whether it has work; counts the looks."""

    def __init__(self) -> None:
        self.has_work = False
        self.looks = 0
        self.shared = self

    @property
    def current(self) -> Any:
        self.looks += 1
        return SimpleNamespace(jobs=SimpleNamespace(is_busy=self.has_work))


class Ending:
    """A server in this process that ends by itself."""

    def __init__(self, user: User) -> None:
        self._endpoint = user.endpoint()
        self.pages: Any = SimpleNamespace(open=0, address="127.0.0.1:8764")
        server = build_server(Settings(home=user.home))
        self.clients = LocalClients(server, self._endpoint, user.home, self.pages)
        self.server = Watched()
        self.has_ended = False

    async def run(self, idle_s: float, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        server: Any = self.server
        with FileLock(f"{self._endpoint.address}.lock") as lock:
            async with self.clients.listen(lock):
                task_status.started()
                status = await wait_for_end(server, self.clients, idle_s=idle_s, look_every_s=0.001)
                self.has_ended = True
        assert status == 0

    async def stays(self) -> None:
        """Waits until it has looked a few times more without a reason to end."""
        enough = self.server.looks + 5
        while self.server.looks < enough:
            assert not self.has_ended
            await anyio.sleep(0.001)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[None]:
        """A client that is connected while the block runs."""
        others = len(self.clients.describe()["clients"])
        connection = await anyio.to_thread.run_sync(endpoint.connect, self._endpoint, "mcp")
        with connection:
            await self._has_clients(others + 1)
            yield
        await self._has_clients(others)

    async def _has_clients(self, number: int) -> None:
        while len(self.clients.describe()["clients"]) != number:  # noqa: ASYNC110 - nothing tells
            await anyio.sleep(0.001)


@asynccontextmanager
async def ending(user: User, idle_s: float, *, has_work: bool = False) -> AsyncIterator[Ending]:
    """A server that has to end by what the block does."""
    server = Ending(user)
    server.server.has_work = has_work
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as running:
            await running.start(server.run, idle_s)
            yield server
    assert server.has_ended


@pytest.fixture
def stamps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stamps of the program as it was installed; the last one counts, and with none it is not installed any more."""
    known = ["old"]

    def stamp() -> str:
        if not known:
            raise FileNotFoundError("pyproject.toml")
        return known[-1]

    monkeypatch.setattr(clients, "program_stamp", stamp)
    return known


async def test_a_server_ends_without_clients_and_work_and_not_before(user: User) -> None:
    async with ending(user, 0, has_work=True) as server:
        await server.stays()
        async with server.client():
            server.server.has_work = False
            await server.stays()


async def test_a_server_that_is_asked_to_stop_ends_its_connections_and_itself(user: User) -> None:
    async with ending(user, IDLE_S) as server, server.client():
        connection = await anyio.to_thread.run_sync(endpoint.connect, user.endpoint(), "stop")
        with connection:
            assert await anyio.to_thread.run_sync(connection.recv, 1) == b""


async def test_a_server_does_not_end_under_an_open_page(user: User) -> None:
    async with ending(user, 0, has_work=True) as server:
        server.pages.open = 1
        server.server.has_work = False
        await server.stays()
        assert server.clients.describe()["pages"] == {"address": "127.0.0.1:8764", "open": 1}
        server.pages.open = 0


async def test_idle_time_begins_when_the_last_client_has_gone_and_the_last_work_is_done(user: User) -> None:
    async with ending(user, IDLE_S, has_work=True) as server:
        server.clients.idle_since -= 2 * IDLE_S
        await server.stays()
        server.server.has_work = False
        await server.stays()
        async with server.client():
            server.clients.idle_since -= 2 * IDLE_S
        await server.stays()
        server.clients.idle_since -= 2 * IDLE_S


async def test_an_upgraded_server_ends_at_once_when_its_last_client_goes(
    user: User, stamps: list[str]
) -> None:
    async with ending(user, IDLE_S) as server, server.client():
        async with server.client():
            stamps.append("new")
        assert not server.has_ended


@pytest.mark.parametrize("after", [["old", "new"], []], ids=["an upgrade", "a removal"])
async def test_after_a_change_of_the_program_a_server_without_clients_only_ends_its_work(
    user: User, stamps: list[str], after: list[str]
) -> None:
    async with ending(user, IDLE_S) as server:
        async with server.client():
            await server.stays()
        await server.stays()
        server.server.has_work = True
        await server.stays()
        stamps[:] = after
        await server.stays()
        server.server.has_work = False
