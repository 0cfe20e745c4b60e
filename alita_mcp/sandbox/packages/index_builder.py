"""Requests to a builder sandbox that reaches only the package index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from anyio import to_thread
from packaging.utils import canonicalize_name
from packaging.version import Version
from pydantic import Field, StringConstraints, ValidationError

from alita_mcp.errors import PackagesRejected, SandboxError
from alita_mcp.sandbox.interface import Environment, Progress
from alita_mcp.sandbox.network.proxy import PROXY
from alita_mcp.sandbox.packages.builder import BuilderFailed
from alita_mcp.sandbox.packages.cache import Store
from alita_mcp.sandbox.packages.lockfile import MAX_HASHES, MAX_LOCKED
from alita_mcp.sandbox.packages.package_index import authorities_to_trust, package_index
from alita_mcp.sandbox.packages.uv_failure import failure_of
from alita_mcp.settings import Settings
from alita_mcp.values import Value

FETCH_SECONDS = 20
"""How long the index may stay silent, three times in a row."""
_STEP = re.compile(r"(resolving|fetching) ([A-Za-z0-9._-]{1,100})|compiling modules")


class BackEnd(Protocol):
    """Sandbox as the builder of environments needs it."""

    @property
    def kind(self) -> str:
        """Part of an environment's digest."""
        ...

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
            BuilderFailed: it ended without a result.
        """
        ...


class Resolved(Value):
    """Package as uv resolved it."""

    name: str = Field(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=200)
    version: str = Field(max_length=80)
    sha256: tuple[Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")], ...] = Field(
        min_length=1, max_length=MAX_HASHES
    )
    """Of every wheel of that version that fits."""

    @property
    def line(self) -> str:
        """Line of the lock for this package."""
        hashes = " ".join(f"--hash=sha256:{sha256}" for sha256 in sorted(set(self.sha256)))
        return f"{canonicalize_name(self.name)}=={Version(self.version)} {hashes}"


class BuilderReport(Value):
    """First line of a builder program's result."""

    status: int
    notes: tuple[str, ...] = ()
    packages: tuple[Resolved, ...] = Field(default=(), max_length=MAX_LOCKED)


class IndexBuilder:
    """Runner of `builder_program.py`, one request at a time."""

    def __init__(self, builder: BackEnd, settings: Settings, fetch_seconds: int = FETCH_SECONDS) -> None:
        self._builder = builder
        self._settings = settings
        self._fetch_seconds = fetch_seconds

    async def ask(
        self,
        request: dict[str, Any],
        packages: Sequence[str],
        progress: Progress,
        uv: Environment | None = None,
    ) -> tuple[BuilderReport, bytes]:
        """Runs one request about packages; returns the report and the bytes that come with it.

        Raises:
            PackagesRejected: the packages are at fault.
            SandboxError: the sandbox or the index is.
        """
        index = package_index(self._settings)
        authorities = await to_thread.run_sync(authorities_to_trust)
        whole = request | {
            "index_url": index.url,
            "proxy": PROXY,
            "authorities": authorities.decode("utf-8", "replace"),
            "fetch_seconds": self._fetch_seconds,
        }

        async def on_line(line: str) -> None:
            if _STEP.fullmatch(line):  # nothing else of what the builder prints is handed on
                await progress(line)

        try:
            result = await self._builder.run_build(whole, index.hosts, on_line, uv)
        except BuilderFailed as failed:
            if failed.lacks_room:
                raise PackagesRejected(
                    f"{', '.join(packages)[:200]} could not be installed. {failed.message}",
                    hint="Use fewer or smaller packages.",
                ) from failed
            raise
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
