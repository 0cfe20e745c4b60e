"""HTTP and TLS of tools in the embedded sandbox, which has neither: the host carries both."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Grants
from tests.sandbox.sites import Site, running_site
from tests.sandbox.test_broker_in_sandboxes import GET, library_files
from tests.sandbox.wasm.test_grants import call

pytestmark = pytest.mark.process

KEPT = f"""{GET}
def f(port):
    connection = http.client.HTTPSConnection("api.test", port, timeout=20)
    answers = []
    for number in range(3):
        connection.request("GET", f"/{{number}}")
        with connection.getresponse() as answer:
            answers.append(json.loads(answer.read())[0])
    names = connection.sock.getpeercert()["subjectAltName"]
    return [answers, connection.sock.version(), list(map(list, names)), len(connection.sock.getpeercert(True)) > 300]
"""
LIBRARIES = (
    GET
    + """
import asyncio, importlib.abc, importlib.util, os, select, sys, types
class Delivered(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, files):
        self.files = files
    def find_spec(self, name, path=None, target=None):
        base = name.replace(".", "/")
        for file, package in ((f"{base}/__init__.py", True), (f"{base}.py", False)):
            if file in self.files:
                return importlib.util.spec_from_loader(name, self, origin=file, is_package=package)
    def exec_module(self, module):
        exec(compile(self.files[module.__spec__.origin], module.__spec__.origin, "exec"), module.__dict__)
def deliver(files):
    sys.meta_path.insert(0, Delivered(files))
    certifi = types.ModuleType("certifi")
    certifi.where = certifi.contents = lambda: "/authorities.pem"
    sys.modules["certifi"] = certifi
    exists = os.path.exists
    os.path.exists = lambda path: path == certifi.where() or exists(path)
"""
)
REQUESTS = f"""{LIBRARIES}
def f(files, port, tls_port):
    deliver(files)
    import requests
    plain, safe = f"http://api.test:{{port}}/plain", f"https://api.test:{{tls_port}}/safe"
    session = requests.Session()
    return [
        attempt(lambda: requests.get(plain, timeout=20).json()),
        attempt(lambda: [session.get(safe, timeout=20).json() for _ in range(3)]),
        attempt(lambda: requests.get(safe, timeout=20, verify=False).json()),
        attempt(lambda: requests.post(plain, data=b"x" * 300_000, timeout=20).text),
        attempt(lambda: requests.get("http://other.test/", timeout=20).text.strip()),
        attempt(lambda: requests.get("https://other.test/", timeout=20).text),
    ]
"""
HTTPX = f"""{LIBRARIES}
def f(files, port, tls_port):
    deliver(files)
    import httpx
    plain, safe = f"http://api.test:{{port}}/plain", f"https://api.test:{{tls_port}}/safe"
    def several():
        with httpx.Client(verify=ssl.create_default_context()) as client:
            return [client.get(safe, timeout=20).json() for _ in range(3)]
    async def together():
        async with httpx.AsyncClient(verify=ssl.create_default_context()) as client:
            answers = await asyncio.gather(*(client.get(url, timeout=20) for url in (plain, safe, safe)))
        return [answer.json() for answer in answers]
    async def streams():
        reader, writer = await asyncio.open_connection("api.test", tls_port, ssl=ssl.create_default_context())
        writer.write(b"GET /streams HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n")
        data = await reader.read()
        writer.close()
        return data.split(b"\\r\\n")[0].decode()
    return [
        attempt(lambda: httpx.get(plain, timeout=20).json()),
        attempt(several),
        attempt(lambda: httpx.get("http://other.test/", timeout=20).text.strip()),
        attempt(lambda: httpx.get("https://other.test/", timeout=20).text),
        attempt(lambda: asyncio.run(together())),
        attempt(lambda: asyncio.run(streams())),
    ]
"""
REFUSED = 'grant "network": other.test is not granted'


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncIterator[WasmSandbox]:
    opened = WasmSandbox(settings)
    yield opened
    await opened.aclose()


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    """The one that this machine trusts."""
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return made


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as opened:
        yield opened


@pytest.fixture
def safe_site(authority: trustme.CA) -> Iterator[Site]:
    with running_site(authority) as opened:
        yield opened


def granted(*sites: Site) -> Grants:
    return Grants(network=tuple(f"api.test:{site.port}" for site in sites))


def sources() -> dict[str, str]:
    return {
        name: data.decode()
        for name, data in library_files().items()
        if name.endswith(".py") and not name.startswith("certifi")
    }


async def test_tls_is_verified_by_the_host_and_a_connection_is_used_again(
    sandbox: WasmSandbox, safe_site: Site
) -> None:
    result, broker = await call(sandbox, KEPT, granted(safe_site), port=safe_site.port)
    assert result.ok, result
    answers, version, names, has_bytes = result.value
    assert (answers, version, has_bytes) == (["/0", "/1", "/2"], "TLSv1.3", True)
    assert ["DNS", "api.test"] in names
    assert [event.status for event in broker.events] == ["ok"], "one connection for three requests"


async def test_an_unknown_authority_is_refused_whatever_a_tool_sets(
    sandbox: WasmSandbox, authority: trustme.CA
) -> None:
    code = f"""{GET}
def unverified():
    context = ssl._create_unverified_context()
    context.load_verify_locations(cadata="mine")
    return context
def f(port):
    url = f"https://api.test:{{port}}/"
    return [attempt(lambda: get(url)), attempt(lambda: get(url, context=unverified()))]
"""
    with running_site(trustme.CA()) as other:
        result, _ = await call(sandbox, code, granted(other), port=other.port)
    assert result.ok, result
    for kind, message in result.value:
        assert kind == "URLError"
        assert "certificate verify failed" in message
        assert "a tool can neither switch that off nor add an authority" in message
    assert other.seen == []


async def test_a_certificate_for_another_name_is_refused(sandbox: WasmSandbox, safe_site: Site) -> None:
    code = f"{GET}\ndef f(port):\n    return attempt(lambda: get(f'https://wrong.test:{{port}}/'))\n"
    grants = Grants(network=(f"wrong.test:{safe_site.port}",))
    result, _ = await call(sandbox, code, grants, port=safe_site.port)
    assert "Hostname mismatch" in result.value[1], result
    assert safe_site.seen == []


async def test_raw_sockets_carry_http_to_granted_hosts_and_nothing_else(
    sandbox: WasmSandbox, site: Site
) -> None:
    code = f"""{GET}
def talk(host, port, *pieces):
    with socket.create_connection((host, port), 20) as connection:
        for piece in pieces:
            connection.sendall(piece)
        return connection.makefile("rb").readline().decode().strip()
def f(port):
    end = f"Host: api.test:{{port}}\\r\\n\\r\\n".encode()
    return [attempt(what) for what in (
        lambda: talk("api.test", port, b"GET /a", b"b HTTP/1.1\\r\\n", end),
        lambda: talk("api.test", port, b"GET / HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n"),
        lambda: talk("other.test", 80, b"GET / HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n"),
        lambda: talk("api.test", port, b"EHLO me"),
        lambda: socket.getaddrinfo("api.test", port)[0][4][0].startswith("198.18."),
        lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("api.test", 53)),
        lambda: socket.socket().bind(("127.0.0.1", 0)),
    )]
"""
    result, _ = await call(sandbox, code, granted(site), port=site.port)
    assert result.ok, result
    whole, fronted, refused, greeting, address, *others = result.value
    assert whole == "HTTP/1.1 200 OK"
    assert fronted == "HTTP/1.1 400 the Host header names another host than the URL"
    assert refused == f"HTTP/1.1 403 {REFUSED}"
    assert greeting == "HTTP/1.1 400 no HTTP request"
    assert address is True
    assert {name for name, _ in others} == {"PermissionError"}
    assert [seen[0] for seen in site.seen] == ["/ab"]


async def test_without_the_grant_every_socket_names_it(sandbox: WasmSandbox) -> None:
    code = f"""{GET}
def f():
    return [attempt(what) for what in (
        lambda: socket.create_connection(("api.test", 80), 1), lambda: socket.getaddrinfo("api.test", 80),
        lambda: socket.gethostbyname("api.test"), lambda: socket.socket().connect(("127.0.0.1", 80)))]
"""
    for grants in (Grants(), Grants(model=True)):
        result, broker = await call(sandbox, code, grants)
        assert [kind for kind, _ in result.value] == ["PermissionError"] * 4, result
        assert all('needs the grant "network"' in message for _, message in result.value)
        assert broker.events == []


async def test_a_time_out_of_a_tool_is_its_own(sandbox: WasmSandbox, site: Site) -> None:
    code = f"""{GET}
def f(port):
    try:
        urllib.request.urlopen(f"http://api.test:{{port}}/held", timeout=0.3)
    except TimeoutError as late:
        return str(late)
"""
    result, _ = await call(sandbox, code, granted(site), port=site.port)
    assert result.value == "timed out", result


@pytest.mark.parametrize("code", [REQUESTS, HTTPX], ids=["requests", "httpx"])
async def test_libraries_work_as_they_are(
    sandbox: WasmSandbox, site: Site, safe_site: Site, code: str
) -> None:
    arguments: dict[str, Any] = {"files": sources(), "port": site.port, "tls_port": safe_site.port}
    result, _ = await call(sandbox, code, granted(site, safe_site), **arguments)
    assert result.ok, result
    plain = ["/plain", [f"api.test:{site.port}"], None]
    safe = ["/safe", [f"api.test:{safe_site.port}"], None]
    if code is REQUESTS:
        assert result.value[:5] == [plain, [safe] * 3, safe, "300000", REFUSED], json.dumps(result.value)
        assert REFUSED in result.value[5][1]
    else:
        assert result.value[:3] == [plain, [safe] * 3, REFUSED], json.dumps(result.value)
        assert REFUSED in result.value[3][1]
        assert result.value[4] == [plain, safe, safe], json.dumps(result.value)
        assert result.value[5] == "HTTP/1.1 200 OK", json.dumps(result.value)
