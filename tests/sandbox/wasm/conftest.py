"""One open sandbox for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from tests.sandbox.arena import Arena, opened_arena


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """The embedded sandbox, with things of the host that programs reach for."""
    with opened_arena(WasmSandbox, tmp_path_factory.mktemp("wasm"), looks=False) as opened:
        yield opened
