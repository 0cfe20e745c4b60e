"""Back ends as fixtures, and ways to see from outside whether one left something behind."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import psutil
import pytest

from alita_mcp.sandbox.bubblewrap import BubblewrapSandbox
from alita_mcp.sandbox.docker import DockerSandbox
from alita_mcp.settings import Settings
from tests.sandbox.leftovers import Leftovers, bubblewrap_leftovers, docker_leftovers


@pytest.fixture
async def docker_sandbox(docker_engine: None, settings: Settings) -> AsyncIterator[DockerSandbox]:
    sandbox = DockerSandbox(settings)
    yield sandbox
    await sandbox.aclose()


@pytest.fixture
async def bubblewrap_sandbox(bubblewrap: None, settings: Settings) -> AsyncIterator[BubblewrapSandbox]:
    sandbox = BubblewrapSandbox(settings)
    yield sandbox
    await sandbox.aclose()


@pytest.fixture
def docker_left() -> Leftovers:
    return docker_leftovers


@pytest.fixture
def bubblewrap_left() -> Leftovers:
    return bubblewrap_leftovers
