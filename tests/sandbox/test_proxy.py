"""The proxy, with a program in memory on one side and real servers on loopback on the other."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import anyio.lowlevel
import pytest
import trustme
from anyio.abc import ByteStream, SocketStream

from alita_mcp.sandbox.interface import BrokerEvent, EgressRefused
from alita_mcp.sandbox.network.egress_policies import (
    MAX_IDLE,
    AllowList,
    ByteBudget,
    GrantedHosts,
    MeteredStream,
    connect,
)
from alita_mcp.sandbox.network.proxy import IDLE_SECONDS, serve
from alita_mcp.values import Limits
from tests.sandbox.sites import HERE, Site, resolved, running_site
from tests.sandbox.test_client_hello import hello

WAIT_SECONDS = 60
SHORT_SECONDS = 1.0


class Program(ByteStream):
    """The inside of a connection: says what it is told to, keeps what it hears."""

    def __init__(self, *said: bytes, ends: bool = True) -> None:
        self.heard = b""
        self.was_ended = False
        self.ends = ends
        self.on_heard: Callable[[bytes], bytes] = lambda _heard: b""
        """What it says in reply to what it has heard so far; empty: nothing."""
        self._said = list(said)
        self._more = anyio.Event()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        while not self._said:
            if self.ends or self.was_ended:
                raise anyio.EndOfStream
            await self._more.wait()
        return self._said.pop(0)

    async def send(self, item: bytes) -> None:
        self.heard += item
        if reply := self.on_heard(self.heard):
            self._said.append(reply)
            self._wake()

    async def send_eof(self) -> None:
        self.was_ended = True
        self._wake()

    async def aclose(self) -> None:
        pass

    async def wait(self) -> None:
        """Waits until something happens to it."""
        await self._more.wait()

    def _wake(self) -> None:
        self._more.set()
        self._more = anyio.Event()

    @property
    def status(self) -> int:
        return int(self.heard.split(b" ")[1])


def granted(
    *hosts: str, limits: Limits | None = None, events: list[BrokerEvent] | None = None
) -> GrantedHosts:
    record = (events if events is not None else []).append
    return GrantedHosts(hosts, limits or Limits(), record=record, resolve=resolved, reachable=HERE)


async def served(
    program: Program, policy: GrantedHosts | AllowList, idle_seconds: float = IDLE_SECONDS
) -> bool:
    with anyio.fail_after(WAIT_SECONDS):
        return await serve(program, policy, idle_seconds)


@asynccontextmanager
async def server(handle: Callable[[SocketStream], Awaitable[object]]) -> AsyncIterator[int]:
    """A server of one's own making; its port."""

    async def handled(stream: SocketStream) -> None:
        async with stream:
            with suppress(anyio.EndOfStream):
                await handle(stream)

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, handled)
        yield listener.extra(anyio.abc.SocketAttribute.local_port)
        tasks.cancel_scope.cancel()


def get(site: Site, path: str = "/", headers: str = "") -> bytes:
    return f"GET http://api.test:{site.port}{path} HTTP/1.1\r\nHost: api.test:{site.port}\r\n{headers}\r\n".encode()


async def test_a_request_to_a_granted_host_is_answered() -> None:
    with running_site() as site:
        program = Program(get(site, "/a?b", "X-Own: 1\r\n"))
        assert await served(program, granted(f"api.test:{site.port}"))
    assert program.status == 200
    assert site.seen == [["/a?b", [f"api.test:{site.port}"], "1"]]


@pytest.mark.parametrize(
    "where", ["http://evil.test/", "http://api.test/", "http://2130706433/", "http://[::1]/"]
)
async def test_any_other_host_gets_the_missing_grant_in_status_line_and_body(where: str) -> None:
    program = Program(f"GET {where} HTTP/1.0\r\n\r\n".encode())
    assert await served(program, granted("api.test:1"))
    head, _, body = program.heard.decode().partition("\r\n\r\n")
    assert body.startswith('grant "network": ')
    assert body.endswith(" is not granted\n")
    assert head.startswith(f"HTTP/1.1 403 {body.strip()}\r\n")


async def test_a_second_request_on_the_connection_reaches_nobody() -> None:
    with running_site() as site:
        second = get(site, "/second")
        program = Program(get(site, "/first") + second, second)
        assert await served(program, granted(f"api.test:{site.port}"))
    assert [path for path, *_ in site.seen] == ["/first"]


async def test_a_body_of_unknown_length_goes_to_the_server_and_nothing_behind_it() -> None:
    got = b""

    async def takes(stream: SocketStream) -> None:
        nonlocal got
        while not got.endswith(b"0\r\n\r\n"):
            got += await stream.receive()
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    async with server(takes) as port:
        head = f"POST http://api.test:{port}/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        program = Program(head, b"5\r\n12", b"345\r\n", b"0\r\n\r\nGET /smuggled HTTP/1.0\r\n\r\n")
        await served(program, granted(f"api.test:{port}"))
    assert program.status == 200
    assert got.partition(b"\r\n\r\n")[2] == b"2\r\n12\r\n3\r\n345\r\n0\r\n\r\n"


class Counting:
    """A server that keeps connections open and answers in its own way; how many there were, and all requests."""

    def __init__(self, *responses: bytes) -> None:
        self.connections = 0
        self.open = 0
        self.requests = 0
        self._responses = responses

    async def __call__(self, stream: SocketStream) -> None:
        self.connections += 1
        self.open += 1
        async for _ in stream:
            self.requests += 1
            for piece in self._responses:
                await stream.send(piece)
                await anyio.lowlevel.checkpoint()
        self.open -= 1


SHORT_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\n\r\nok"


NO_BODY = "Content-Length: 0\r\n"


async def serve_in_turn(
    port: int, *policies: GrantedHosts | AllowList, method: str = "GET", headers: str = ""
) -> list[Program]:
    """One request under each policy, each as soon as the one before has its response, while its task may go on."""
    programs = []
    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            for policy in policies:
                head = f"{method} http://api.test:{port}/ HTTP/1.1\r\nHost: api.test:{port}\r\n{headers}\r\n"
                program = Program(head.encode())
                tasks.start_soon(serve, program, policy)
                while not program.was_ended:
                    await program.wait()
                programs.append(program)
            tasks.cancel_scope.cancel()
    return programs


async def test_requests_of_one_call_to_a_host_share_a_connection_and_each_is_recorded() -> None:
    site, events = Counting(SHORT_RESPONSE), list[BrokerEvent]()
    async with server(site) as port:
        programs = await serve_in_turn(port, *[granted(f"api.test:{port}", events=events)] * 3)
    assert (site.connections, site.requests) == (1, 3)
    assert [event.status for event in events] == ["ok"] * 3
    assert {event.bytes_in for event in events} == {len(SHORT_RESPONSE)}
    told = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    assert [program.heard for program in programs] == [told] * 3


async def test_another_call_never_gets_the_connection() -> None:
    site = Counting(SHORT_RESPONSE)
    async with server(site) as port:
        await serve_in_turn(port, *[granted(f"api.test:{port}") for _ in range(3)])
    assert (site.connections, site.requests) == (3, 3)


async def test_a_kept_connection_is_within_the_budget_and_behind_the_grant() -> None:
    site = Counting(SHORT_RESPONSE)
    async with server(site) as port:
        policy = granted(f"api.test:{port}", limits=Limits(network_bytes=200))
        programs = await serve_in_turn(port, *[policy] * 3)
        other = await serve_in_turn(port + 1, policy)
    assert [program.status for program in [*programs, *other]] == [200, 403, 403, 403]
    assert site.connections == 1


@pytest.mark.parametrize(
    "response",
    [
        (SHORT_RESPONSE + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",),
        (SHORT_RESPONSE, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
        (SHORT_RESPONSE.replace(b"Keep-Alive: timeout=5", b"Connection: close"),),
        (SHORT_RESPONSE.replace(b"1.1", b"1.0"),),
    ],
    ids=["more at once", "more later", "closes", "HTTP/1.0"],
)
async def test_a_connection_on_which_more_came_or_may_come_is_not_used_again(
    response: tuple[bytes, ...],
) -> None:
    site = Counting(*response)
    async with server(site) as port:
        policy = granted(f"api.test:{port}")
        programs = await serve_in_turn(port, policy)
        for _ in range(10):  # what comes later has come
            await anyio.lowlevel.checkpoint()
        programs += await serve_in_turn(port, policy)
    assert site.connections == 2
    assert [program.heard[-2:] for program in programs] == [b"ok"] * 2


async def test_a_body_that_was_cut_by_an_early_response_leaves_no_connection_to_a_second_request() -> None:
    async def answer_early(stream: SocketStream) -> None:
        await stream.receive()
        await stream.send(SHORT_RESPONSE)
        await stream.receive()

    class Held(MeteredStream):
        """A connection on which the end of a body waits to be sent, until its response is there."""

        waits = anyio.Event()

        async def receive(self, max_bytes: int = 65536) -> bytes:
            await self.waits.wait()
            return await super().receive(max_bytes)

        async def send(self, item: bytes) -> None:
            if item == b"end":
                self.waits.set()
                await anyio.sleep_forever()
            await super().send(item)

    class Policy:
        async def open(self, host: str, port: int) -> ByteStream:
            return Held(await connect("127.0.0.1", port), ByteBudget(1000), idle=kept)

    kept: list[MeteredStream] = []
    async with server(answer_early) as port, anyio.create_task_group() as tasks:
        head = f"POST http://api.test:{port}/ HTTP/1.1\r\nHost: api.test:{port}\r\nContent-Length: 3\r\n\r\n"
        program = Program(head.encode(), b"end", ends=False)
        tasks.start_soon(serve, program, Policy())
        with anyio.fail_after(WAIT_SECONDS):
            while not program.was_ended:
                await program.wait()
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        assert kept == []
        tasks.cancel_scope.cancel()
    assert program.heard.endswith(b"ok")


async def test_a_get_whose_kept_connection_ends_unanswered_is_sent_once_more_over_a_new_one() -> None:
    requests: list[int] = []

    async def closes_at_reuse(stream: SocketStream) -> None:
        await stream.receive()
        requests.append(1)
        await stream.send(SHORT_RESPONSE)
        await stream.receive()
        requests.append(2)  # and no response

    async with server(closes_at_reuse) as port:
        policy = granted(f"api.test:{port}")
        programs = await serve_in_turn(port, *[policy] * 2)
        assert [program.heard[-2:] for program in programs] == [b"ok"] * 2
        assert requests == [1, 2, 1]
        post = await serve_in_turn(port, *[granted(f"api.test:{port}")] * 2, method="POST", headers=NO_BODY)
    assert [program.heard[-2:] for program in post] == [b"ok", b""]


async def test_no_more_connections_are_kept_than_a_program_has_at_once() -> None:
    site = Counting(SHORT_RESPONSE)
    async with server(site) as port, anyio.create_task_group() as tasks:
        policy = granted(f"*.api.test:{port}")
        for number in range(300):
            authority = f"n{number}.api.test:{port}"
            program = Program(f"GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
            tasks.start_soon(serve, program, policy)
            while not program.was_ended:
                await program.wait()
        assert site.open <= MAX_IDLE + 1
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("response", "heard"),
    [
        ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", b"0\r\n\r\n"), b"2\r\nab\r\n0\r\n\r\n"),
        ((b"HTTP/1.1 103 Early\r\n\r\n", SHORT_RESPONSE), b"ok"),
        ((b"HTTP/1.1 304 Not Modified\r\n\r\n",), b"close\r\n\r\n"),
        ((b"HTTP/1.1 200 OK\r\nContent-", b"Length: 0\r\n\r\n"), b"close\r\n\r\n"),
        ((b"SSH-2.0-OpenSSH\r\n\r\n",), b"no HTTP response: illegal status line: bytearray(b'SSH-2.0-OpenSSH')\n"),
    ],
    ids=["chunks", "early hints", "no body", "in pieces", "no HTTP"],
)  # fmt: skip
async def test_a_response_ends_where_its_own_framing_says(response: tuple[bytes, ...], heard: bytes) -> None:
    async with server(Counting(*response)) as port:
        [program] = await serve_in_turn(port, granted(f"api.test:{port}"))
    assert program.heard.endswith(heard)


async def test_a_cut_response_never_looks_whole_to_a_program_that_ends_it_by_the_end_of_the_connection() -> (
    None
):
    async def cuts(stream: SocketStream) -> None:
        await stream.receive()
        await stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")

    async with server(cuts) as port:
        program = Program(f"GET http://api.test:{port}/ HTTP/1.0\r\n\r\n".encode())
        assert not await served(program, granted(f"api.test:{port}"))
    assert program.heard.endswith(b"half")


async def test_the_head_of_an_event_stream_does_not_wait_for_its_first_event() -> None:
    async def streams(stream: SocketStream) -> None:
        await stream.receive()
        await stream.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await was_heard.wait()
        await stream.send(b"2\r\nab\r\n0\r\n\r\n")

    def hear(heard: bytes) -> bytes:
        if heard:
            was_heard.set()
        return b""

    was_heard = anyio.Event()
    async with server(streams) as port:
        program = Program(f"GET http://api.test:{port}/ HTTP/1.1\r\nHost: api.test:{port}\r\n\r\n".encode())
        program.on_heard = hear
        await served(program, granted(f"api.test:{port}"), SHORT_SECONDS)
    assert program.status == 200


@pytest.mark.slow
async def test_a_client_that_drips_its_request_is_ended_by_time() -> None:
    program = Program(b"GET http://api.test", ends=False)
    assert await served(program, granted("api.test"), SHORT_SECONDS)
    assert program.status == 408
    endless = Program(b"nonsense\r\n\r\n", ends=False)
    endless.send_eof = anyio.lowlevel.checkpoint  # type: ignore[method-assign]
    assert not await served(endless, granted("api.test"), SHORT_SECONDS)


@pytest.mark.slow
async def test_a_server_that_says_nothing_is_ended_by_time_in_words() -> None:
    with running_site() as site:
        program = Program(get(site, "/held"), ends=False)
        assert await served(program, granted(f"api.test:{site.port}"), SHORT_SECONDS)
    assert program.status == 504
    assert b"nothing moved for 1 s" in program.heard


@pytest.mark.slow
async def test_a_server_that_stops_half_way_is_ended_by_a_reset() -> None:
    async def half(stream: SocketStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await anyio.sleep_forever()

    async with server(half) as port:
        program = Program(f"GET http://api.test:{port}/ HTTP/1.0\r\n\r\n".encode(), ends=False)
        assert not await served(program, granted(f"api.test:{port}"), SHORT_SECONDS)
    assert program.heard.endswith(b"half")


async def test_a_server_that_breaks_the_connection_breaks_it_inside() -> None:
    async def breaks(stream: SocketStream) -> None:
        await stream.receive()
        raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)
        raw.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER 0: close with a reset
        await stream.aclose()

    async with server(breaks) as port:
        program = Program(f"GET http://api.test:{port}/ HTTP/1.0\r\n\r\n".encode())
        assert not await served(program, granted(f"api.test:{port}"))


async def test_a_download_over_the_budget_is_cut_and_one_before_its_answer_is_told() -> None:
    with running_site() as site:
        program = Program(get(site, "/big/300000"), ends=False)
        policy = granted(f"api.test:{site.port}", limits=Limits(network_bytes=100_000))
        assert not await served(program, policy)
        assert len(program.heard) <= 100_000
        again = Program(get(site))
        await served(again, policy)
        assert again.status == 403
        assert b"more than 100000 bytes over the network (network_bytes)" in again.heard
        head = f"POST http://api.test:{site.port}/ HTTP/1.0\r\nContent-Length: 900\r\n\r\n".encode()
        upload = Program(head, *[b"x" * 300] * 3)
        assert await served(upload, granted(f"api.test:{site.port}", limits=Limits(network_bytes=500)))
        assert upload.status == 403
        assert b"network_bytes" in upload.heard


async def open_tunnel(
    policy: GrantedHosts | AllowList, name: str, port: int, first: bytes, idle_seconds: float = SHORT_SECONDS
) -> tuple[bool, bytes]:
    program = Program(f"CONNECT {name}:{port} HTTP/1.0\r\n\r\n".encode(), ends=False)
    program.on_heard = lambda heard: first if heard.endswith(b"established\r\n\r\n") else b""
    return await served(program, policy, idle_seconds), program.heard


async def echo(stream: SocketStream) -> None:
    async for data in stream:
        await stream.send(b"<" + data[:1] + b">")


ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@pytest.mark.slow
async def test_a_tunnel_carries_tls_for_the_granted_name() -> None:
    async with server(echo) as port:
        _whole, heard = await open_tunnel(granted(f"api.test:{port}"), "api.test", port, hello("api.test"))
    assert heard == ESTABLISHED + b"<\x16>"


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        hello("evil.test"), hello(None), hello("api.test.evil.test"), b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n", hello("api.test")[:50], b"",
    ],
    ids=["another name", "no name", "a longer name", "HTTP", "SSH", "half a greeting", "nothing"],
)  # fmt: skip
async def test_a_tunnel_that_is_not_tls_for_that_name_is_reset_and_nothing_reaches_the_server(
    first: bytes,
) -> None:
    reached = []

    async def note(stream: SocketStream) -> None:
        reached.extend([data async for data in stream])

    async with server(note) as port:
        whole, heard = await open_tunnel(granted(f"api.test:{port}"), "api.test", port, first)
    assert (whole, heard, reached) == (False, ESTABLISHED, [])


@pytest.mark.slow
async def test_a_tunnel_to_an_address_of_a_builder_names_nobody() -> None:
    async with server(echo) as port:
        policy = AllowList({f"127.0.0.1:{port}"})
        assert (await open_tunnel(policy, "127.0.0.1", port, hello(None)))[1] == ESTABLISHED + b"<\x16>"
        assert (await open_tunnel(policy, "127.0.0.1", port, hello("evil.test")))[1] == ESTABLISHED


async def test_whole_tls_goes_through_a_tunnel_and_is_counted() -> None:
    authority = trustme.CA()
    events: list[BrokerEvent] = []
    with running_site(authority) as site:
        policy = granted(f"api.test:{site.port}", events=events)
        context = ssl.create_default_context()
        authority.configure_trust(context)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname="api.test")
        program = Program(f"CONNECT api.test:{site.port} HTTP/1.0\r\n\r\n".encode(), ends=False)
        answer = b""
        sent = False
        fed = len(ESTABLISHED)

        def speak(heard: bytes) -> bytes:
            nonlocal answer, sent, fed
            incoming.write(heard[fed:])
            fed = max(fed, len(heard))
            try:
                tls.do_handshake()
                if not sent:
                    tls.write(b"GET /tls HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
                    sent = True
                answer += tls.read()
            except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
                pass
            return outgoing.read()

        program.on_heard = speak
        await served(program, policy, 5)
    assert answer.startswith(b"HTTP/1.1 200")
    assert events[0].bytes_in > len(answer)
    assert events[0].bytes_out > 200


async def test_reasons_never_break_the_status_line() -> None:
    class Odd:
        async def open(self, host: str, port: int) -> ByteStream:
            raise EgressRefused(403, "a\r\nX: y\u00e4")

    program = Program(b"GET http://api.test/ HTTP/1.0\r\n\r\n")
    assert await serve(program, Odd())
    assert program.heard.startswith(b"HTTP/1.1 403 a??X: y?\r\n")
