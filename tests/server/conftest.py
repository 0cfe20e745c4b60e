"""Servers over a real library in a home of its own, clients of both protocol eras, and programs from outside."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from mcp import Client

from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import FixedLimits, Settings
from tests.conftest import require_mark, share_library, skip_or_fail
from tests.in_process import InProcessSandbox
from tests.server.drafts import VOWEL_SHARE
from tests.server.in_memory import PATIENCE_S, Build, builder, connected, succeeded
from tests.server.node_tools import NodeTools, NoNode, installed

if TYPE_CHECKING:
    from alita_mcp.server.build import DualEraServer


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of clients take the newer era of the protocol; `make test` runs the older one where marked `both_eras`."""
    named = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "era" in metafunc.fixturenames and not any("era" in names for names in named):
        both = metafunc.definition.get_closest_marker("both_eras")
        older = pytest.param("legacy", marks=[] if both else [pytest.mark.exhaustive])
        metafunc.parametrize("era", ["modern", older])


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
def home(tmp_path: Path, stocked: Path, store: str, request: pytest.FixtureRequest) -> Path:
    if store == "postgres":
        share_library(tmp_path / "home", request.getfixturevalue("postgres_url"))
        return tmp_path / "home"
    return shutil.copytree(stocked, tmp_path / "home")


@pytest.fixture(scope="session")
def with_vowel_share(tmp_path_factory: pytest.TempPathFactory, stocked: Path) -> Path:
    """A home with a tool that was made through every gate, which takes seconds, to be copied."""
    home = shutil.copytree(stocked, tmp_path_factory.mktemp("vowel-share") / "home")

    async def make() -> None:
        async with connected(
            builder(Settings(home=home, limits=FixedLimits(answer_within_s=600)))(), "modern"
        ) as client:
            await succeeded(client, "synthesize_tool", **VOWEL_SHARE)

    with ThreadPoolExecutor(1) as elsewhere:  # a loop may be running in this thread
        elsewhere.submit(anyio.run, make).result(PATIENCE_S)
    return home


@pytest.fixture
def vowel_share(home: Path, with_vowel_share: Path, store: str, request: pytest.FixtureRequest) -> None:
    """The library of the test holds VOWEL_SHARE before anything opens it."""
    if store == "postgres":
        from alita_mcp.library.copying import copy_library

        copy_library(with_vowel_share, "", request.getfixturevalue("postgres_url"))
        return
    shutil.copytree(with_vowel_share, home, dirs_exist_ok=True)


@pytest.fixture
def embedded() -> None:
    """Tools of the servers of a test run in the embedded sandbox, not in this process."""


@pytest.fixture
def build(settings: Settings, request: pytest.FixtureRequest) -> Build:
    return builder(settings, WasmSandbox if "embedded" in request.fixturenames else InProcessSandbox)


@pytest.fixture
def server(build: Build) -> DualEraServer:
    return build()


@pytest.fixture
async def client(server: DualEraServer, era: str) -> AsyncIterator[Client]:
    async with connected(server, era) as opened:
        yield opened
