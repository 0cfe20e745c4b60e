"""A home that has the starter tools, and the pages of an App over it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from alita_mcp.app import App, open_app
from alita_mcp.library.library import Library
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from tests.in_process import IN_PROCESS
from tests.web.visiting import visiting


@pytest.fixture
def home(tmp_path: Path, stocked: Path) -> Path:
    return shutil.copytree(stocked, tmp_path / "home")


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[App]:
    async with open_app(settings.model_copy(update={"sandbox": IN_PROCESS}), admit=admit) as opened:
        yield opened


@pytest.fixture
def library(app: App) -> Library:
    return app.library


@pytest.fixture
async def browser(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(app) as entered:
        yield entered
