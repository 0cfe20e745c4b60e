"""Back ends of processes as fixtures; each is skipped with the reason where its engine is missing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

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


@pytest.fixture
def programs() -> Iterator[Path]:
    """A folder for programs that the sandbox's user can start."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
