"""Environments built in the real sandboxes and used by tools there; the index is ours, on loopback."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import PackagesRejected, SandboxError
from alita_mcp.sandbox.bubblewrap import BubblewrapSandbox
from alita_mcp.sandbox.docker import DockerSandbox
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.sandbox.seam import Environment, Job
from alita_mcp.settings import Settings
from tests.sandbox.package_index import Index, sdist, serving, wheel

WAIT_SECONDS = 300
TOOL = """
import json, sys
import courteous

def tool(name):
    try:
        open(courteous.__file__, "a").close()
        written = True
    except OSError:
        written = False
    ran = [name for name in ("pth_ran", "sitecustomize", "usercustomize") if name in sys.modules]
    return [courteous.greet(name), json.dumps([1]), ran, written]
"""
REACH = """
import http.client, json, socket, sys

def attempt(what):
    try:
        return str(what())
    except OSError as problem:
        return type(problem).__name__

def through_proxy(url):
    connection = http.client.HTTPConnection("127.0.0.1", 3128, timeout=20)
    connection.request("GET", url)
    return connection.getresponse().status

def tunnel(host, port):
    connection = http.client.HTTPConnection("127.0.0.1", 3128, timeout=20)
    connection.set_tunnel(host, port)
    connection.connect()

index, other = json.load(open(sys.argv[1]))
found = {
    "index": attempt(lambda: through_proxy(f"http://127.0.0.1:{index}/simple/")),
    "other port": attempt(lambda: through_proxy(f"http://127.0.0.1:{other}/simple/")),
    "other name": attempt(lambda: through_proxy(f"http://localhost:{index}/simple/")),
    "tunnel": attempt(lambda: tunnel("127.0.0.1", other)),
    "direct": attempt(lambda: socket.create_connection(("127.0.0.1", index), 5)),
    "name": attempt(lambda: socket.getaddrinfo("example.org", 443)),
    "packet": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))),
}
json.dump(found, open(sys.argv[2], "w"))
"""


@pytest.fixture
def index() -> Iterator[Index]:
    with serving() as opened:
        yield opened


@pytest.fixture
def settings(home: Path, index: Index) -> Settings:
    return Settings(home=home, package_index=index.url)


async def silent(_line: str) -> None:
    return None


class EnvironmentSuite:
    """Subclasses give the fixtures `sandbox` and `dropped`."""

    async def test_a_tool_uses_its_packages_and_nothing_else_of_them_runs(
        self, sandbox: IsolatedSandbox, index: Index, dropped: Callable[[Environment], None]
    ) -> None:
        only_here = f"# {uuid.uuid4()}\n"  # an environment of an earlier run must not be found
        index.add(*wheel("manners", "2", {"manners.py": "WORD = 'Dear'\n"}))
        hostile = {
            "courteous/__init__.py": f"{only_here}import manners\ndef greet(n): return f'{{manners.WORD}} {{n}}'\n",
            "courteous.pth": "import sys; sys.modules['pth_ran'] = sys\n",
            "sitecustomize.py": "raise SystemExit('sitecustomize ran')\n",
            "usercustomize.py": "raise SystemExit('usercustomize ran')\n",
            "json.py": "raise SystemExit('the shadow ran')\n",
            "socket.py": "raise SystemExit('the shadow ran')\n",
        }
        index.add(*wheel("courteous", "1", hostile, requires=("manners>=2",)))
        with anyio.fail_after(WAIT_SECONDS):
            lock = await sandbox.resolve(("courteous",), silent)
            environment = await sandbox.prepare(lock, silent)
            dropped(environment)
            before = len(index.requests)
            assert await sandbox.prepare(lock, silent) == environment
            assert len(index.requests) == before
            job = Job(code=TOOL, function="tool", arguments={"name": "Ada"}, environment=environment)
            result = await sandbox.run(job)

        assert len(lock.requirements) == 2
        assert lock.python == await sandbox.python_tag()
        assert (result.status, result.value) == ("ok", ["Dear Ada", "[1]", [], False]), result

    @pytest.mark.parametrize(
        ("package", "told"),
        [
            ("only-source", "no wheel"),
            ("absent", "does not exist"),
            ("escapes", "escapes could not be installed"),
            ("swapped", "does not have the hash"),
        ],
    )
    async def test_a_package_that_cannot_be_had_is_rejected_and_nothing_is_kept(
        self, sandbox: IsolatedSandbox, index: Index, package: str, told: str
    ) -> None:
        index.add(*sdist("only_source", "1", "raise SystemExit('set-up ran')"))
        index.add(*wheel("escapes", "1", {"../../escaped.py": "x = 1"}))
        filename, content = wheel("swapped", "1", {"swapped.py": "x = 1"})
        index.add(filename, content)

        async def build() -> Environment:
            lock = await sandbox.resolve((package,), silent)
            index.files[filename] = wheel("swapped", "1", {"swapped.py": "x = 2"})[1]
            return await sandbox.prepare(lock, silent)

        with anyio.fail_after(WAIT_SECONDS), pytest.raises(PackagesRejected, match=told):
            await build()

    async def test_a_builder_reaches_the_allowed_host_and_no_other(
        self, sandbox: IsolatedSandbox, index: Index
    ) -> None:
        with serving() as other, anyio.fail_after(WAIT_SECONDS):
            result = await sandbox.run_builder(
                REACH,
                json.dumps([index.port, other.port]).encode(),
                hosts=frozenset({f"127.0.0.1:{index.port}"}),
                wall_seconds=120,
                memory_bytes=128 << 20,
                scratch_bytes=16 << 20,
                on_line=silent,
            )
        found = json.loads(result)
        assert found.pop("index") == "404"
        assert (found.pop("other port"), found.pop("other name")) == ("403", "403")
        assert "None" not in found.values(), found
        assert other.requests == []

    async def test_an_index_that_is_gone_is_the_sandboxs_failure(
        self, sandbox: IsolatedSandbox, index: Index
    ) -> None:
        index.status = 503
        with anyio.fail_after(WAIT_SECONDS), pytest.raises(SandboxError, match="could not be reached"):
            await sandbox.resolve(("anything",), silent)


@pytest.mark.docker
class TestInDocker(EnvironmentSuite):
    @pytest.fixture
    def sandbox(self, docker_sandbox: DockerSandbox) -> DockerSandbox:
        return docker_sandbox

    @pytest.fixture
    def dropped(self) -> Iterator[Callable[[Environment], None]]:
        volumes: list[str] = []
        yield lambda environment: volumes.append(environment.location)
        subprocess.run(["docker", "volume", "rm", *volumes], check=True, capture_output=True)


@pytest.mark.bubblewrap
class TestInBubblewrap(EnvironmentSuite):
    @pytest.fixture
    def sandbox(self, bubblewrap_sandbox: BubblewrapSandbox) -> BubblewrapSandbox:
        return bubblewrap_sandbox

    @pytest.fixture
    def dropped(self) -> Callable[[Environment], None]:
        return lambda environment: None
