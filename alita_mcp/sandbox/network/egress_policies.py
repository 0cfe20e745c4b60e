"""Egress policies: a builder's list of hosts, the hosts granted to a tool within its budget of bytes, or none."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import anyio
from anyio.abc import ByteStream, SocketAttribute

from alita_mcp.sandbox.interface import MAX_TARGET, BrokerEvent, EgressRefused
from alita_mcp.sandbox.network.host_patterns import read_pattern
from alita_mcp.sandbox.network.public_addresses import NotPublic, Resolve, addresses_of, public_addresses
from alita_mcp.values import Limits

CONNECT_SECONDS = 20.0
_T = TypeVar("_T")
_V = TypeVar("_V")
_QUICK_ACK = getattr(socket, "TCP_QUICKACK", 0)
REUSE_SECONDS = 1.0
"""How long a connection waits for another request: shorter than servers keep one, so that none is cut under way."""
MAX_IDLE = 32
"""So many connections of one call wait at once: as many as a program inside can have open."""


class AllowList:
    """Egress policy of exactly these `host:port`, at any address: for builders, whose hosts a person set."""

    def __init__(self, hosts: Iterable[str], max_bytes: int = sys.maxsize) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._budget = ByteBudget(max_bytes)

    async def open(self, host: str, port: int) -> ByteStream:
        """Opens a connection to a host on the list; see the interface."""
        if f"{host}:{port}" not in self._hosts:
            raise EgressRefused(403, f"{host}:{port} is not on the allow-list")
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                return MeteredStream(await connect(host, port), self._budget)
        except (OSError, TimeoutError) as problem:
            raise EgressRefused(502, f"{host}:{port} cannot be reached: {problem}") from problem


class ByteBudget:
    """Budget of the bytes that all connections of one call may move, both ways together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    @property
    def limit_message(self) -> str:
        """Message for the tool's author once nothing is left; empty before."""
        return f"more than {self._limit} bytes over the network (network_bytes)" if self._left < 0 else ""

    def spend(self, count: int) -> None:
        """Takes bytes out of the budget.

        Raises:
            EgressRefused: there are not so many left.
        """
        self._left -= count
        if self.limit_message:
            raise EgressRefused(403, self.limit_message)


async def connect(host: str, port: int) -> socket.socket:
    """A connection; an address needs no resolver. OSError where there is none."""
    stream = await anyio.connect_tcp(host, port)
    with anyio.CancelScope(shield=True):
        async with stream:
            connection: socket.socket = stream.extra(SocketAttribute.raw_socket).dup()  # noqa: S610 - not Django's
    return connection


class MeteredStream(ByteStream):
    """Connection whose bytes are taken out of a budget; `on_close` gets the moved bytes once.

    It reads and writes at once where the kernel allows, without a turn of the event loop. Between two requests it is
    one of `idle`, from which the policy that opened it, and no other, takes it again.
    """

    def __init__(
        self,
        connection: socket.socket,
        budget: ByteBudget,
        on_close: Callable[[MeteredStream], None] = lambda _: None,
        place: tuple[str, int] = ("", 0),
        idle: list[MeteredStream] | None = None,
        *,
        is_reused: bool = False,
    ) -> None:
        self.place = place
        """Host and port."""
        self.is_reused = is_reused
        """It has carried another request before."""
        self.bytes_out = 0
        self.bytes_in = 0
        self._socket = connection
        self._budget = budget
        self._on_close = on_close
        self._open = True
        self._idle = idle
        self._taken = anyio.Event()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """The next bytes; EgressRefused when they are more than the budget allows."""
        if not (data := await self._when_ready(anyio.wait_readable, self._receive_now, max_bytes)):
            raise anyio.EndOfStream
        self.bytes_in += len(data)
        self._budget.spend(len(data))
        return data

    async def send(self, item: bytes) -> None:
        """Sends bytes; EgressRefused before any of them is sent when they are more than the budget allows."""
        self._budget.spend(len(item))
        self.bytes_out += len(item)
        view = memoryview(item)
        while view:
            view = view[await self._when_ready(anyio.wait_writable, self._socket.send, view) :]

    async def send_eof(self) -> None:
        """Says that nothing more follows."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """Closes the connection at once; one that was taken is another's to close."""
        self._note_close()
        if not self._taken.is_set() and self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()

    async def wait_for_reuse(self) -> None:
        """Waits a moment for another request to take the connection."""
        self._note_close()
        if self._idle is None or len(self._idle) >= MAX_IDLE:
            return
        self._idle.append(self)
        try:
            with anyio.move_on_after(REUSE_SECONDS):
                await self._taken.wait()
        finally:
            if self in self._idle:
                self._idle.remove(self)

    def take(self) -> socket.socket | None:
        """Takes the connection from those that wait; None where the server has sent something since, or its end."""
        with suppress(OSError):
            try:
                self._socket.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                if self._idle is not None:
                    self._idle.remove(self)
                self._taken.set()
                return self._socket
        return None

    def _receive_now(self, max_bytes: int) -> bytes:
        if _QUICK_ACK:
            # a server that writes a response in pieces waits for each to be acknowledged, which takes 40 ms otherwise
            self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
        return self._socket.recv(max_bytes)

    async def _when_ready(
        self, ready: Callable[[socket.socket], Awaitable[None]], step: Callable[[_T], _V], what: _T
    ) -> _V:
        while True:
            try:
                return step(what)
            except BlockingIOError:
                await ready(self._socket)
            except OSError as broken:
                raise anyio.BrokenResourceError from broken

    def _note_close(self) -> None:
        if self._open:
            self._open = False
            self._on_close(self)


class GrantedHosts:
    """Egress policy of one call: its granted hosts, at public addresses only, within its budget.

    A name is resolved here, every address that it has is checked, and the connection goes to a checked address, so
    a name that changes its mind in between reaches nothing. `reachable` are addresses allowed though not public.
    """

    def __init__(
        self,
        granted: Iterable[str],
        limits: Limits,
        *,
        record: Callable[[BrokerEvent], None],
        resolve: Resolve | None = None,
        reachable: frozenset[str] = frozenset(),
    ) -> None:
        """Reads the grants.

        Raises:
            UsageError: one of them is not a host that can be granted.
        """
        self.budget = ByteBudget(limits.network_bytes)
        self._patterns = tuple(read_pattern(text) for text in granted)
        self._record = record
        self._resolve = resolve or addresses_of
        self._reachable = reachable
        self._idle: list[MeteredStream] = []

    async def open(self, host: str, port: int) -> ByteStream:
        """Opens a connection to a granted host; see the interface."""
        started = time.monotonic()
        try:
            if not any(pattern.covers(host, port) for pattern in self._patterns):
                raise EgressRefused(403, not_granted(host, port))  # noqa: TRY301 - noted below as any refusal
            self.budget.spend(0)  # refuses when an earlier connection spent it all
            idle = [stream for stream in self._idle if stream.place == (host, port)]
            kept = idle[-1].take() if idle else None
            connection = kept or await self._connect(host, port)
        except BaseException as problem:
            is_refused = isinstance(problem, EgressRefused) and problem.status == 403
            self._note(host, port, "refused" if is_refused else "failed", started)
            raise
        return MeteredStream(
            connection,
            self.budget,
            lambda moved: self._note(host, port, "ok", started, moved),
            (host, port),
            self._idle,
            is_reused=kept is not None,
        )

    async def _connect(self, host: str, port: int) -> socket.socket:
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                try:
                    addresses = await public_addresses(host, port, self._resolve, self._reachable)
                except OSError as unknown:
                    raise EgressRefused(502, f"{host} does not resolve") from unknown
                except NotPublic as private:
                    address, problem = next(iter(private.problems.items()))
                    raise EgressRefused(403, f"{host} is at {address}, {problem}") from private
                for address in addresses:
                    with suppress(OSError):
                        return await connect(address, port)  # an address: no name is resolved here
        except TimeoutError:
            raise EgressRefused(504, f"{host}:{port} did not answer within {CONNECT_SECONDS:g} s") from None
        raise EgressRefused(502, f"{host}:{port} cannot be reached")

    def _note(
        self, host: str, port: int, status: str, started: float, moved: MeteredStream | None = None
    ) -> None:
        self._record(
            BrokerEvent(
                door="network",
                target=f"{host[: MAX_TARGET - 6]}:{port}",
                status=status,
                bytes_out=moved.bytes_out if moved else 0,
                bytes_in=moved.bytes_in if moved else 0,
                seconds=round(time.monotonic() - started, 4),
            )
        )


class NoHosts:
    """Egress policy that refuses every host: for calls without the grant."""

    async def open(self, host: str, port: int) -> ByteStream:
        """Refuses; see the interface."""
        raise EgressRefused(403, not_granted(host, port))


def not_granted(host: str, port: int) -> str:
    """Message for a tool's author about a host that was not granted."""
    return f'grant "network": {host}{"" if port in {80, 443} else f":{port}"} is not granted'
