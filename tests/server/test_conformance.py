"""The protocol project's own conformance suites, with nothing excused, against the real server over HTTP."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.server.node_tools import NodeTools
from tests.server.processes import environment, started

pytestmark = pytest.mark.node
SERVER = (sys.executable, "-m", "tests.conformance.server")


@asynccontextmanager
async def fixture_server(folder: Path) -> AsyncIterator[str]:
    """A server process with the suites' fixtures; gives its URL."""
    env = environment(home=folder / "home", sandbox="wasm")
    async with started(SERVER, env, folder) as peer:
        yield (await peer.says("serving MCP at")).split()[-1]


@pytest.mark.parametrize(
    ("package", "options", "at_least"),
    [
        pytest.param("conformance-stable", ("--suite", "all"), 44, marks=pytest.mark.exhaustive),
        ("conformance-next", ("--requirements", "2025-11-25"), 84),
        ("conformance-next", ("--requirements", "2026-07-28"), 196),
    ],
    ids=["0.1.16 all", "0.2.0 2025-11-25", "0.2.0 2026-07-28"],
)
async def test_every_scenario_passes(
    tmp_path: Path, node_tools: NodeTools, package: str, options: tuple[str, ...], at_least: int
) -> None:
    async with fixture_server(tmp_path) as url:
        script = node_tools.package(package, "dist/index.js")
        ran = await node_tools.run([script, "server", "--url", url, *options, "-o", "results"], tmp_path)
    failed = [line for line in ran.out.splitlines() if line.lstrip().startswith("✗")]
    total = re.search(r"Total: (\d+) passed, (\d+) failed", ran.out)
    assert failed == []
    assert total, ran.out[-2_000:] + ran.err[-2_000:]
    assert int(total[1]) >= at_least
    assert int(total[2]) == 0
    assert ran.status == 0
