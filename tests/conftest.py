"""Shared fixtures: one event loop back end, a home for each test, and engines that are there or not."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from alita_mcp.settings import Settings

REQUIRED = frozenset(filter(None, os.environ.get("ALITA_TEST_REQUIRE", "").split(",")))
"""Engines that must be there: CI sets `docker,bubblewrap,node`, so that green cannot mean "nothing ran"."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [
        name for name in os.environ if name.startswith("ALITA_") and name != "ALITA_DOCKER_IMAGE"
    ]:
        monkeypatch.delenv(variable)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def settings(home: Path) -> Settings:
    return Settings(home=home)


def skip_or_fail(engine: str, reason: str) -> None:
    if engine in REQUIRED:
        pytest.fail(f"{engine} is required here, but {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[None]:
    """Skips (in CI: fails) with the reason where no engine answers or it lacks the base image."""
    client = shutil.which("docker")
    answer = client and subprocess.run([client, "version"], capture_output=True, text=True, check=False)
    if not answer or answer.returncode:
        skip_or_fail("docker", "no Docker engine answers")
    yield


@pytest.fixture(scope="session")
def bubblewrap() -> Iterator[None]:
    """Skips (in CI: fails) with the reason where bubblewrap is missing."""
    if not shutil.which("bwrap"):
        skip_or_fail("bubblewrap", "bubblewrap is not installed")
    yield
