"""Builder of package environments: locks packages with hashes and installs them by uv, in a builder sandbox."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Protocol

from anyio import to_thread
from pydantic import ValidationError

from alita_mcp.errors import PackagesRejected, SandboxError, SandboxRefused
from alita_mcp.sandbox.interface import Environment, Progress
from alita_mcp.sandbox.network.proxy import PROXY
from alita_mcp.sandbox.packages.cache import EnvironmentCache, Store
from alita_mcp.sandbox.packages.lockfile import environment_digest, read_lock, read_requirements
from alita_mcp.sandbox.packages.package_index import authorities_to_trust, package_index
from alita_mcp.sandbox.packages.tar import PROGRAM_MODE, tar_of_file
from alita_mcp.sandbox.packages.uses import Uses
from alita_mcp.sandbox.packages.uv_binary import (
    NAME_INSIDE,
    PINNED,
    fetch_static_uv,
    machine_of,
    own_uv,
    runs_own_uv,
)
from alita_mcp.sandbox.packages.uv_failure import failure_of
from alita_mcp.sandbox.wire.link import PACKAGES
from alita_mcp.settings import Settings
from alita_mcp.values import Lock, Value

FETCH_SECONDS = 20
"""How long the index may stay silent, three times in a row."""
_STEP = re.compile(r"(resolving|fetching) ([A-Za-z0-9._-]{1,100})|compiling modules")


class BackEnd(Protocol):
    """Sandbox as the builder of environments needs it."""

    kind: str
    """Part of an environment's digest."""

    @property
    def store(self) -> Store:
        """Place where it keeps its environments."""
        ...

    async def python_tag(self) -> str:
        """Python version and platform inside."""
        ...

    async def run_build(
        self, request: dict[str, Any], hosts: frozenset[str], on_line: Progress, uv: Environment | None = None
    ) -> bytes:
        """Bytes that the builder program gives for a request; it reaches `hosts` only.

        Raises:
            PackagesRejected: its time, memory or disk space ran out.
            SandboxError: it ended without a result for another reason.
        """
        ...


class BuilderReport(Value):
    """First line of a builder program's result."""

    status: int
    notes: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    """Lines of a lock, of resolved packages."""


class EnvironmentBuilder(EnvironmentCache):
    """Resolves packages and builds environments for one back end; one build per digest at a time."""

    def __init__(
        self,
        back_end: BackEnd,
        settings: Settings,
        *,
        static_uvs: Mapping[str, str] = PINNED,
        fetch_seconds: int = FETCH_SECONDS,
    ) -> None:
        super().__init__(back_end.store, Uses(settings.home, back_end.kind))
        self._back_end = back_end
        self._settings = settings
        self._fetch_seconds = fetch_seconds
        self._static_uvs = static_uvs

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Exact versions and hashes; errors as in the interface."""
        wanted = read_requirements(packages)
        python = await self._back_end.python_tag()
        if not wanted:
            return Lock(python=python)
        await progress(f"resolving {', '.join(wanted)}")
        answer, _ = await self._ask({"task": "resolve", "packages": wanted}, wanted, python, progress)
        lock = Lock(requirements=tuple(sorted(answer.requirements)), python=python)
        try:
            read_lock(lock)
        except PackagesRejected as strange:
            raise SandboxError(f"The builder gave an invalid answer: {strange}") from strange
        return lock

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock, built at most once; errors as in the interface."""
        names = read_lock(lock)
        python = await self._back_end.python_tag()
        if lock.python != python:
            raise SandboxRefused(
                f"The packages are locked for {lock.python!r}, the {self._back_end.kind} sandbox has {python!r}.",
                hint="Submit the tool again with update=true, or use the sandbox it was made in.",
            )

        async def install() -> bytes:
            count = len(lock.requirements)
            await progress(f"installing {count} package{'s' * (count != 1)}")
            request = {"task": "install", "requirements": lock.requirements}
            _, tar = await self._ask(request, names, python, progress)
            return tar

        digest = environment_digest(lock, self._back_end.kind, await self._uses.home_id())
        return await self.obtain(digest, install)

    async def _uv(self, python: str, progress: Progress) -> Environment | None:
        """The environment that is uv itself, so that it crosses into the sandbox's store once."""
        own, machine = own_uv() if runs_own_uv(python) else None, machine_of(python)

        async def make() -> bytes:
            if own is None:
                await progress("fetching uv")
                program = await fetch_static_uv(machine, package_index(self._settings), self._static_uvs)
            else:
                program = await to_thread.run_sync(own.read_bytes)
            return await to_thread.run_sync(tar_of_file, NAME_INSIDE, program, PROGRAM_MODE)

        which = version("uv") if own else self._static_uvs.get(machine)
        words = f"uv {which} {python}\n{self._back_end.kind}\n{await self._uses.home_id()}\n"
        return await self.obtain(hashlib.sha256(words.encode()).hexdigest(), make)

    async def _ask(
        self, request: dict[str, Any], packages: Sequence[str], python: str, progress: Progress
    ) -> tuple[BuilderReport, bytes]:
        """Runs one request about packages; returns the report and the bytes that come with it.

        Raises:
            PackagesRejected: the packages are at fault.
            SandboxError: the sandbox or the index is.
        """
        uv = await self._uv(python, progress) if packages else None
        index = package_index(self._settings)
        authorities = await to_thread.run_sync(authorities_to_trust)
        whole = request | {
            "uv": f"{PACKAGES}/{NAME_INSIDE}",
            "place": PACKAGES,
            "index_url": index.url,
            "proxy": PROXY,
            "authorities": authorities.decode("utf-8", "replace"),
            "fetch_seconds": self._fetch_seconds,
        }

        async def on_line(line: str) -> None:
            if _STEP.fullmatch(line):  # nothing else of what the builder prints is handed on
                await progress(line)

        result = await self._back_end.run_build(whole, index.hosts, on_line, uv)
        head, _, rest = result.partition(b"\n")
        try:
            report = BuilderReport.model_validate_json(head)
        except ValidationError as broken:
            raise SandboxError(
                f"The builder gave an invalid answer: {broken.error_count()} errors."
            ) from broken
        if report.status:
            raise failure_of(report.notes, packages)
        return report, rest
