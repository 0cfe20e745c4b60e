"""The broker with real sandboxes: libraries reach granted hosts and no others, doors open with their grants."""

from __future__ import annotations

import importlib.util
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme

from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.broker.host_services import HostServices
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.values import Grants, Limits
from tests.sandbox.sites import HERE, Site, resolved, running_site
from tests.sandbox.tars import making, tar_of

WAIT_SECONDS = 120
LIBRARIES = (
    "requests", "urllib3", "idna", "certifi", "charset_normalizer", "httpx", "httpcore", "h11", "anyio", "sniffio",
    "typing_extensions",
)  # fmt: skip
GET = """
import http.client, json, os, urllib.error, urllib.request

def attempt(what):
    try:
        return what()
    except urllib.error.HTTPError as refused:
        return [refused.code, refused.read().decode().strip()]
    except Exception as refused:
        return [type(refused).__name__, str(refused)]

def get(url, **options):
    with urllib.request.urlopen(url, timeout=20, **options) as answer:
        return [answer.status, answer.read().decode()]
"""


def library_files() -> dict[str, bytes]:
    """The pure Python of libraries that are installed here, for any Python inside."""
    files = {}
    for name in LIBRARIES:
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:
            continue
        folder = Path(found.origin).parent
        paths = folder.rglob("*") if found.submodule_search_locations else [Path(found.origin)]
        for path in paths:
            if path.suffix in {".py", ".pem"}:
                files[
                    str(path.relative_to(folder.parent if found.submodule_search_locations else folder))
                ] = path.read_bytes()
    return files


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}  # not the home


class BrokerContract:
    """Subclasses give the fixtures `sandbox` and `digest`, which is new for each test and cleaned up."""

    @pytest.fixture
    def site(self) -> Iterator[Site]:
        with running_site() as site:
            yield site

    async def call(
        self,
        sandbox: IsolatedSandbox,
        code: str,
        grants: Grants,
        services: HostServices | None = None,
        **more: Any,
    ) -> tuple[RunResult, GrantedBroker]:
        limits = more.pop("limits", Limits(wall_seconds=60))
        environment = more.pop("environment", None)
        broker = GrantedBroker(grants, limits, services or HostServices(resolve=resolved, reachable=HERE))
        job = Job(
            code=code, function="f", arguments=more, limits=limits, grants=grants, environment=environment
        )
        with anyio.fail_after(WAIT_SECONDS):
            return await sandbox.run(job, broker), broker

    async def test_urllib_reaches_granted_hosts_and_no_others(
        self, sandbox: IsolatedSandbox, site: Site
    ) -> None:
        code = f"""{GET}
def f(port):
    return [attempt(lambda: get(url)) for url in (
        f"http://api.test:{{port}}/a?b", "http://other.test/", f"http://api.test:{{port}}/to/other.test",
        "http://169.254.169.254/latest/meta-data/", "https://other.test/", "http://2130706433/", "http://[::1]/")]
"""
        result, broker = await self.call(
            sandbox, code, Grants(network=(f"api.test:{site.port}",)), port=site.port
        )
        assert result.ok, result
        here, other, moved, metadata, https, decimal, sixth = result.value
        assert here == [200, json.dumps(["/a?b", [f"api.test:{site.port}"], None])]
        assert other == moved == [403, 'grant "network": other.test is not granted']
        assert metadata == [403, 'grant "network": 169.254.169.254 is not granted']
        assert 'grant "network": other.test is not granted' in https[1]
        assert decimal[0] == sixth[0] == 403
        assert [event.status for event in broker.events if event.door == "network"].count("ok") == 2

    async def test_many_connections_at_once_all_get_their_answers(
        self, sandbox: IsolatedSandbox, site: Site
    ) -> None:
        code = f"""{GET}
from concurrent.futures import ThreadPoolExecutor
def f(port):
    with ThreadPoolExecutor(16) as threads:
        return [len(text) for _, text in threads.map(get, [f"http://api.test:{{port}}/big/100000"] * 40)]
"""
        result, broker = await self.call(
            sandbox, code, Grants(network=(f"api.test:{site.port}",)), port=site.port
        )
        assert result.ok, result
        assert result.value == [100_000] * 40
        assert len(broker.events) == 40

    async def test_connections_that_a_call_left_unaccepted_are_not_served_in_the_next(
        self, sandbox: IsolatedSandbox, site: Site
    ) -> None:
        code = f"""{GET}
import contextlib, socket
kept = []
def connect(count, said):
    with contextlib.suppress(OSError):  # the queue is full
        for _ in range(count):
            kept.append(socket.create_connection(("127.0.0.1", 3128), 0.05))
    for connection in kept[-count:]:  # what is not accepted yet, the kernel sends again and again
        connection.sendall(said)
def f(port, hostile):
    if hostile:  # as many as are served at once, and more of them than wait in the queue
        connect(32, b"G")
        connect(60, b"GET http://api.test:%d/stale HTTP/1.0\\r\\n\\r\\n" % port)
        return len(kept)
    return len([get(f"http://api.test:{{port}}/own") for _ in range(150)])
"""
        grants = Grants(network=(f"api.test:{site.port}",))
        for hostile in (True, False):
            result, broker = await self.call(sandbox, code, grants, port=site.port, hostile=hostile)
            assert result.ok, result
        assert len(broker.events) == 150

    async def test_every_door_opens_with_its_grant(self, sandbox: IsolatedSandbox, tmp_path: Path) -> None:
        async def complete(prompt: str, **_options: Any) -> str:
            return prompt.upper()

        async def call_tool(name: str, arguments: dict[str, Any], *, chain: tuple[str, ...]) -> Any:
            inner = "def f(numbers):\n    return sum(numbers)\n"
            result, _ = await self.call(sandbox, inner, Grants(), **arguments)
            return [result.value, list(chain)]

        (tmp_path / "in.txt").write_text("from the host")
        code = """
import alita_tool
def f():
    text = alita_tool.read_text("in.txt")
    alita_tool.write_text("out.txt", text.upper())
    secret = alita_tool.secret("KEY")
    print(secret)
    return [text, alita_tool.complete("hello"), alita_tool.call_tool("other_tool", numbers=[1, 2]), secret]
"""
        grants = Grants(workspace="write", model=True, tools=("other_tool",), secrets=("KEY",))
        services = HostServices(
            complete=complete,
            call_tool=call_tool,
            secrets={"KEY": "hunter2"},
            workspace=tmp_path,
            chain=("f",),
        )
        result, broker = await self.call(sandbox, code, grants, services)
        assert result.ok, result
        assert result.value == ["from the host", "HELLO", [3, ["f", "other_tool"]], "hunter2"]
        assert (tmp_path / "out.txt").read_text() == "FROM THE HOST"
        cleaned = broker.redact_result(result)
        assert (cleaned.value[3], cleaned.stdout) == ("[secret]", "[secret]\n")
        assert {event.door for event in broker.events} == {"workspace", "complete", "call_tool", "secret"}

    async def test_every_door_stays_shut_without_its_grant(
        self, sandbox: IsolatedSandbox, tmp_path: Path
    ) -> None:
        code = """
import alita_tool
def f():
    told = []
    for use in (lambda: alita_tool.complete("x"), lambda: alita_tool.call_tool("x"), lambda: alita_tool.secret("x"),
                lambda: alita_tool.write_text("out.txt", "x")):
        try:
            told.append(use())
        except PermissionError as refused:
            told.append(str(refused))
    return told
"""
        services = HostServices(workspace=tmp_path, secrets={"x": "hunter2"})
        for grants, last in (
            (Grants(), "'workspace', which"),
            (Grants(workspace="read"), "'workspace': 'write'"),
        ):
            result, _ = await self.call(sandbox, code, grants, services)
            assert result.ok, result
            words = ("'model'", "'tools'", "'secrets'", last)
            assert all(word in text for word, text in zip(words, result.value, strict=True)), result.value
        assert contents(tmp_path) == {}

    async def test_requests_and_httpx_go_through_the_proxy_with_and_without_tls(
        self, sandbox: IsolatedSandbox, site: Site, digest: str
    ) -> None:
        environment = await sandbox.environments.obtain(digest, making(tar_of(library_files())))
        authority = trustme.CA()
        code = f"""{GET}
import httpx, requests, ssl
def f(port, tls_port, authority):
    with open("/tmp/authority.pem", "w") as file:
        file.write(authority)
    context = ssl.create_default_context(cadata=authority)
    plain, safe = f"http://api.test:{{port}}/plain", f"https://api.test:{{tls_port}}/safe"
    return [
        attempt(lambda: requests.get(plain, timeout=20).json()),
        attempt(lambda: requests.get(safe, timeout=20, verify="/tmp/authority.pem").json()),
        attempt(lambda: requests.post(plain, data=b"x" * 300_000, timeout=20).text),
        attempt(lambda: requests.get("http://other.test/", timeout=20).text.strip()),
        attempt(lambda: requests.get("https://other.test/", timeout=20).text),
        attempt(lambda: httpx.get(plain, timeout=20).json()),
        attempt(lambda: httpx.get(safe, timeout=20, verify=context).json()),
        attempt(lambda: httpx.get("http://other.test/", timeout=20).text.strip()),
        attempt(lambda: httpx.get("https://other.test/", timeout=20).text),
        attempt(lambda: json.loads(get(safe, context=context)[1])),
    ]
"""
        with running_site(authority) as tls_site:
            grants = Grants(network=(f"api.test:{site.port}", f"api.test:{tls_site.port}"))
            result, _ = await self.call(
                sandbox, code, grants, environment=environment, port=site.port, tls_port=tls_site.port,
                authority=authority.cert_pem.bytes().decode(),
            )  # fmt: skip
        assert result.ok, result
        await sandbox.aclose()  # a warm worker holds on to its environment, which is about to be removed
        refused = 'grant "network": other.test is not granted'
        plain = ["/plain", [f"api.test:{site.port}"], None]
        safe = ["/safe", [f"api.test:{tls_site.port}"], None]
        assert result.value[:4] == [plain, safe, "300000", refused]
        assert refused in result.value[4][1]
        assert result.value[5:8] == [plain, safe, refused]
        assert refused in result.value[8][1]
        assert result.value[9] == safe

    async def test_a_tunnel_is_tls_for_the_granted_name_or_nothing(self, sandbox: IsolatedSandbox) -> None:
        code = f"""{GET}
import socket, ssl
def through(port, talk):
    with socket.create_connection(("127.0.0.1", 3128), 20) as connection:
        connection.sendall(f"CONNECT api.test:{{port}} HTTP/1.0\\r\\n\\r\\n".encode())
        connection.recv(1000)
        return talk(connection)
def plain(connection):
    connection.sendall(b"GET / HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n")
    return connection.recv(1000).decode()
def named(name):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return lambda connection: context.wrap_socket(connection, server_hostname=name).version()
def f(port):
    return [attempt(lambda: through(port, talk))
            for talk in (named("api.test"), named("other.test"), named(None), plain)]
"""
        with running_site(trustme.CA()) as site:
            result, _ = await self.call(
                sandbox, code, Grants(network=(f"api.test:{site.port}",)), port=site.port
            )
        assert result.ok, result
        assert result.value[0].startswith("TLS")
        assert {answer[0] if answer else "" for answer in result.value[1:]} <= {
            "ConnectionResetError", "SSLEOFError", "SSLZeroReturnError", "",
        }  # fmt: skip
        assert site.seen == []

    async def test_a_server_that_never_answers_is_ended_with_the_call(
        self, sandbox: IsolatedSandbox, site: Site
    ) -> None:
        code = f"{GET}\ndef f(port):\n    return get(f'http://api.test:{{port}}/held')\n"
        grants, limits = Grants(network=(f"api.test:{site.port}",)), Limits(wall_seconds=2)
        result, broker = await self.call(sandbox, code, grants, limits=limits, port=site.port)
        assert result.status == "timeout"
        assert [event.door for event in broker.events] == ["network"]

    async def test_a_call_that_fails_leaves_the_workspace_as_it_was(
        self, sandbox: IsolatedSandbox, tmp_path: Path
    ) -> None:
        (tmp_path / "a.txt").write_text("before")
        code = """
import alita_tool
def f():
    alita_tool.write_text("a.txt", "after")
    alita_tool.write_text("new", "new")
    raise ValueError("no")
"""
        result, _ = await self.call(
            sandbox, code, Grants(workspace="write"), HostServices(workspace=tmp_path)
        )
        assert (result.status, result.error_type) == ("error", "ValueError")
        assert contents(tmp_path) == {"a.txt": "before"}


@pytest.mark.bubblewrap
class TestBubblewrapBroker(BrokerContract):
    @pytest.fixture
    def sandbox(self, bubblewrap_sandbox: BubblewrapSandbox) -> BubblewrapSandbox:
        return bubblewrap_sandbox

    @pytest.fixture
    def digest(self) -> str:
        return uuid.uuid4().hex


@pytest.mark.docker
@pytest.mark.exhaustive
class TestDockerBroker(BrokerContract):
    @pytest.fixture
    def sandbox(self, docker_digest: str, docker_sandbox: DockerSandbox) -> DockerSandbox:
        return docker_sandbox

    @pytest.fixture
    def digest(self, docker_digest: str) -> str:
        return docker_digest
