"""The HTTP transport: who is let in, what is refused, how a lost stream is picked up, how it ends."""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventMessage
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp_types import JSONRPCNotification
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from alita_mcp import __version__
from alita_mcp.errors import UsageError
from alita_mcp.server.client.owner import read_owner
from alita_mcp.server.transports.guard import Guard, is_loopback
from alita_mcp.server.transports.http import MAX_BODY_BYTES, OpenRequests, serve_http
from alita_mcp.server.transports.sessions import RecentEvents
from alita_mcp.settings import Settings
from tests.server.processes import INITIALIZE, PATIENCE_S, TINY, environment, started
from tests.server.tiny_server import build_server
from tests.tables import each_case

TOKEN = "correct horse battery staple"
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
POST = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}


@asynccontextmanager
async def listening(settings: Settings, host: str = "127.0.0.1", **options: Any) -> AsyncIterator[str]:
    """A server of this process on a free port; gives its URL by a loopback name."""
    stop, heard, urls = anyio.Event(), anyio.Event(), []

    async def until(url: str) -> int:
        urls.append(url)
        heard.set()
        await stop.wait()
        return 0

    async def serve() -> None:
        assert await serve_http(settings, host, 0, until=until, **options) == 0

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            options.setdefault("server", build_server(settings))
            tasks.start_soon(serve)
            await heard.wait()
            try:
                yield urls[0].replace("0.0.0.0", "127.0.0.1")
            finally:
                stop.set()


def with_token(settings: Settings) -> Settings:
    return settings.model_copy(update={"token": SecretStr(TOKEN)})


async def posted(url: str, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
        return await client.post(url, json=POST, headers=HEADERS | headers)


@each_case("host, token", product(["0.0.0.0", "::", "192.0.2.7", "example.org"], [None, "", "  "]))
async def test_an_address_open_to_others_is_refused_without_a_token(
    settings: Settings, host: str, token: str | None
) -> None:
    given_token = settings.model_copy(update={"token": token if token is None else SecretStr(token)})
    with anyio.fail_after(PATIENCE_S), pytest.raises(UsageError, match="token") as refused:
        await serve_http(given_token, host, 0)
    assert "ALITA_TOKEN" in refused.value.hint


@given(st.ip_addresses())
def test_every_loopback_address_and_no_other_needs_no_token(address: Any) -> None:
    assert is_loopback(str(address)) == address.is_loopback


async def test_a_port_that_is_taken_is_refused_with_its_number(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with anyio.fail_after(PATIENCE_S), pytest.raises(UsageError, match=str(port)):
            await serve_http(settings, "127.0.0.1", port)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [{}, {"authorization": TOKEN}, {"authorization": f"Basic {TOKEN}"}, {"authorization": "Bearer"}]
    + [{"authorization": f"Bearer {wrong}"} for wrong in (TOKEN[:-1], TOKEN + "x", TOKEN.upper())],
)
async def test_a_request_without_the_token_is_refused(settings: Settings, sent: dict[str, str]) -> None:
    async with listening(with_token(settings)) as url:
        answer = await posted(url, **sent)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert TOKEN not in answer.text


@given(
    st.lists(st.binary() | st.just(f"Bearer {TOKEN}".encode()), max_size=3),
    st.sampled_from(["/mcp", "//healthz"]),
)
async def test_no_other_bytes_open_the_door(values: list[bytes], path: str) -> None:
    passed: list[str] = []

    async def behind(scope: Any, _receive: Any, _send: Any) -> None:
        passed.append(scope["path"])

    async def ignore(_message: Any) -> None:
        pass

    headers = [(b"host", b"localhost"), *((b"authorization", value) for value in values)]
    guard = Guard(behind, TOKEN, ["localhost"])
    await guard({"type": "http", "method": "GET", "path": path, "headers": headers}, ignore, ignore)
    assert bool(passed) == (values == [f"Bearer {TOKEN}".encode()])


@each_case("token, owner", [(TOKEN, "token:c4bbcb1fbec99d65"), (None, "anyone")])
async def test_the_owner_of_a_request_comes_from_its_token_alone(token: str | None, owner: str) -> None:
    owners: list[str] = []

    async def behind(scope: Any, _receive: Any, _send: Any) -> None:
        owners.append(read_owner(scope))

    async def ignore(_message: Any) -> None:
        pass

    sent = {"host": "localhost", "authorization": f"Bearer {TOKEN}", "alita.owner": "user", "x-owner": "user"}
    headers = [(name.encode(), value.encode()) for name, value in sent.items()]
    scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": headers, "state": {}}
    await Guard(behind, token, ["localhost"])(scope, ignore, ignore)
    assert owners == [owner]


async def test_the_token_lets_in_and_the_health_check_needs_none(settings: Settings) -> None:
    async with listening(with_token(settings)) as url, httpx.AsyncClient() as client:
        for scheme in ("Bearer", "bearer", "BEARER"):
            answer = await posted(url, authorization=f"{scheme} {TOKEN}")
            assert answer.status_code == 200
            assert '"serverInfo"' in answer.text
        health = await client.get(url.replace("/mcp", "/healthz"))
        assert health.json() == {"status": "ok", "version": __version__}


HEADS: list[tuple[dict[str, str], int]] = [
    ({"host": "evil.example"}, 421),
    ({"host": "127.0.0.1.evil.example:80"}, 421),
    ({"origin": "http://evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"host": "localhost:1"}, 200),
    ({"host": "mcp.example.org", "origin": "https://mcp.example.org"}, 200),
    ({"host": "mcp.example.org:444"}, 200),
]


@pytest.mark.slow
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
async def test_host_and_origin_are_checked_on_every_address(settings: Settings, host: str) -> None:
    own = [({"host": f"{socket.gethostname()}:80"}, 200)] if host == "0.0.0.0" else []
    async with listening(with_token(settings), host, allowed_hosts=("mcp.example.org",)) as url:
        for headers, status in [*HEADS, *own]:
            answer = await posted(url, authorization=f"Bearer {TOKEN}", **headers)
            assert answer.status_code == status, headers


async def test_a_body_over_the_limit_is_refused_in_both_eras(settings: Settings) -> None:
    async with listening(settings) as url, httpx.AsyncClient() as client:
        body = json.dumps({**POST, "padding": "x" * MAX_BODY_BYTES})
        for version in ({}, {"mcp-protocol-version": "2026-07-28"}):
            assert (await client.post(url, content=body, headers=HEADERS | version)).status_code == 413


# --- a lost stream -------------------------------------------------------------------------------------------


def note(method: str, size: int = 0) -> JSONRPCNotification:
    return JSONRPCNotification(jsonrpc="2.0", method=method, params={"padding": "x" * size})


async def replayed(store: RecentEvents, last: str) -> tuple[str | None, list[str]]:
    sent: list[str] = []

    async def keep(event: EventMessage) -> None:
        assert isinstance(event.message, JSONRPCNotification)
        sent.append(event.message.method)

    return await store.replay_events_after(last, keep), sent


@given(st.lists(st.integers(0, 400), min_size=1, max_size=60))
async def test_the_store_keeps_the_newest_and_stays_within_its_bounds(sizes: list[int]) -> None:
    store = RecentEvents(max_events=10, max_bytes=1_000)
    ids = [await store.store_event("s", note(str(n), size)) for n, size in enumerate(sizes)]
    kept = [number for number in ids if (await replayed(store, number))[0]]
    assert kept == ids[-len(kept) :]
    assert 1 <= len(kept) <= 10
    assert sum(len(note(str(int(n) - 1), sizes[int(n) - 1]).model_dump_json()) for n in kept[1:]) <= 1_000


async def events(response: httpx.Response) -> AsyncIterator[tuple[str, Any]]:
    """Server-sent events as pairs of id and message; the message of a mark is None."""
    number = ""
    async for line in response.aiter_lines():
        if line.startswith("id:"):
            number = line[3:].strip()
        elif line.startswith("data:"):
            yield number, json.loads(line[5:]) if line[5:].strip() else None


async def opened_session(http: httpx.AsyncClient, url: str) -> dict[str, str]:
    """Initializes a session; gives the headers of its requests."""
    answer = await http.post(url, json=POST, headers=HEADERS)
    session = HEADERS | {
        "mcp-session-id": answer.headers["mcp-session-id"],
        "mcp-protocol-version": "2025-11-25",
    }
    await http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
    return session


def slow_echo(release: anyio.Event) -> Callable[[Any, Any], Awaitable[Any]]:
    import mcp_types

    async def call(_context: object, params: Any) -> Any:
        await release.wait()
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(type="text", text=params.arguments["text"])]
        )

    return call


async def test_a_client_that_lost_its_stream_picks_up_the_answer_and_no_other_session_can(
    settings: Settings,
) -> None:
    release = anyio.Event()
    server: Server[Any] = Server("slow", version="1", on_call_tool=slow_echo(release))
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    async with listening(settings, server=server) as url, httpx.AsyncClient(timeout=PATIENCE_S) as http:
        mine, other = await opened_session(http, url), await opened_session(http, url)
        marks = []
        for session, text in ((mine, "mine"), (other, "other")):
            request = {**call, "params": {"name": "echo", "arguments": {"text": text}}}
            async with http.stream("POST", url, json=request, headers=session) as stream:
                marks.append(await anext(aiter(events(stream))))
        assert [message for _, message in marks] == [None, None]
        release.set()
        for (mark, _), session, text in (
            (marks[0], mine, "mine"),
            (marks[0], other, "other"),
            (marks[1], mine, "mine"),
        ):
            async with http.stream("GET", url, headers=session | {"last-event-id": mark}) as stream:
                answer = await anext(message async for _, message in events(stream) if message)
            assert answer["result"]["content"][0]["text"] == text


# --- the end -------------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_a_signal_ends_open_streams_and_running_calls_and_cleans_up(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    async with started((sys.executable, str(TINY), "http"), environment(), tmp_path) as peer:
        url = (await peer.says("serving MCP at")).split()[-1]
        async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
            session = await opened_session(http, url)
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait"}}
            async with (
                http.stream("GET", url, headers=session) as standing,
                http.stream("POST", url, json=call, headers=session) as running,
            ):
                await peer.says("waiting")
                peer.process.send_signal(number)
                await standing.aread()
                await running.aread()
        assert await peer.ended() == status
        assert "call cancelled" in peer.stderr
        assert "cleaned up" in peer.stderr
        assert "clean-up took longer" not in peer.stderr
        assert "Traceback" not in peer.stderr
        assert await peer.rest() == b""


async def test_a_modern_listener_is_told_that_its_stream_ends(settings: Settings) -> None:
    bus = InMemorySubscriptionBus()
    server: Server[Any] = Server("listen", version="1", on_subscriptions_listen=ListenHandler(bus))
    ended = anyio.Event()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            async with listening(settings, server=server) as url:
                subscribed = anyio.Event()

                async def listen() -> None:
                    async with Client(url) as client, client.listen(tools_list_changed=True) as stream:
                        subscribed.set()
                        async for _ in stream:
                            pass
                        ended.set()

                tasks.start_soon(listen)
                await subscribed.wait()
            await ended.wait()


@pytest.mark.parametrize("started_first", [False, True])
async def test_a_request_ended_from_outside_still_gets_a_complete_response(started_first: bool) -> None:
    sent: list[Any] = []
    running = anyio.Event()

    async def endless(_scope: Any, _receive: Any, send: Any) -> None:
        if started_first:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        running.set()
        await anyio.sleep_forever()

    async def keep(message: Any) -> None:
        sent.append(message)

    requests = OpenRequests(endless)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(requests, {"type": "http", "path": "/mcp", "headers": []}, keep, keep)
            await running.wait()
            await requests.finish(0)
    assert sent[0]["status"] == (200 if started_first else 503)
    assert not sent[-1].get("more_body", False)


async def test_pages_stand_behind_the_same_checks_and_the_token(settings: Settings) -> None:
    async def hello(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    bearer = {"authorization": f"Bearer {TOKEN}"}
    served = listening(with_token(settings), pages=[Route("/ui", hello)])
    async with served as url, httpx.AsyncClient(headers=bearer) as client:
        page = url.replace("/mcp", "/ui")
        for headers, status in (
            ({}, 200), ({"host": "evil.example"}, 421), ({"origin": "http://evil.example"}, 403),
            ({"authorization": "Bearer wrong"}, 401),
        ):  # fmt: skip
            assert (await client.get(page, headers=headers)).status_code == status
        assert (await client.post(page)).status_code == 405
