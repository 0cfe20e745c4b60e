"""Clients of the shared server: processes of the same user, each with a connection of its own."""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NoReturn

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup
from filelock import BaseFileLock, FileLock, Timeout
from mcp.server.lowlevel import Server

from alita_mcp import __version__
from alita_mcp.errors import AlitaError
from alita_mcp.sandbox.wire.duplex import Polled
from alita_mcp.server.build import DualEraServer
from alita_mcp.server.client.local import LOCAL_CLIENT, LocalClient
from alita_mcp.server.transports.lines import serve_lines
from alita_mcp.server.transports.local.endpoint import (
    FAMILY,
    HAS_UNIX_SOCKETS,
    HELLO_WITHIN_S,
    MAX_HELLO,
    MAX_QUESTION,
    Endpoint,
    Refused,
    check_peer,
    find_endpoint,
    program_stamp,
    proof,
    read_hello,
)
from alita_mcp.server.transports.local.pages import Pages
from alita_mcp.server.transports.shutdown import start_exit_timer, wait_for_signal
from alita_mcp.server.transports.startup import run_server
from alita_mcp.settings import Settings, absolute_home, whole_environment

IDLE_S = 600.0
"""How long a server stays without clients and work."""
LOOK_EVERY_S = 1.0
"""How often a server looks whether it is time to end."""
BACKLOG = 128
RETRY_S = 0.2

log = logging.getLogger(__name__)


class LocalClients:
    """The clients that are connected to one server."""

    def __init__(
        self, server: Server[Any], endpoint: Endpoint, home: Path, pages: Pages | None = None
    ) -> None:
        self._server = server
        self._endpoint = endpoint
        self._home = home
        self._pages = pages
        self._connected: dict[LocalClient, socket.socket] = {}
        self._since = time.time()
        self.stop_asked = anyio.Event()
        """Somebody asked the server to end."""
        self.idle_since = anyio.current_time()
        """When clients or work were there last, on the clock of the event loop."""
        self._closed = anyio.Event()
        """Nobody is accepted any more."""

    @property
    def is_empty(self) -> bool:
        """Whether none is connected, and no page is open in a browser."""
        return not (self._connected or (self._pages and self._pages.open))

    @asynccontextmanager
    async def listen(self, lock: BaseFileLock) -> AsyncIterator[None]:
        """Accepts clients while the block runs; in the end each one's requests get the answers that they still can.

        `lock` is the endpoint's, held; it is released when no client is accepted any more.
        """
        address = self._endpoint.address
        address.unlink(missing_ok=True)  # of a server that was killed
        listener = socket.socket(FAMILY)
        listener.bind(str(address) if HAS_UNIX_SOCKETS else ("127.0.0.1", 0))
        listener.listen(BACKLOG)
        listener.setblocking(False)
        if HAS_UNIX_SOCKETS:
            address.chmod(0o600)
        else:
            address.write_text(str(listener.getsockname()[1]), encoding="ascii")
        async with anyio.create_task_group() as connections:
            async with anyio.create_task_group() as accepting:
                accepting.start_soon(self._accept, listener, connections)
                try:
                    yield
                finally:
                    accepting.cancel_scope.cancel()
                    address.unlink(missing_ok=True)
                    anyio.notify_closing(listener)
                    listener.close()
                    lock.release()  # the next server need not wait for the end of this one
                    self._closed.set()
            for raw in list(self._connected.values()):
                with suppress(OSError):
                    raw.shutdown(socket.SHUT_RD)

    def describe(self) -> dict[str, Any]:
        """What a person is told: process, version, home, since when, memory in bytes, clients and open pages."""
        return {
            "pid": os.getpid(),
            "version": __version__,
            "home": str(self._home),
            "since": self._since,
            "memory_bytes": memory_bytes(),
            "clients": [
                {"name": client.label, "pid": client.process, "since": client.since}
                for client in self._connected
            ],
            "pages": {"address": self._pages.address, "open": self._pages.open} if self._pages else None,
        }

    async def _accept(self, listener: socket.socket, connections: TaskGroup) -> None:
        while True:
            await anyio.wait_readable(listener)
            try:
                connections.start_soon(self._serve_connection, listener.accept()[0])
            except BlockingIOError:  # who connected is gone
                continue
            except OSError as problem:  # too many open files; those that are connected keep their server
                log.warning("cannot accept a client: %s", problem)
                await anyio.sleep(RETRY_S)

    async def _serve_connection(self, raw: socket.socket) -> None:
        """Greets one process and does what it wants; whatever it does wrong ends only its own connection."""
        link = Polled(raw, raw)
        try:
            with anyio.fail_after(HELLO_WITHIN_S):
                check_peer(raw)
                hello, question, already_read = await self._greet(link)
            if hello["alita"] == "mcp":
                process = hello.get("pid")
                client = LocalClient(process if isinstance(process, int) else None)
                LOCAL_CLIENT.set(client)
                self._connected[client] = raw
                try:
                    await serve_lines(self._server, link, already_read)
                finally:
                    del self._connected[client]
                    self.idle_since = anyio.current_time()  # it may have come and gone between two looks
            elif hello["alita"] == "events" and isinstance(self._server, DualEraServer):
                from alita_mcp.server.transports.local.activity import send_activity

                app = await self._server.shared.get()
                await send_activity(link, app.activity, self._closed)
            elif answer := await self._answer(hello["alita"], question):
                await link.send(json.dumps(answer).encode() + b"\n")
        except (Refused, OSError) as problem:
            log.info("a local connection ended: %s", problem)
        except Exception:
            log.exception("a local connection ended")
        finally:
            link.close()

    async def _greet(self, link: Polled) -> tuple[dict[str, Any], dict[str, Any], bytes]:
        """The two lines of whoever connects, once both sides know that the other one is this user's; what follows."""
        line, _ = await _receive_line(link, MAX_HELLO)
        hello = read_hello(line)
        nonce = secrets.token_hex(16)
        mine = {
            "alita": "server",
            "proof": proof(self._endpoint.key, "server", hello["nonce"]),
            "nonce": nonce,
        }
        await link.send(json.dumps(mine).encode() + b"\n")
        line, following = await _receive_line(link, MAX_QUESTION)
        question = read_hello(line)
        if not hmac.compare_digest(question["proof"], proof(self._endpoint.key, "client", nonce)):
            raise Refused("a process without the key of this user")
        return hello, question, following

    async def _answer(self, want: str, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question or an order; nothing where the end of the connection is the answer."""
        if want == "status":
            return self.describe()
        if want == "stop":
            self.stop_asked.set()
            await self._closed.wait()
        app = self._server.shared.current if isinstance(self._server, DualEraServer) else None
        if want == "hook" and app is not None and app.settings.hook:
            asked = (question["event"], question["code"], question["description"])
            return {"context": await app.programs.answer_hook(*asked)}
        if want == "ui" and self._pages is not None:
            try:
                return {"url": await self._pages.make_link(question["port"])}
            except AlitaError as failed:
                return {"problem": failed.message, "hint": failed.hint}
        return {}


def serve_clients(endpoint: Endpoint, lock: BaseFileLock) -> NoReturn:
    """Serves at an endpoint, whose lock is held, until there is nothing to do or it is told to end."""

    async def serve(server: DualEraServer, settings: Settings) -> int:
        pages = Pages(server.shared, settings)
        clients = LocalClients(server, endpoint, absolute_home(settings.home), pages)
        async with server.shared.lifespan(server), pages.run(), clients.listen(lock):
            status = await wait_for_end(server, clients)
            start_exit_timer(status)
        return status

    run_server(serve)


async def wait_for_end(
    server: DualEraServer,
    clients: LocalClients,
    *,
    idle_s: float = IDLE_S,
    look_every_s: float = LOOK_EVERY_S,
) -> int:
    """Waits until the server has nothing to do any more, or is told to end; returns the exit status."""

    def read_stamp() -> str:
        try:
            return program_stamp()
        except OSError:  # uninstalled
            return ""

    status = 0

    async with anyio.create_task_group() as waiting:

        async def end_on_signal() -> None:
            nonlocal status
            status = await wait_for_signal()
            clients.stop_asked.set()

        waiting.start_soon(end_on_signal)
        stamp = await to_thread.run_sync(read_stamp)  # while the first client is served
        while not clients.stop_asked.is_set():
            with anyio.move_on_after(look_every_s):
                await clients.stop_asked.wait()
            stamp_now = await to_thread.run_sync(read_stamp) if clients.is_empty else stamp
            app, now = server.shared.current, anyio.current_time()
            if not clients.is_empty or (app is not None and app.jobs.is_busy):
                clients.idle_since = now
            elif now - clients.idle_since >= idle_s or stamp_now != stamp:
                break
        waiting.cancel_scope.cancel()
    return status


@asynccontextmanager
async def share_server(
    server: Server[Any], settings: Settings, pages: Pages | None = None
) -> AsyncIterator[anyio.Event]:
    """Lets local clients share a server that runs anyway, unless they have one already; the event: it shall stop."""
    async with AsyncExitStack() as sharing:
        clients = None
        with suppress(OSError, Refused, Timeout):
            if settings.shared:
                endpoint = find_endpoint(whole_environment(), str(Path.cwd()))
                lock = FileLock(f"{endpoint.address}.lock", mode=0o600)
                lock.acquire(timeout=0)
                sharing.callback(lock.release)
                clients = LocalClients(server, endpoint, absolute_home(settings.home), pages)
                await sharing.enter_async_context(clients.listen(lock))
        yield clients.stop_asked if clients else anyio.Event()


def memory_bytes(process: int | Literal["self"] = "self") -> int:
    """Proportional share of a process in memory on Linux; elsewhere the maximum of this one, on Windows 0."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("Pss:"))) * 1024
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


async def _receive_line(link: Polled, at_most: int) -> tuple[bytes, bytes]:
    """The next line, and what followed it."""
    received = b""
    while b"\n" not in received:
        chunk = b"" if len(received) > at_most else await link.receive()
        if not chunk:
            raise Refused("a process that does not speak as alita does")
        received += chunk
    line, _, following = received.partition(b"\n")
    return line, following
