"""Servers over a real library in a home of its own, clients of both protocol eras, and programs from outside."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcp import Client

from alita_mcp.settings import Settings
from alita_mcp.synthesis.jobs import jobs
from tests.conftest import require_mark, skip_or_fail
from tests.server.in_memory import ERAS, Build, builder, connected
from tests.server.node_tools import NodeTools, NoNode, installed

if TYPE_CHECKING:
    from alita_mcp.server.build import DualEraServer


@pytest.fixture(scope="session")
def node_tools(pytestconfig: pytest.Config) -> NodeTools:
    """Skips (in CI: fails) with the reason where Node.js or its packages cannot be had."""
    require_mark("node", pytestconfig)
    try:
        return installed()
    except NoNode as missing:
        skip_or_fail("node", str(missing))
        raise


@pytest.fixture
def home(tmp_path: Path, stocked: Path) -> Path:
    return shutil.copytree(stocked, tmp_path / "home")


@pytest.fixture(autouse=True)
def nobody_misses_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same request again is a second one, however long a busy machine took over the first."""
    monkeypatch.setattr(jobs, "MISSED_AFTER_S", 3_600.0)


@pytest.fixture(params=[ERAS[0], pytest.param(ERAS[1], marks=pytest.mark.slow)])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def build(settings: Settings) -> Build:
    return builder(settings)


@pytest.fixture
def server(build: Build) -> DualEraServer:
    return build()


@pytest.fixture
async def client(server: DualEraServer, era: str) -> AsyncIterator[Client]:
    async with connected(server, era) as opened:
        yield opened
