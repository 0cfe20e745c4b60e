"""The part of the contract that environments and builders rest on, for every back end of processes."""

from __future__ import annotations

import os
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Environment, Job
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.sandbox.packages.builder import BuilderFailed
from tests.sandbox.contract import WAIT_SECONDS
from tests.sandbox.leftovers import Leftovers, nothing_left
from tests.sandbox.tars import HELLO, USES_HELLO, folder, link, tar_of

ECHO = """
import sys
_, payload, result = sys.argv
with open(payload, "rb") as source, open(result, "wb") as target:
    data = source.read()
    print("payload of", len(data), "bytes")
    print("to stderr", file=sys.stderr)
    target.write(data * 2)
"""

FAILING_BUILDERS = [
    ("import sys\nprint('oh')\nsys.exit(3)\n", 3, "oh"),
    ("import sys\nsys.exit('why')\n", 1, "why"),
    ("1 / 0\n", 1, "ZeroDivisionError: division by zero"),
    ("def (\n", 1, "SyntaxError: invalid syntax"),
    ("import os\nprint('x', flush=True)\nos.kill(os.getpid(), 11)\n", None, "x"),
]
"""Programs, the exit status that each ends with, and its last line."""


class Builds:
    """Runs builder programs and remembers their lines."""

    def __init__(self, sandbox: IsolatedSandbox) -> None:
        self.sandbox = sandbox
        self.lines: list[str] = []

    async def run(self, program: str, payload: bytes = b"", **changes: Any) -> bytes:
        async def tell(line: str) -> None:
            self.lines.append(line)

        bounds: dict[str, Any] = {
            "hosts": frozenset(), "wall_seconds": 60, "memory_bytes": 128 << 20, "scratch_bytes": 64 << 20,
        }  # fmt: skip
        with anyio.fail_after(WAIT_SECONDS):
            return await self.sandbox.run_builder(program, payload, **(bounds | changes), on_line=tell)


class EnvironmentContract:
    """Subclasses give the fixtures `sandbox` and `digest`, which is new for each test and cleaned up."""

    async def test_an_environment_is_found_once_it_is_stored(
        self, sandbox: IsolatedSandbox, digest: str
    ) -> None:
        assert await sandbox.store.has_environment(digest) is None
        location = await sandbox.store.store_environment(digest, tar_of(HELLO, folder("empty")))
        assert await sandbox.store.has_environment(digest) == location
        assert await sandbox.store.store_environment(digest, tar_of(HELLO)) == location
        environment = Environment(digest=digest, location=location)
        result = await sandbox.run(Job(code=USES_HELLO, function="f", arguments={}, environment=environment))
        assert result.value == [42, "1", None, "OSError"], result

    async def test_a_location_that_the_back_end_did_not_name_is_not_mounted(
        self, sandbox: IsolatedSandbox, digest: str
    ) -> None:
        environment = Environment(digest=digest, location="/etc")
        job = Job(
            code="import os\ndef f(): return os.listdir('/opt/alita-packages')", function="f", arguments={}
        )
        try:
            seen = (await sandbox.run(job.model_copy(update={"environment": environment}))).value
        except SandboxError as refused:
            seen = refused.message
        assert seen == [] or "not here" in seen

    async def test_bytes_that_are_no_tar_are_no_environment(
        self, sandbox: IsolatedSandbox, digest: str
    ) -> None:
        with pytest.raises(SandboxError):
            await sandbox.store.store_environment(digest, b"no tar " * 1000)
        assert await sandbox.store.has_environment(digest) is None

    async def test_a_tar_that_leads_elsewhere_is_no_environment(
        self, sandbox: IsolatedSandbox, digest: str
    ) -> None:
        for entry in (link("l", "/etc/passwd"), folder("../up"), folder("/abs")):
            with pytest.raises(SandboxError, match="no plain file below"):
                await sandbox.store.store_environment(digest, tar_of(HELLO, entry))
            assert await sandbox.store.has_environment(digest) is None

    async def test_a_digest_is_never_a_path(self, sandbox: IsolatedSandbox) -> None:
        for name in ("../up", "/abs", "", "a/b", "A B", ".hidden", "x" * 200):
            with pytest.raises(SandboxError, match="no digest"):
                await sandbox.store.store_environment(name, tar_of(HELLO))
            with pytest.raises(SandboxError, match="no digest"):
                await sandbox.store.has_environment(name)

    async def test_the_python_inside_has_a_tag(self, sandbox: IsolatedSandbox) -> None:
        tag = await sandbox.python_tag()
        assert tag.startswith("cp3")
        assert "-linux_" in tag
        assert await sandbox.python_tag() == tag


class BuilderContract:
    """Subclasses give the fixtures `sandbox` and `left`; the builder inside is one program for all back ends."""

    @pytest.fixture
    def builds(self, sandbox: IsolatedSandbox) -> Builds:
        return Builds(sandbox)

    async def test_a_builder_reads_its_payload_and_writes_its_result(self, builds: Builds) -> None:
        payload = os.urandom(1 << 20) * 5
        assert await builds.run(ECHO, payload) == payload * 2
        assert sorted(builds.lines) == [f"payload of {len(payload)} bytes", "to stderr"]

    async def test_a_builder_that_fails_says_how(self, builds: Builds) -> None:
        for program, exit_code, line in FAILING_BUILDERS:
            with pytest.raises(BuilderFailed) as failed:
                await builds.run(program)
            assert (failed.value.exit_code, failed.value.output[-1]) == (exit_code, line), program

    async def test_a_builder_ends_when_its_program_does_whatever_it_left_behind(self, builds: Builds) -> None:
        program = "import os, sys, time\nif os.fork() == 0:\n    time.sleep(600)\nopen(sys.argv[2], 'w').write('x')\n"
        assert await builds.run(program, wall_seconds=100) == b"x"

    async def test_a_builder_keeps_to_its_limits(self, builds: Builds) -> None:
        with pytest.raises(BuilderFailed, match="took more than 1 s"):
            await builds.run("import time\ntime.sleep(600)\n", wall_seconds=1)
        with pytest.raises(BuilderFailed, match="bytes of memory"):
            await builds.run("x = b'x' * (700 << 20)\n")
        with pytest.raises(BuilderFailed) as failed:
            await builds.run("with open('/tmp/x', 'wb') as f:\n    f.write(b'x' * (70 << 20))\n")
        assert "OSError" in failed.value.output[-1]

    async def test_a_builder_may_write_much_and_slowly_be_read(self, builds: Builds) -> None:
        await builds.run("for n in range(20_000):\n    print('line', n)\nprint('x' * 5000)\n")
        assert builds.lines[:2] == ["line 0", "line 1"]
        assert builds.lines[-2] == "line 19999"
        assert builds.lines[-1] == "x" * 1000
        assert len(builds.lines) == 20_001

    async def test_a_builder_cannot_pass_off_another_file_as_its_result(self, builds: Builds) -> None:
        program = "import os, sys\nos.symlink('/etc/hostname', sys.argv[2])\n"
        assert await builds.run(program) == b""
        assert await builds.run("import os, sys\nos.mkfifo(sys.argv[2])\n") == b""

    async def test_a_cancelled_builder_leaves_nothing(self, builds: Builds, left: Leftovers) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            with anyio.move_on_after(2):
                await builds.run("import time\nprint('up', flush=True)\ntime.sleep(600)\n")
            await nothing_left(left, os.getpid())
