"""Back ends of processes as fixtures; each is skipped with the reason where its engine is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.settings import Settings


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
