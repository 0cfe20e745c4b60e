"""Back ends of processes as fixtures; each is skipped with the reason where its engine is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from alita_mcp.sandbox.bubblewrap import BubblewrapSandbox
from alita_mcp.sandbox.docker import DockerSandbox
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps all tests of this folder in one process: they look for what their neighbours may leave on this machine."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("sandbox"))
