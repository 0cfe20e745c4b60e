"""Back ends of processes as fixtures; each is skipped with the reason where its engine is missing."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.docker.volumes import volume_name
from alita_mcp.settings import Settings
from tests.sandbox.package_index import Index, serving


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


@pytest.fixture
def docker_digest(docker_engine: None) -> Iterator[str]:
    """A digest of an environment whose volume is removed at the end."""
    digest = uuid.uuid4().hex
    yield digest
    remove = ["docker", "volume", "rm", "--force", volume_name(digest)]
    deadline = time.monotonic() + 120
    while (done := subprocess.run(remove, capture_output=True, text=True, check=False)).returncode:
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.1)  # the engine removes the containers that had it on its own time


@pytest.fixture
def index() -> Iterator[Index]:
    with serving() as opened:
        yield opened


@pytest.fixture
def at_index(settings: Settings, index: Index) -> Settings:
    return settings.model_copy(update={"package_index": index.url})
