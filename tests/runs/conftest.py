"""Servers whose library holds tools for code to call, in each kind of sandbox."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from tests.runs.tools_to_call import stock
from tests.server.in_memory import builder, connected

KINDS = (
    "wasm",
    pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.exhaustive]),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
)


@pytest.fixture
def home(tmp_path: Path, stocked: Path) -> Path:
    return shutil.copytree(stocked, tmp_path / "home")


@pytest.fixture
def kind() -> str:
    """The embedded sandbox, unless a test is parametrized with others."""
    return "wasm"


@pytest.fixture
def era() -> str:
    """The newer era of the protocol, unless a test is parametrized with both."""
    return "modern"


@pytest.fixture
def review() -> str | None:
    """What clients see of tools that nobody reviewed: all, unless a test is parametrized otherwise."""
    return None


@pytest.fixture
async def client(
    request: pytest.FixtureRequest, settings: Settings, kind: str, era: str, review: Any
) -> AsyncIterator[Client]:
    """A client of a server over such a library."""
    if kind != "wasm":
        request.getfixturevalue({"docker": "docker_engine"}.get(kind, kind))
    stocked_with = (await stock(settings, kind)).model_copy(update={"review": review})
    back_ends: dict[str, type[Sandbox]] = {"docker": DockerSandbox, "bubblewrap": BubblewrapSandbox}
    sandbox = back_ends.get(kind, WasmSandbox)(stocked_with)  # type: ignore[call-arg]
    async with connected(builder(stocked_with)(sandbox=sandbox), era) as opened:
        yield opened
