"""HTTP of tools in the embedded sandbox, which has neither sockets nor TLS: the host sends each request."""

from __future__ import annotations

import base64
import json
import socketserver
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme

from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, Limits
from tests.sandbox.sites import Site, running_site
from tests.sandbox.test_broker_in_sandboxes import GET, WAIT_SECONDS
from tests.sandbox.wasm.test_grants import RAW, call
from tests.tables import each_case

pytestmark = pytest.mark.process

RESPONSES = {
    b"/until-the-end": b"HTTP/1.0 200 OK\r\n\r\nno length",
    b"/short": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
    b"/none": b"",
    b"/long": b"HTTP/1.1 200 OK\r\nContent-Length: 600000\r\n\r\n" + b"x" * 600_000,
}
"""What a raw site answers, by path."""


class _RawAnswers(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        request = b""
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            request += line
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        head, path = request, request.split(b" ")[1]
        if b"content-length:" in head.lower():
            request += b"\r\n" + self.rfile.read(length)
        while b"encoding: chunked" in head.lower() and not request.endswith(b"\r\n0\r\n\r\n"):
            request += self.rfile.readline()
        self.server.seen.append(request)  # type: ignore[attr-defined]
        if path == b"/echo":
            answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(request) + request
        else:
            answer = RESPONSES[path]
        self.wfile.write(answer)


@contextmanager
def raw_site() -> Iterator[tuple[int, list[bytes]]]:
    """A site that answers byte for byte; its port, and the requests that it saw."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _RawAnswers) as server:
        server.daemon_threads, server.seen = True, []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1], server.seen  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncIterator[WasmSandbox]:
    opened = WasmSandbox(settings)
    yield opened
    await opened.aclose()


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as opened:
        yield opened


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    """The one that this machine trusts."""
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return made


def granted(*ports: int) -> Grants:
    return Grants(network=tuple(f"api.test:{port}" for port in ports))


async def value_of(sandbox: WasmSandbox, body: str, grants: Grants, **arguments: Any) -> Any:
    """What `f(port)` with this body returns."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    result, _ = await call(sandbox, f"{GET}\ndef f(port=0):\n{lines}", grants, **arguments)
    assert result.ok, result
    return result.value


CONNECT = "connection = http.client.HTTPConnection('api.test', port, timeout=20)\n"
AS_WRITTEN: dict[str, tuple[str, Any]] = {
    "several requests on one connection": (
        f"""{CONNECT}
def ask():
    connection.request('GET', '/echo')
    with connection.getresponse() as answer:
        return answer.read().split()[1].decode()
return [ask() for _ in range(3)]
""",
        ["/echo"] * 3,
    ),
    "own headers and method": (
        f"""{CONNECT}
connection.request('PURGE', '/echo', headers={{'X-Own': 'a b', 'Expect': '100-continue'}})
return connection.getresponse().read().decode().replace(str(port), 'PORT').splitlines()
""",
        [
            "PURGE /echo HTTP/1.1", "host: api.test:PORT", "connection: close", "accept-encoding: identity",
            "x-own: a b", "expect: 100-continue",
        ],
    ),
    "a body in chunks": (
        f"""{CONNECT}
connection.request('POST', '/echo', body=iter([b'one', b'two']))
return connection.getresponse().read().decode().split()[-5:]
""",
        ["3", "one", "3", "two", "0"],
    ),
    "a body piece by piece": (
        f"""{CONNECT}
connection.putrequest('PUT', '/echo')
connection.putheader('Content-Length', '4')
connection.endheaders()
connection.send(b'ab')
connection.send(b'cd')
return connection.getresponse().read()[-4:].decode()
""",
        "abcd",
    ),
    "a long body": (
        f"""{CONNECT}
connection.request('POST', '/echo', body=b'x' * 1_500_000)
return connection.getresponse().read().count(b'x')
""",
        1_500_000,
    ),
    "a response without a length": ("return get(f'http://api.test:{port}/until-the-end')", [200, "no length"]),
    "a long response in pieces": (
        """
with urllib.request.urlopen(f'http://api.test:{port}/long') as answer:
    sizes = [len(answer.read(250_000)) for _ in range(4)]
return [answer.headers['Content-Length'], sizes]
""",
        ["600000", [250_000, 250_000, 100_000, 0]],
    ),
    "fewer bytes than announced": (
        "return attempt(lambda: get(f'http://api.test:{port}/short'))",
        ["IncompleteRead", "IncompleteRead(3 bytes read, 7 more expected)"],
    ),
    "no response": ("return attempt(lambda: get(f'http://api.test:{port}/none'))[0]", "RemoteDisconnected"),
    "nobody listens": ("return attempt(lambda: get('http://api.test:9/'))", [502, "api.test:9 cannot be reached"]),
    "another Host header": (
        """
asked = urllib.request.Request(f'http://api.test:{port}/echo', headers={'Host': 'b.test'})
return attempt(lambda: get(asked))
""",
        ["ValueError", "the Host header names another host than the URL"],
    ),
    "a header with a line end": (
        """
asked = urllib.request.Request(f'http://api.test:{port}/', headers={'X': 'a\\r\\nY: b'})
return attempt(lambda: get(asked))[0]
""",
        "ValueError",
    ),
}  # fmt: skip


async def test_http_client_and_urllib_work_as_they_are_written(sandbox: WasmSandbox) -> None:
    found = {}
    with raw_site() as (port, _seen):
        for case, (body, _expected) in AS_WRITTEN.items():
            found[case] = await value_of(sandbox, body, granted(port, 9), port=port)
    assert found == {case: expected for case, (_body, expected) in AS_WRITTEN.items()}


SECURE = "return attempt(lambda: get(f'https://NAME:{port}/safe'))"


@each_case(
    "name, known, expected",
    [
        ("api.test", True, [200, "/safe"]),
        ("api.test", False, "certificate verify failed"),
        ("wrong.test", True, "Hostname mismatch"),
        ("other.test", True, "is not granted"),
    ],
)
async def test_the_host_verifies_tls(
    sandbox: WasmSandbox, authority: trustme.CA, name: str, known: bool, expected: Any
) -> None:
    with running_site(authority if known else trustme.CA()) as site:
        hosts = (f"api.test:{site.port}", f"wrong.test:{site.port}")
        body = SECURE.replace("NAME", name)
        status, said = await value_of(sandbox, body, Grants(network=hosts), port=site.port)
    if expected == [200, "/safe"]:
        assert (status, json.loads(said)[0]) == (200, "/safe")
    else:
        assert (status, site.seen) == ("URLError", [])
        assert expected in said


async def test_sockets_and_ssl_say_what_to_use_instead(sandbox: WasmSandbox) -> None:
    body = """
import asyncio, smtplib, socket
return [attempt(what) for what in (
    lambda: socket.socket(), lambda: socket.create_connection(("api.test", 80)), lambda: socket.getaddrinfo("a", 80),
    lambda: socket.gethostbyname("api.test"), lambda: asyncio.run(asyncio.open_connection("api.test", 80)),
    lambda: smtplib.SMTP("api.test"), lambda: __import__("ssl"))]
"""
    *sockets, ssl = await value_of(sandbox, body, granted(80))
    assert {kind for kind, _ in sockets} == {"PermissionError"}
    assert all("has no sockets: use urllib.request or http.client" in said for _, said in sockets)
    assert ssl[0] == "ModuleNotFoundError"
    assert "urllib.request and http.client speak HTTPS without it here" in ssl[1]


async def test_without_the_grant_http_names_it(sandbox: WasmSandbox) -> None:
    body = "return [attempt(lambda: get(url)) for url in ('http://api.test/', 'https://api.test/')]"
    for grants in (Grants(), Grants(model=True)):
        for kind, said in await value_of(sandbox, body, grants):
            assert kind == "URLError"
            assert 'a connection to api.test needs the grant "network"' in said


async def test_a_time_out_of_a_tool_is_its_own(sandbox: WasmSandbox, site: Site) -> None:
    body = """
try:
    urllib.request.urlopen(f"http://api.test:{port}/held", timeout=0.3)
except TimeoutError as late:
    return str(late)
"""
    assert await value_of(sandbox, body, granted(site.port), port=site.port) == "timed out"


async def test_the_bytes_of_a_call_are_bounded(sandbox: WasmSandbox, site: Site) -> None:
    code = f"{GET}\ndef f(port):\n    return attempt(lambda: len(get(f'http://api.test:{{port}}/big/5000000')[1]))\n"
    limits = Limits(wall_seconds=60, network_bytes=1 << 20)
    result, broker = await call(sandbox, code, granted(site.port), limits=limits, port=site.port)
    assert result.value == ["PermissionError", "more than 1048576 bytes over the network (network_bytes)"]
    assert sum(event.bytes_in for event in broker.events) < 2 << 20


@each_case(
    "written, question",
    [
        ("GET / HTTP/1.1\r\nX-Own: 1", {}),
        ("GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n", {}),
        ("CONNECT api.test:80 HTTP/1.1\r\nHost: api.test\r\n\r\n", {}),
        ("GET / HTTP/1.1\r\nhOST: other.test\r\n\r\n", {}),
        ("GET / HTTP/1.1\r\nHost: api.test\r\nX\rY: a\r\n\r\n", {}),
        ("POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 9\r\n\r\nabc", {}),
        ("POST / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {}),
        ("", {"host": "api.test/@other.test"}),
        ("", {"host": "me@api.test"}),
        ("", {"host": "api.test\r\nX: y"}),
        ("", {"port": 0}),
        ("", {"do": "connect"}),
        ("", {"seconds": -1}),
    ],
)
async def test_a_forged_question_reaches_no_server(
    sandbox: WasmSandbox, written: str, question: dict[str, Any]
) -> None:
    code = f"{RAW}\ndef f(question):\n    return json.loads(HOST.network(json.dumps(question)))\n"
    with raw_site() as (port, seen):
        data = (written or "GET /echo HTTP/1.1\r\nHost: api.test\r\n\r\n").replace(
            "api.test", f"api.test:{port}"
        )
        asked = {
            "do": "send",
            "host": "api.test",
            "port": port,
            "data": base64.b64encode(data.encode()).decode(),
        }
        result, _ = await call(sandbox, code, granted(port), question=asked | question)
    assert result.ok, result
    assert list(result.value) == ["error"]
    assert seen == []


async def test_a_second_request_behind_the_first_one_reaches_no_server(sandbox: WasmSandbox) -> None:
    body = f"""{CONNECT}
written = b'abcGET /second HTTP/1.1\\r\\nHost: b\\r\\n\\r\\n'
connection.request('POST', '/echo', body=written, headers={{'Content-Length': '3'}})
return connection.getresponse().read()[-3:].decode()
"""
    with raw_site() as (port, seen):
        assert await value_of(sandbox, body, granted(port), port=port) == "abc"
    assert len(seen) == 1


async def test_a_call_that_ends_closes_what_it_left_open(sandbox: WasmSandbox, site: Site) -> None:
    body = "urllib.request.urlopen(f'http://api.test:{port}/big/5000000', timeout=20)\nreturn True"
    result, broker = await call(
        sandbox, f"{GET}\nkept = []\ndef f(port):\n    kept.append({body.splitlines()[0]})\n    return True\n",
        granted(site.port), port=site.port,
    )  # fmt: skip
    assert result.value is True, result
    assert [event.status for event in broker.events] == ["ok"], (
        "an event is noted when its connection is closed"
    )


async def test_a_cancelled_call_closes_its_connection(sandbox: WasmSandbox) -> None:
    closed, asked = anyio.Event(), anyio.Event()

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            asked.set()
            try:
                await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                closed.set()

    code = f"{GET}\ndef f(port):\n    return get(f'http://api.test:{{port}}/')\n"
    with anyio.fail_after(WAIT_SECONDS):
        async with (
            await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
            anyio.create_task_group() as server,
        ):
            server.start_soon(listener.serve, serve)
            port = listener.extra(anyio.abc.SocketAttribute.local_port)
            async with anyio.create_task_group() as tasks:

                async def run() -> None:
                    await call(sandbox, code, granted(port), port=port)

                tasks.start_soon(run)
                await asked.wait()
                tasks.cancel_scope.cancel()
            await closed.wait()
            server.cancel_scope.cancel()
