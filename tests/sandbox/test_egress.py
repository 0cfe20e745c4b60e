"""Egress: a builder without a network reaches exactly the hosts on its list, through frames and a proxy outside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import trustme

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.isolated import IsolatedSandbox
from tests.sandbox.contract_environments import Builds
from tests.sandbox.sites import Site, running_site

PRELUDE = """
import json, socket, ssl, sys, threading, urllib.error, urllib.request
PORT, TLS_PORT, AUTHORITY = json.load(open(sys.argv[1]))
HERE = f"http://127.0.0.1:{PORT}"
def get(url, data=None, headers={}):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
            return [answer.status, answer.read().decode()]
    except urllib.error.HTTPError as refused:
        return [refused.code, refused.read().decode()]
    except OSError as refused:
        return [type(refused).__name__, str(refused)]
def raw(text, then=b""):
    with socket.create_connection(("127.0.0.1", 3128), 30) as connection:
        connection.settimeout(30)
        connection.sendall(text if isinstance(text, bytes) else text.encode())
        if then:
            connection.sendall(then)
        out = b""
        try:
            while piece := connection.recv(65536):
                out += piece
        except OSError as broken:
            return type(broken).__name__
    return out.decode("latin-1")
def answer(value):
    with open(sys.argv[2], "w") as file:
        json.dump(value, file)
"""


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as site:
        yield site


class EgressContract:
    async def ask(
        self, sandbox: IsolatedSandbox, site: Site, program: str, tls: tuple[int, str] = (0, "")
    ) -> Any:
        hosts = frozenset(
            {f"127.0.0.1:{site.port}", f"127.0.0.1:{tls[0]}", "LOCALHOST:1", "nowhere.invalid:80"}
        )
        payload = json.dumps([site.port, *tls]).encode()
        return json.loads(await Builds(sandbox).run(PRELUDE + program, payload, hosts=hosts))

    async def test_only_hosts_on_the_list_are_reached(self, sandbox: IsolatedSandbox, site: Site) -> None:
        here, other, port, metadata, https, moved, down, unknown = await self.ask(sandbox, site, """
answer([get(HERE + "/a?b=1", headers={"X-Own": "1"}), get("http://example.org/"), get("http://127.0.0.1:1/"),
        get("http://169.254.169.254/latest"), get("https://example.org/"), get(HERE + "/to/elsewhere.invalid"),
        get("http://localhost:1/"), get("http://nowhere.invalid/")])
""")  # fmt: skip
        assert here == [200, json.dumps(["/a?b=1", [f"127.0.0.1:{site.port}"], "1"])]
        assert {other[0], port[0], metadata[0], moved[0]} == {403}
        assert "403" in https[1]
        assert (down[0], unknown[0]) == (502, 502)

    async def test_odd_requests_get_an_answer_and_reach_nothing(
        self, sandbox: IsolatedSandbox, site: Site
    ) -> None:
        answers = await self.ask(sandbox, site, r"""
answer([raw(text) for text in (
    "GET / HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n", b"\x16\x03\x01\r\n\r\n", b"GET http://\xff/ HTTP/1.1\r\n\r\n",
    f"GET http://127.0.0.1:{PORT}@example.org/ HTTP/1.1\r\n\r\n", "CONNECT example.org HTTP/1.1\r\n\r\n",
    "CONNECT 127.0.0.1:99999 HTTP/1.1\r\n\r\n", "CONNECT [::1]:x HTTP/1.1\r\n\r\n",
    f"POST {HERE}/ HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
    f"POST {HERE}/ HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nContent-Length: -5\r\n\r\n", "GET " + "x" * 20000,
)])
""")  # fmt: skip
        assert [answer.split(" ")[1] for answer in answers] == ["400"] * 11
        assert site.seen == []

    async def test_a_second_request_never_hides_behind_the_first(
        self, sandbox: IsolatedSandbox, site: Site
    ) -> None:
        text = await self.ask(sandbox, site, r"""
second = f"GET {HERE}/second HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\n\r\n"
answer(raw(f"GET {HERE}/first HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\n\r\n{second}", second.encode()))
""")  # fmt: skip
        assert text.startswith("HTTP/1.1 200")
        assert [path for path, *_ in site.seen] == ["/first"]

    async def test_a_tunnel_carries_tls_and_nothing_else(self, sandbox: IsolatedSandbox, site: Site) -> None:
        authority = trustme.CA()
        with running_site(authority) as tls_site:
            tls = (tls_site.port, authority.cert_pem.bytes().decode())
            page, plain, other = await self.ask(sandbox, site, r"""
context = ssl.create_default_context(cadata=AUTHORITY)
opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
with opener.open(f"https://127.0.0.1:{TLS_PORT}/through", timeout=30) as through:
    page = through.read().decode()
connect = f"CONNECT 127.0.0.1:{TLS_PORT} HTTP/1.0\r\n\r\n".encode()
plain = raw(connect, b"GET /plain HTTP/1.1\r\nHost: me\r\n\r\n")
with socket.create_connection(("127.0.0.1", 3128), 30) as connection:
    connection.sendall(connect)
    connection.recv(1000)
    try:
        context.check_hostname = False
        context.wrap_socket(connection, server_hostname="elsewhere.invalid")
        other = "reached"
    except OSError as broken:
        other = type(broken).__name__
answer([page, plain, other])
""", tls)  # fmt: skip
        assert json.loads(page)[0] == "/through"
        assert plain in {"ConnectionResetError", "HTTP/1.1 200 Connection established\r\n\r\n"}
        assert other != "reached"
        assert [path for path, *_ in tls_site.seen] == ["/through"]

    async def test_much_goes_through_in_both_directions(self, sandbox: IsolatedSandbox, site: Site) -> None:
        down, up, many = await self.ask(sandbox, site, r"""
sizes = []
threads = [threading.Thread(target=lambda: sizes.append(len(get(HERE + "/big/300000")[1]))) for _ in range(20)]
down = len(get(HERE + "/big/20000000")[1])
up = get(HERE + "/up", b"y" * 20_000_000)
[thread.start() for thread in threads]
[thread.join() for thread in threads]
answer([down, up, sizes])
""")  # fmt: skip
        assert down == 20_000_000
        assert up == [200, "20000000"]
        assert many == [300_000] * 20

    async def test_connections_that_end_early_or_idle_do_no_harm(
        self, sandbox: IsolatedSandbox, site: Site
    ) -> None:
        value = await self.ask(sandbox, site, r"""
held = [socket.create_connection(("127.0.0.1", 3128), 30) for _ in range(20)]
for connection in held[:10]:
    connection.sendall(f"GET {HERE}/big/5000000 HTTP/1.0\r\n\r\n".encode())
    connection.close()
held[10].sendall(b"CONNECT 127.0.0.1:%d HTTP/1.0\r\n\r\n" % PORT)
held[11].shutdown(socket.SHUT_WR)
broken = get(HERE + "/broken")
more = []
for _ in range(50):
    more.append(socket.create_connection(("127.0.0.1", 3128), 30))
for connection in more + held[10:]:
    connection.close()
answer([broken[0], get(HERE + "/after")[0]])
""")  # fmt: skip
        assert value[1] == 200


@pytest.mark.bubblewrap
class TestBubblewrapEgress(EgressContract):
    @pytest.fixture
    def sandbox(self, bubblewrap_sandbox: BubblewrapSandbox) -> BubblewrapSandbox:
        return bubblewrap_sandbox


@pytest.mark.docker
class TestDockerEgress(EgressContract):
    @pytest.fixture
    def sandbox(self, docker_sandbox: DockerSandbox) -> DockerSandbox:
        return docker_sandbox
