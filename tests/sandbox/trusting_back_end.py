"""A back end that runs our own builder program, on our own wheels, as a plain process: no engine is needed for it."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from alita_mcp.sandbox.interface import Environment
from alita_mcp.sandbox.packages import builder_program
from alita_mcp.sandbox.packages.builder import BuilderFailed
from alita_mcp.sandbox.packages.cache import Store
from alita_mcp.sandbox.packages.folders import unpack
from alita_mcp.sandbox.wire.link import PACKAGES

PROGRAM = Path(builder_program.__file__)


class TrustingBackEnd(Store):
    """Keeps environments in a dictionary; never give it what a stranger wrote."""

    kind = "trusting"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = f"cp{sys.version_info.major}{sys.version_info.minor}-linux_{platform.machine()}"
        self.environments: dict[str, bytes] = {}
        self.builds: list[dict[str, object]] = []
        self.hosts: frozenset[str] = frozenset()
        self.result: bytes | None = None
        """A result to give in the program's place."""
        self.failure: BuilderFailed | None = None
        self.hold: anyio.Event | None = None
        """Building waits for it."""
        self.open: set[str] = set()
        """Environments that a sandbox has open, which are not dropped."""

    @property
    def store(self) -> Store:
        return self

    @property
    def built(self) -> dict[str, bytes]:
        """What came out of builds: all but uv."""
        return {digest: tar for digest, tar in self.environments.items() if tar[:3] != b"uv\0"}

    async def python_tag(self) -> str:
        return self.python

    async def run_builder(
        self, program: str, payload: bytes, *, hosts: frozenset[str], wall_seconds: float, memory_bytes: int,
        scratch_bytes: int, on_line: Callable[[str], Awaitable[None]], environment: Environment | None = None,
    ) -> bytes:  # fmt: skip
        self.hosts = hosts
        request: dict[str, object] = json.loads(payload)
        self.builds.append(request)
        if self.hold is not None:
            await self.hold.wait()
        if self.failure is not None:
            raise self.failure
        if self.result is not None:
            return self.result
        assert program == await anyio.Path(PROGRAM).read_text()
        work = anyio.Path(self.folder / f"build-{len(self.builds)}")
        await work.mkdir(parents=True)
        here = {"proxy": ""}
        if environment is not None:
            await (work / "uv").mkdir()
            unpack(self.environments[environment.digest], Path(work / "uv"))
            here["uv"] = str(request["uv"]).replace(PACKAGES, str(work / "uv"))
        await (work / "payload").write_text(json.dumps(request | here))
        command = [sys.executable, "-P", str(PROGRAM), str(work / "payload"), str(work / "result")]
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = await anyio.run_process(command, check=False, env=variables)
        for line in done.stdout.decode().splitlines():
            await on_line(line)
        if done.returncode:
            output = tuple(done.stderr.decode().splitlines())
            raise BuilderFailed("The builder ended.", exit_code=done.returncode, output=output)
        return await (work / "result").read_bytes()

    async def has_environment(self, digest: str) -> str | None:
        return f"at {digest}" if digest in self.environments else None

    async def store_environment(self, digest: str, tar: bytes) -> str:
        self.environments[digest] = tar
        return f"at {digest}"

    async def stored_environments(self) -> frozenset[str]:
        return frozenset(self.environments)

    async def drop_environment(self, digest: str) -> bool:
        if digest in self.open:
            return False
        self.environments.pop(digest, None)
        return True
