"""Environments built in the real sandboxes and used by tools there; the index is ours, on loopback."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.sandbox.packages.builder import BuildBroker, build_job
from alita_mcp.settings import Settings
from tests.sandbox.environment_homes import (
    InBubblewrap,
    InDocker,
    InWasm,
    Packaging,
    builder_of,
    silent,
    unmark,
)
from tests.sandbox.package_index import Index, serving, wheel

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
import http.client, socket

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

def reach(index, other):
  return {
    "index": attempt(lambda: through_proxy(f"http://127.0.0.1:{index}/simple/")),
    "other port": attempt(lambda: through_proxy(f"http://127.0.0.1:{other}/simple/")),
    "other name": attempt(lambda: through_proxy(f"http://localhost:{index}/simple/")),
    "tunnel": attempt(lambda: tunnel("127.0.0.1", other)),
    "direct": attempt(lambda: socket.create_connection(("127.0.0.1", index), 5)),
    "name": attempt(lambda: socket.getaddrinfo("example.org", 443)),
    "packet": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))),
}
"""


class EnvironmentSuite:
    """Subclasses give the fixtures `sandbox` and `shared_home`."""

    @pytest.fixture
    def settings(self, shared_home: Path, index: Index) -> Settings:
        return Settings(home=shared_home, package_index=index.url)

    async def test_a_tool_uses_its_packages_and_nothing_else_of_them_runs(
        self, sandbox: Packaging, index: Index
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
            before = len(index.requests)
            assert await sandbox.prepare(lock, silent) == environment
            assert len(index.requests) == before
            job = Job(code=TOOL, function="tool", arguments={"name": "Ada"}, environment=environment)
            result = await sandbox.run(job)

        assert len(lock.requirements) == 2
        assert lock.python == await sandbox.python_tag()
        assert (result.status, result.value) == ("ok", ["Dear Ada", "[1]", [], False]), result

    @pytest.mark.embedded_first
    async def test_an_environment_that_was_collected_is_built_again(
        self, sandbox: Packaging, index: Index, settings: Settings
    ) -> None:
        index.add(*wheel("fleeting", "1", {"fleeting.py": "x = 7\n"}))
        builder = builder_of(sandbox, settings)
        with anyio.fail_after(WAIT_SECONDS):
            lock = await sandbox.resolve(("fleeting",), silent)
            environment = await sandbox.prepare(lock, silent)
            unmark(settings.home)
            dropped = await builder.collect(keep_seconds=0)
            assert environment.digest in [use.digest for use in dropped]
            assert await sandbox.store.has_environment(environment.digest) is None
            job = Job(
                code="import fleeting\ndef f(): return 1", function="f", arguments={}, environment=environment
            )
            with pytest.raises(SandboxError, match="no longer exists"):
                await sandbox.run(job)
            assert await builder.prepare(lock, silent) == environment
            assert (await sandbox.run(job)).value == 1


class InProcesses(EnvironmentSuite):
    """What holds where uv runs in the sandbox itself, and for its Python's own wheels."""

    async def test_a_builder_reaches_the_allowed_host_and_no_other(
        self, sandbox: IsolatedSandbox, index: Index
    ) -> None:
        with serving() as other, anyio.fail_after(WAIT_SECONDS):
            ports = {"index": index.port, "other": other.port}
            job = build_job({}, None).model_copy(
                update={"code": REACH, "function": "reach", "arguments": ports}
            )
            hosts = frozenset({f"127.0.0.1:{index.port}"})
            found = (await sandbox.run(job, BuildBroker(hosts, silent))).value
        assert found.pop("index") == "404"
        assert (found.pop("other port"), found.pop("other name")) == ("403", "403")
        assert "None" not in found.values(), found
        assert other.requests == []

    async def test_a_wheel_of_the_sandboxs_python_is_chosen_among_many(
        self, sandbox: IsolatedSandbox, index: Index
    ) -> None:
        python, _, machine = (await sandbox.python_tag()).partition("-linux_")
        fits = [
            index.add(*wheel("native", "1", {"native.py": f"x = {tag!r}\n"}, tag=tag))
            for tag in (f"{python}-{python}-manylinux_2_17_{machine}", "py3-none-any")
        ]
        for tag in (
            "cp27-cp27m-win32",
            f"cp27-cp27m-manylinux_2_17_{machine}",
            f"{python}-{python}-macosx_11_0_arm64",
        ):
            index.add(*wheel("native", "1", {"native.py": ""}, tag=tag))
        with anyio.fail_after(WAIT_SECONDS):
            lock = await sandbox.resolve(("native",), silent)
            assert set(re.findall("sha256:([0-9a-f]{64})", lock.text)) == set(fits)
            environment = await sandbox.prepare(lock, silent)
            job = Job(
                code="import native\ndef f(): return native.x",
                function="f",
                arguments={},
                environment=environment,
            )
            assert (await sandbox.run(job)).value == f"{python}-{python}-manylinux_2_17_{machine}"


@pytest.mark.docker
class TestInDocker(InDocker, InProcesses):
    """Volumes."""


@pytest.mark.bubblewrap
class TestInBubblewrap(InBubblewrap, InProcesses):
    """Folders."""


@pytest.mark.slow
class TestInWasm(InWasm, EnvironmentSuite):
    """Archives."""
