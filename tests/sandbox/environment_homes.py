"""A home for a whole class of tests, so that uv crosses into it once, and both back ends in it; emptied at the end."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.sandbox.packages.environments import EnvironmentBuilder
from alita_mcp.sandbox.wasm.packages import HostEnvironments
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings

Packaging = IsolatedSandbox | WasmSandbox
"""Sandboxes that run packages."""


async def silent(_line: str) -> None:
    return None


def unmark(home: Path) -> None:
    """Makes all environments of a home look as if nobody had used them for years."""
    for record in (home / "environments" / ".uses").rglob("*.json"):
        os.utime(record, (0, 0))


def builder_of(sandbox: Packaging, settings: Settings, fetch_seconds: int = 20) -> EnvironmentBuilder:
    """Another builder of the sandbox's environments, which gives up on a silent index after some seconds."""
    kind = HostEnvironments if isinstance(sandbox, WasmSandbox) else EnvironmentBuilder
    return kind(sandbox, settings, fetch_seconds=fetch_seconds)


async def empty(sandbox: Packaging) -> None:
    """Drops every environment of the sandbox's home."""
    unmark(sandbox.settings.home)
    with anyio.fail_after(120):
        await sandbox.environments.collect(keep_seconds=0)


class _InOneHome:
    @pytest.fixture(scope="class")
    @classmethod
    def shared_home(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
        home = tmp_path_factory.mktemp("home")
        yield home
        anyio.run(empty, cls.back_end(Settings(home=home)))

    back_end: type[Packaging]


class InDocker(_InOneHome):
    """Classes of tests in containers."""

    back_end = DockerSandbox

    @pytest.fixture
    async def sandbox(self, docker_engine: None, settings: Settings) -> AsyncIterator[DockerSandbox]:
        sandbox = DockerSandbox(settings)
        yield sandbox
        await sandbox.aclose()


class InBubblewrap(_InOneHome):
    """Classes of tests in namespaces."""

    back_end = BubblewrapSandbox

    @pytest.fixture
    async def sandbox(self, bubblewrap: None, settings: Settings) -> AsyncIterator[BubblewrapSandbox]:
        sandbox = BubblewrapSandbox(settings)
        yield sandbox
        await sandbox.aclose()


class InWasm(_InOneHome):
    """Classes of tests in WebAssembly."""

    back_end = WasmSandbox

    @pytest.fixture
    async def sandbox(self, settings: Settings) -> AsyncIterator[WasmSandbox]:
        sandbox = WasmSandbox(settings)
        yield sandbox
        await sandbox.aclose()
