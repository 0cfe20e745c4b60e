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
from typing import Any, Literal

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup
from filelock import BaseFileLock, FileLock, Timeout
from mcp.server.lowlevel import Server

from alita_mcp import __version__
from alita_mcp.errors import AlitaError
from alita_mcp.sandbox.wire.duplex import Polled
from alita_mcp.server.build import DualEraServer
from alita_mcp.server.client.local import LOCAL_CLIENT, LocalClient
from alita_mcp.server.transports.lines import serve_lines, split_lines
from alita_mcp.server.transports.local.endpoint import (
    HAS_UNIX_SOCKETS,
    HELLO_WITHIN_S,
    MAX_HELLO,
    MAX_QUESTION,
    STOPPING,
    Endpoint,
    Refused,
    check_peer,
    find_endpoint,
    proof,
    read_hello,
)
from alita_mcp.server.transports.local.pages import Pages
from alita_mcp.settings import Settings, absolute_home, whole_environment

BACKLOG = 128
RETRY_S = 0.2
Duplex = Polled | SocketStream

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
        self._connected: dict[LocalClient, tuple[SocketStream, Duplex]] = {}
        self._since = time.time()
        self.stop_asked = anyio.Event()
        """Somebody asked the server to end."""
        self.last_left = anyio.Event()
        """The last client has gone; another event after each time."""
        self.idle_since = anyio.current_time()
        """When the last client went or work ended, on the clock of the event loop."""
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
        try:
            address.unlink(missing_ok=True)  # of a server that was killed
            if HAS_UNIX_SOCKETS:
                listener: Any = await anyio.create_unix_listener(address, mode=0o600, backlog=BACKLOG)
            else:
                listener = await anyio.create_tcp_listener(local_host="127.0.0.1", backlog=BACKLOG)
                new = address.with_suffix(".new")
                new.write_text(str(listener.extra(SocketAttribute.local_port)), encoding="ascii")
                new.replace(address)  # nobody reads half of it
            async with anyio.create_task_group() as connections:
                async with anyio.create_task_group() as accepting:
                    accepting.start_soon(self._accept, listener, connections)
                    try:
                        yield
                    finally:
                        accepting.cancel_scope.cancel()
                        address.unlink(missing_ok=True)
                        with anyio.CancelScope(shield=True):  # the scope around it is cancelled
                            await listener.aclose()
                        lock.release()  # the next server need not wait for the end of this one
                        self._closed.set()
                for stream, duplex in list(self._connected.values()):
                    if self.stop_asked.is_set():
                        connections.start_soon(_announce_stop, duplex)  # which one may not read
                    with suppress(OSError):
                        stream.extra(SocketAttribute.raw_socket).shutdown(socket.SHUT_RD)
        finally:
            lock.release()

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

    async def _accept(self, listener: Any, connections: TaskGroup) -> None:
        while True:
            try:
                await listener.serve(self._serve_connection, connections)
            except OSError as problem:  # too many open files; those that are connected keep their server
                log.warning("cannot accept a client: %s", problem)
                await anyio.sleep(RETRY_S)

    async def _serve_connection(self, stream: SocketStream) -> None:
        """Greets one process and does what it wants; whatever it does wrong ends only its own connection."""
        async with stream:
            try:
                with anyio.fail_after(HELLO_WITHIN_S):
                    want, process, already_read = await self._greet(stream)
                if want == "mcp":
                    await self._serve_client(stream, LocalClient(process), already_read)
                elif want == "status":
                    await stream.send(json.dumps(self.describe()).encode() + b"\n")
                elif want == "stop":
                    self.stop_asked.set()
                    await self._closed.wait()  # whoever asked waits for the end of the connection
                elif want == "hook":
                    await self._answer_hook(stream, already_read)
                elif want == "events" and isinstance(self._server, DualEraServer):
                    from alita_mcp.server.transports.local.activity import send_activity

                    app = await self._server.shared.get()
                    await send_activity(stream, app.activity, self._closed)
                elif want == "ui":
                    await self._send_link(stream, already_read)
            except (Refused, OSError, TimeoutError, anyio.EndOfStream, anyio.BrokenResourceError) as problem:
                log.info("a local connection ended: %s", problem)
            except Exception:
                log.exception("a local connection ended")

    async def _greet(self, stream: SocketStream) -> tuple[str, int | None, bytes]:
        """What a process wants, its number, and what it sent since both sides know each other's user to be the same."""
        check_peer(stream.extra(SocketAttribute.raw_socket))
        line, _ = await _receive_line(stream)
        hello = read_hello(line)
        nonce = secrets.token_hex(16)
        mine = {
            "alita": "server",
            "pid": os.getpid(),
            "version": __version__,
            "proof": proof(self._endpoint.key, "server", hello["nonce"]),
            "nonce": nonce,
        }
        await stream.send(json.dumps(mine).encode() + b"\n")
        line, following = await _receive_line(stream)
        if not hmac.compare_digest(read_hello(line)["proof"], proof(self._endpoint.key, "client", nonce)):
            raise Refused("a process without the key of this user")
        process = hello.get("pid")
        return hello.get("alita", ""), process if isinstance(process, int) else None, following

    async def _answer_hook(self, stream: SocketStream, already_read: bytes) -> None:
        """Tells a client's hook about the program that it names in one line; nothing while the library is not open."""
        with anyio.fail_after(HELLO_WITHIN_S):
            line, _ = await _receive_line(stream, already_read, MAX_QUESTION)
            app = self._server.shared.current if isinstance(self._server, DualEraServer) else None
            if app is not None and app.settings.hook:
                asked = json.loads(line)
                context = await app.programs.answer_hook(asked["event"], asked["code"], asked["description"])
                await stream.send(json.dumps({"context": context}).encode() + b"\n")

    async def _send_link(self, stream: SocketStream, already_read: bytes) -> None:
        """Answers a request for the pages, one line with the `port` that they should have, with a link or a problem."""
        with anyio.fail_after(HELLO_WITHIN_S):
            line, _ = await _receive_line(stream, already_read)
        port = json.loads(line)["port"]
        answer = {"problem": "This server has no pages.", "hint": ""}
        try:
            if self._pages is not None:
                answer = {"url": await self._pages.make_link(port)}
        except AlitaError as failed:
            answer = {"problem": failed.message, "hint": failed.hint}
        await stream.send(json.dumps(answer).encode() + b"\n")

    async def _serve_client(self, stream: SocketStream, client: LocalClient, already_read: bytes) -> None:
        LOCAL_CLIENT.set(client)
        # anyio's stream over a Unix socket leaves a line half sent where its request is cancelled
        raw = stream.extra(SocketAttribute.raw_socket)
        duplex: Duplex = Polled(raw, raw) if HAS_UNIX_SOCKETS else stream
        self._connected[client] = stream, duplex

        async def chunks() -> AsyncIterator[bytes]:
            yield already_read
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while data := await duplex.receive():
                    yield data

        async def write(text: str) -> None:
            with suppress(
                OSError, anyio.BrokenResourceError, anyio.ClosedResourceError
            ):  # its end is read, too
                await duplex.send(text.encode())

        try:
            await serve_lines(self._server, split_lines(chunks()), write)
        finally:
            del self._connected[client]
            if not self._connected:
                self.idle_since = anyio.current_time()
                self.last_left.set()
                self.last_left = anyio.Event()


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
                clients = LocalClients(server, endpoint, absolute_home(settings.home), pages)
                await sharing.enter_async_context(clients.listen(lock))
        yield clients.stop_asked if clients else anyio.Event()


def memory_bytes(process: int | Literal["self"] = "self") -> int:
    """Memory of a process in bytes: its proportional share where the system tells (Linux).

    Elsewhere the maximum of this process, whichever was meant.
    """
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("Pss:"))) * 1024
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


async def _announce_stop(duplex: Duplex) -> None:
    with suppress(OSError, anyio.BusyResourceError, anyio.BrokenResourceError):
        await duplex.send(STOPPING + b"\n")


async def _receive_line(
    stream: SocketStream, received: bytes = b"", at_most: int = MAX_HELLO
) -> tuple[bytes, bytes]:
    """The next line, and what followed it; `received` was read before."""
    while b"\n" not in received:
        if len(received) > at_most:
            raise Refused("a process that does not speak as alita does")
        received += await stream.receive(at_most)
    line, _, following = received.partition(b"\n")
    return line, following
