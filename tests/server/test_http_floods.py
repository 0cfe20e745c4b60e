"""What clients without a token, slow ones, and those that never come back can take from the others: nothing."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from itertools import product
from pathlib import Path

import anyio
import anyio.abc
import httpx
import pytest

from alita_mcp.server.transports import http as http_module
from alita_mcp.server.transports import sessions as sessions_module
from alita_mcp.server.transports.connections import ConnectionLimits
from alita_mcp.settings import Settings
from benchmarks.load.client import Address, Client, Lost, connect
from tests.server.processes import PATIENCE_S, TINY, environment, started
from tests.server.test_http import HEADERS, POST, TOKEN, listening, opened_session, posted, with_token

pytestmark = pytest.mark.slow

FLOOD = 1_100
CROWD, CALLS_EACH = 300, 3
FEW = 6
"""Sessions."""
HALF_A_HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
WITH_TOKEN = f"Authorization: Bearer {TOKEN}\r\n".encode()
HALF_A_BODY = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: 1000\r\n\r\n{"
HASTE = ConnectionLimits(head_s=0.3, body_s=0.3)
BEARER = {"authorization": f"Bearer {TOKEN}"}

posix = pytest.mark.skipif(sys.platform == "win32", reason="descriptor limits are POSIX")


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 < hard < FLOOD + 500:
        pytest.skip(f"only {hard} descriptors may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FLOOD + 500), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def limited(descriptors: str) -> tuple[str, ...]:
    """The tiny server under a limit of its own, as `ulimit` takes it."""
    return ("sh", "-c", f'ulimit {descriptors}; exec "$@"', "sh", sys.executable, str(TINY), "http")


def address(url: str) -> tuple[str, int]:
    return "127.0.0.1", int(url.split(":")[2].split("/", maxsplit=1)[0])


async def half_open(url: str, said: bytes) -> anyio.abc.SocketStream:
    stream = await anyio.connect_tcp(*address(url))
    await stream.send(said)
    return stream


async def is_cut(stream: anyio.abc.SocketStream) -> bytes:
    """What the server still said before it let go."""
    heard = b""
    try:
        while True:
            heard += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return heard


async def trickled(stream: anyio.abc.SocketStream) -> None:
    """Goes on byte by byte, until the other side has had enough."""
    try:
        while True:
            await stream.send(b"x")
            await anyio.sleep(0.05)
    except anyio.BrokenResourceError:
        return


@posix
@pytest.mark.process
async def test_half_open_connections_do_not_shut_out_a_client_with_the_token(
    tmp_path: Path, many_descriptors: None
) -> None:
    async with started(limited("-n 512"), environment(token=TOKEN), tmp_path) as peer:
        url = (await peer.says("serving MCP at")).split()[-1]
        with ExitStack() as flood:
            for _ in range(FLOOD):
                flood.enter_context(socket.create_connection(address(url))).sendall(HALF_A_HEAD)
            assert (await posted(url, **BEARER)).status_code == 200
        assert "Traceback" not in peer.stderr
        assert "out of system resource" not in peer.stderr


@posix
@pytest.mark.process
@pytest.mark.parametrize("descriptors", ["256", "4096"])
async def test_no_request_under_way_makes_room_for_a_newcomer(
    tmp_path: Path, many_descriptors: None, descriptors: str
) -> None:
    lost: list[str] = []
    answers: list[str] = []

    async def call_and_check(address: Address, number: int) -> None:
        client: Client | None = None
        async with AsyncExitStack() as stack:
            for turn in range(CALLS_EACH):
                try:
                    if client is None or not client.is_open:
                        client = await stack.enter_async_context(connect(address))
                    result = await client.call_tool("echo", {"text": f"{number} {turn}"})
                    answers.append(result["content"][0]["text"])
                except Lost as failed:
                    lost.append(str(failed))
                    client = None

    async with started(limited(f"-n {descriptors}"), environment(token=TOKEN), tmp_path) as peer:
        url = (await peer.says("serving MCP at")).split()[-1]
        async with anyio.create_task_group() as clients:
            for number in range(CROWD):
                clients.start_soon(call_and_check, Address(address(url)[1], TOKEN), number)
        assert "out of system resource" not in peer.stderr
    assert (len(lost), lost[:3]) == (0, [])
    assert sorted(answers) == sorted(f"{one} {turn}" for one in range(CROWD) for turn in range(CALLS_EACH))


async def test_who_does_not_finish_a_request_in_time_is_let_go(settings: Settings) -> None:
    begun = (
        b"", b"\r\n", HALF_A_HEAD, HALF_A_BODY % b"", HALF_A_BODY % WITH_TOKEN,
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /heal",
    )  # fmt: skip

    async def wait(said: bytes, *, trickles: bool) -> None:
        async with await half_open(url, said) as stream, anyio.create_task_group() as tasks:
            if trickles:
                tasks.start_soon(trickled, stream)
            await is_cut(stream)
            tasks.cancel_scope.cancel()

    async with listening(with_token(settings), limits=HASTE) as url:
        async with anyio.create_task_group() as clients:
            for said, trickles in product(begun, (False, True)):
                clients.start_soon(partial(wait, said, trickles=trickles))
        assert (await posted(url, **BEARER)).status_code == 200


async def test_the_oldest_connection_without_a_token_makes_room_and_none_with_it(settings: Settings) -> None:
    few = ConnectionLimits(strangers=3)
    async with listening(with_token(settings), limits=few) as url, httpx.AsyncClient() as http:
        stream_of_events = http.stream("GET", url, headers=await opened(http, url))
        async with stream_of_events as standing:
            strangers = [await half_open(url, HALF_A_HEAD) for _ in range(5)]
            assert [await is_cut(stream) for stream in strangers[:2]] == [b"", b""]
            for stream in strangers[2:]:
                await stream.send(b"x\r\n\r\n")
                assert b" 401 " in await stream.receive()
            assert standing.status_code == 200
            assert (await http.get(url.replace("/mcp", "/healthz"))).status_code == 200
            for stream in strangers:
                await stream.aclose()


async def test_without_a_token_who_asked_completely_is_known(settings: Settings) -> None:
    async with (
        listening(settings, limits=ConnectionLimits(strangers=1)) as url,
        httpx.AsyncClient(timeout=PATIENCE_S) as http,
    ):
        session = await opened_session(http, url)
        async with http.stream("GET", url, headers=session) as standing:
            for _ in range(3):
                async with await half_open(url, HALF_A_HEAD):
                    pass
            assert (await http.post(url, json=POST, headers=HEADERS)).status_code == 200
            assert standing.status_code == 200


async def opened(http: httpx.AsyncClient, url: str) -> dict[str, str]:
    """The headers of a session that the token opened."""
    http.headers.update(BEARER)
    return await opened_session(http, url)


# --- sessions ------------------------------------------------------------------------------------------------


async def test_a_newcomer_ends_nobodys_session_and_is_told_when_to_come_back(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_module, "MAX_SESSIONS", FEW)
    ping = {"jsonrpc": "2.0", "id": 3, "method": "ping"}
    async with listening(settings) as url, httpx.AsyncClient(timeout=PATIENCE_S) as http:
        opened_first = [await opened_session(http, url) for _ in range(FEW)]
        refused = await http.post(url, json=POST, headers=HEADERS)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        found = [(await http.post(url, json=ping, headers=own)).status_code for own in opened_first]
        assert found == [200] * FEW
        # those that their clients left long ago go, and one that is in use stays
        monkeypatch.setattr(sessions_module, "CROWDED_IDLE_S", 0.0)
        async with http.stream("GET", url, headers=opened_first[-1]):
            assert (await http.post(url, json=POST, headers=HEADERS)).status_code == 200
            found = [(await http.post(url, json=ping, headers=own)).status_code for own in opened_first]
        assert found == [404] * (FEW - 1) + [200]
