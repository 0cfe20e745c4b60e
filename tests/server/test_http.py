"""The HTTP transport: who is let in, what is refused, how a lost stream is picked up, how it ends."""

from __future__ import annotations

import base64
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
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

from alita_mcp import __version__
from alita_mcp.errors import UsageError
from alita_mcp.server.transports.access import Access
from alita_mcp.server.transports.guard import Guard, host_names, is_loopback
from alita_mcp.server.transports.http import MAX_BODY_BYTES, serve_http
from alita_mcp.server.transports.sessions import RecentEvents
from alita_mcp.server.transports.shutdown import Drain
from alita_mcp.server.transports.web_server import OpenRequests
from alita_mcp.settings import Settings
from tests.server.processes import INITIALIZE, META, PATIENCE_S, TINY, environment, started
from tests.server.tiny_server import build_server
from tests.tables import each_case

TOKEN = "correct horse battery staple"
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
POST = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}


@asynccontextmanager
async def listening(settings: Settings, host: str = "127.0.0.1", **options: Any) -> AsyncIterator[str]:
    """A server of this process on a free port; gives its URL by a loopback name."""
    stop, heard, urls = anyio.Event(), anyio.Event(), []

    async def until(url: str, _drain: Drain) -> int:
        urls.append(url)
        heard.set()
        await stop.wait()
        return 0

    async def serve() -> None:
        token = settings.token.get_secret_value() if settings.token else None
        assert await serve_http(settings, host, 0, token=token, until=until, **options) == 0

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


@each_case(
    "host, names, origins, elicit",
    [
        ("example.org", [], [], None),
        ("127.0.0.1", ["tools.example.org"], [], None),
        ("127.0.0.1", [], ["http://localhost:1", "https://app.example.org"], None),
        ("127.0.0.1", [], [], True),
    ],
)
async def test_a_server_for_others_or_with_forms_is_refused_without_a_token(
    settings: Settings, host: str, names: list[str], origins: list[str], elicit: bool | None
) -> None:
    changed = settings.model_copy(update={"elicit": elicit})
    with (
        anyio.fail_after(PATIENCE_S),
        pytest.raises(UsageError, match=r"without a token|needs a token") as refused,
    ):
        await serve_http(changed, host, 0, token=None, allowed_hosts=names, allowed_origins=origins)
    assert "--no-token" in refused.value.hint


@given(st.ip_addresses())
def test_every_loopback_address_and_no_other_needs_no_token(address: Any) -> None:
    assert is_loopback(str(address)) == address.is_loopback


async def test_a_port_that_is_taken_is_refused_with_its_number(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with anyio.fail_after(PATIENCE_S), pytest.raises(UsageError, match=str(port)):
            await serve_http(settings, "127.0.0.1", port, token=None)


async def passing(
    token: str | None, headers: list[tuple[bytes, bytes]], path: str = "/mcp"
) -> tuple[int, str]:
    """The status that the access checks give a request, 200 where they let it pass, and whose it is then."""
    statuses, owners = [], [""]

    async def behind(scope: Any, _receive: Any, send: Any) -> None:
        owners.append(scope["user"].principal.owner)
        await send({"type": "http.response.start", "status": 200})

    async def note(message: Any) -> None:
        statuses.append(message.get("status"))

    scope = {"type": "http", "method": "GET", "path": path, "headers": headers, "state": {}}
    await Guard(behind, Access(token), [*host_names("127.0.0.1"), "mcp.example.org"])(scope, note, note)
    return statuses[0], owners[-1]


HOST = (b"host", b"localhost")
BEARER = (b"authorization", f"Bearer {TOKEN}".encode())


@given(
    st.lists(st.binary() | st.just(BEARER[1]), max_size=3), st.sampled_from(["/mcp", "/ui.json", "//healthz"])
)
async def test_no_other_bytes_open_the_door(values: list[bytes], path: str) -> None:
    status, _ = await passing(TOKEN, [HOST, *((b"authorization", value) for value in values)], path)
    assert status == (200 if values == [BEARER[1]] else 401)


@each_case("token, owner", [(TOKEN, "token:c4bbcb1fbec99d65"), (None, "anyone")])
async def test_the_owner_of_a_request_comes_from_its_token_alone(token: str | None, owner: str) -> None:
    claims = [(b"alita.owner", b"user"), (b"x-owner", b"user")]
    assert await passing(token, [HOST, BEARER, *claims]) == (200, owner)


@each_case("path", ["/mcp", "/api/tasks", "/uii", "/ui.json", "//ui", "/mcp/../ui"])
async def test_credentials_of_a_browser_open_no_door(path: str) -> None:
    """The pages ask for a session of their own (tests/web): what is near them needs the token as a program sends it."""
    basic = b"authorization", b"Basic " + base64.b64encode(f"me:{TOKEN}".encode())
    assert (await passing(TOKEN, [HOST, basic], path))[0] == 401


async def test_the_token_lets_in_and_the_health_check_needs_none(settings: Settings) -> None:
    async with listening(with_token(settings)) as url, httpx.AsyncClient() as client:
        for scheme in ("Bearer", "bearer", "BEARER"):
            answer = await posted(url, authorization=f"{scheme} {TOKEN}")
            assert answer.status_code == 200
            assert '"serverInfo"' in answer.text
        health = await client.get(url.replace("/mcp", "/healthz"))
        assert health.json() == {"status": "ok"}


STRANGE = [
    "evil.example", "127.0.0.1.evil.example:80", "localhost:1.evil.example", "localhost:abc", "localhost:",
    "localhost:65536", "localhost:-1", "localhost:+1", "localhost:1:2", "localhost:1/", "localhost/", "localhost ",
    "[::1]evil", "[::1]:1.evil.example", "[::1", "::1", "evil@localhost", "localhost@evil", "localhost,evil.example",
    "localhost.", "mcp.example.org.evil", "", "*", "[*]", "localhost:*", "localhost\xa0", "localhost:\xb2",
]  # fmt: skip
"""No host of ours, in a Host header or behind `http://` in an Origin."""
OURS = ["localhost", "LOCALHOST:1", "127.0.0.1:65535", "[::1]", "[::1]:8765", "MCP.example.org:444"]


def head(*lines: str) -> list[tuple[bytes, bytes]]:
    pairs = [line.partition(":") for line in lines]
    return [BEARER, *((name.encode(), value.encode("latin-1")) for name, _, value in pairs)]


@each_case("path", ["/mcp", "/ui", "/api/tasks", "/healthz"])
@each_case(
    "lines, status",
    [
        *(([f"host:{host}"], 421) for host in STRANGE),
        *((["host:localhost", f"origin:http://{host}"], 403) for host in STRANGE),
        *(
            (["host:localhost", f"origin:{it}"], 403)
            for it in ("null", "", "file://localhost", "http:localhost")
        ),
        *(([f"host:{host}", f"origin:https://{host}"], 200) for host in OURS),
        ([], 421),
        (["host:localhost", "host:localhost"], 421),
        (["host:localhost", "host:evil.example"], 421),
        (["host:localhost", "origin:http://localhost", "origin:http://evil.example"], 403),
        (["host:localhost", "x-forwarded-host:evil.example"], 200),
    ],
)
async def test_host_and_origin_are_read_strictly(path: str, lines: list[str], status: int) -> None:
    if path in ("/healthz", "/ui") and status == 200:
        return  # nothing is noted of who asks: the tests above, and tests/web
    assert (await passing(TOKEN, head(*lines), path))[0] == status


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_pages_of_a_listed_origin_and_no_other_are_served_in_a_browser(
    settings: Settings, era: str
) -> None:
    ours, listed, other = "http://localhost", "https://app.example.org", "https://app.example.org:8443"
    asks = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,mcp-method",
    }
    bearer = {"authorization": f"Bearer {TOKEN}"}
    modern = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    body, headers = (listing, HEADERS | modern) if era == "modern" else (POST, HEADERS)
    for allowed in ((), (listed, "chrome-extension://abcd")):
        options = {"allowed_origins": allowed}
        async with listening(with_token(settings), **options) as url, httpx.AsyncClient() as client:
            for origin, host in (
                (listed, "localhost"),
                (other, "localhost"),
                (ours, "localhost"),
                (listed, "app.example.org"),
            ):
                about = {"origin": origin, "host": host}
                is_listed = origin in allowed and host == "localhost"
                refused = 421 if host != "localhost" else 403
                asked = await client.options(url, headers=about | asks)
                strange = await client.post(url, json=body, headers=headers | about)
                served = await client.post(url, json=body, headers=headers | about | bearer)
                if is_listed:
                    assert (asked.status_code, strange.status_code, served.status_code) == (200, 401, 200)
                    assert asked.headers["access-control-allow-headers"] == "authorization,mcp-method"
                    assert "POST" in asked.headers["access-control-allow-methods"]
                    assert "Mcp-Session-Id" in served.headers["access-control-expose-headers"]
                elif origin == ours:
                    assert asked.status_code == (400 if allowed else 401)
                    assert (strange.status_code, served.status_code) == (401, 200)
                else:
                    assert {each.status_code for each in (asked, strange, served)} == {refused}
                for each in (asked, strange, served):
                    assert each.headers.get("access-control-allow-origin") == (listed if is_listed else None)
                    assert "access-control-allow-credentials" not in each.headers
                    assert "Origin" in each.headers.get("vary", "") or not is_listed


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
async def test_every_response_of_a_server_names_its_type_for_good(settings: Settings, host: str) -> None:
    own = f"{socket.gethostname()}:80" if host == "0.0.0.0" else "localhost"
    bearer = f"Authorization: Bearer {TOKEN}\r\n"
    async with listening(with_token(settings), host, allowed_hosts=("mcp.example.org",)) as url:
        for request, status in (
            (f"GET /healthz HTTP/1.1\r\nHost: {own}\r\n", 200),
            ("GET /healthz HTTP/1.1\r\nHost: localhost:1.evil.example\r\n", 421),
            ("GET /healthz HTTP/1.0\r\n", 421),
            ("GET /mcp HTTP/1.1\r\nHost: mcp.example.org\r\n", 401),
            (f"GET /nothing HTTP/1.1\r\nHost: {own}\r\n{bearer}", 404),
            (f"PUT /mcp HTTP/1.1\r\nHost: {own}\r\n{bearer}", 405),
            (f"GET http://localhost/mcp HTTP/1.1\r\nHost: {own}\r\n{bearer}", 404),
            (f"GET http://evil.example/healthz HTTP/1.1\r\nHost: {own}\r\n", 401),
            (f"GET /healthz HTTP/1.1\r\nHost: {own}\r\nHost: {own}\r\n", 400),
            ("GET /healthz HTTP/1.1\r\n", 400),
            ("nonsense\r\n", 400),
        ):
            answer = (await answered(url, request)).lower()
            assert answer.split()[1] == str(status), (request, answer)
            assert answer.count("x-content-type-options: nosniff") == 1, (request, answer)
            assert ("www-authenticate: bearer" in answer) == (status == 401)
            assert __version__ not in answer
            assert TOKEN not in answer


async def answered(url: str, request: str) -> str:
    """All that the server says to the head of a request."""
    async with await anyio.connect_tcp(
        "127.0.0.1", int(url.rpartition(":")[2].removesuffix("/mcp"))
    ) as stream:
        await stream.send(f"{request}Connection: close\r\n\r\n".encode())
        said = b""
        with suppress(anyio.EndOfStream):
            while True:
                said += await stream.receive()
    return said.decode()


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
    env = environment(drain_limit_s="0")
    async with started((sys.executable, str(TINY), "http"), env, tmp_path) as peer:
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
