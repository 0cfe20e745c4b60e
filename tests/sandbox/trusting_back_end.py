"""A back end that runs our own builder program, on our own wheels, as a plain process: no engine is needed for it."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Environment, Progress
from alita_mcp.sandbox.packages import builder_program
from alita_mcp.sandbox.packages.cache import Store
from alita_mcp.sandbox.packages.folders import unpack
from alita_mcp.sandbox.wire.link import PACKAGES

PROGRAM = Path(builder_program.__file__)


class TrustingBackEnd(Store):
    """Keeps environments in a dictionary; never give it what a stranger wrote."""

    kind = "trusting"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store: Store = self
        self.python = f"cp{sys.version_info.major}{sys.version_info.minor}-linux_{platform.machine()}"
        self.environments: dict[str, bytes] = {}
        self.builds: list[dict[str, object]] = []
        self.hosts: frozenset[str] = frozenset()
        self.result: bytes | None = None
        """A result to give in the program's place."""
        self.failure: SandboxError | None = None
        """Of dropping an environment."""
        self.hold: anyio.Event | None = None
        """Building waits for it."""

    @property
    def built(self) -> dict[str, bytes]:
        """What came out of builds: all but uv."""
        return {digest: tar for digest, tar in self.environments.items() if tar[:3] != b"uv\0"}

    async def python_tag(self) -> str:
        return self.python

    async def run_build(
        self, request: dict[str, Any], hosts: frozenset[str], on_line: Progress, uv: Environment | None = None
    ) -> bytes:
        self.hosts = hosts
        self.builds.append(request)
        if self.hold is not None:
            await self.hold.wait()
        if self.result is not None:
            return self.result
        work = anyio.Path(self.folder / f"build-{len(self.builds)}")
        await work.mkdir(parents=True)
        here = {"proxy": ""}
        if uv is not None:
            await (work / "uv").mkdir()
            unpack(self.environments[uv.digest], Path(work / "uv"))
            here["uv"] = str(request["uv"]).replace(PACKAGES, str(work / "uv"))
        await (work / "payload").write_text(json.dumps(request | here))
        command = [sys.executable, "-P", str(PROGRAM), str(work / "payload"), str(work / "result")]
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = await anyio.run_process(command, check=False, env=variables)
        for line in done.stdout.decode().splitlines():
            await on_line(line)
        assert not done.returncode, done.stderr
        return await (work / "result").read_bytes()

    async def has_environment(self, digest: str) -> str | None:
        return f"at {digest}" if digest in self.environments else None

    async def store_environment(self, digest: str, tar: bytes) -> str:
        self.environments[digest] = tar
        return f"at {digest}"

    async def drop_environment(self, digest: str) -> bool:
        if self.failure:
            raise self.failure
        self.environments.pop(digest, None)
        return True
