"""A library, a sandbox, and toolsmiths whose models are scripted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.roles import RoleModels
from alita_mcp.research.web_agent import WebAgent
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.context import Advice
from alita_mcp.toolsmith.toolsmith import Toolsmith
from tests.in_process import InProcessSandbox
from tests.models.openai_server import openai_server
from tests.toolsmith.authors import Script
from tests.toolsmith.bench import Bench, OpenBench
from tests.toolsmith.kept_runs import KeptRuns


@pytest.fixture
async def library(settings: Settings) -> AsyncIterator[Library]:
    async with open_library(settings, starters=lambda: None) as opened:
        yield opened


@pytest.fixture
def embedded() -> None:
    """Drafts of a test run in the embedded sandbox, not in this process."""


@pytest.fixture
async def sandbox(settings: Settings, request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    box = (WasmSandbox if "embedded" in request.fixturenames else InProcessSandbox)(settings)
    yield box
    await box.aclose()


@pytest.fixture
def bench(
    library: Library, sandbox: Sandbox, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> OpenBench:
    """Opens a toolsmith for a script of model answers."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")

    @asynccontextmanager
    async def opened(
        script: Script, research: WebAgent | None = None, **changes: Any
    ) -> AsyncIterator[Bench]:
        with openai_server(script) as (url, _asked):
            served = {"model": "openai/scripted", "model_base_url": url}
            configured = settings.model_copy(update={**served, **changes})
            role_models = RoleModels(configured, patience=Patience(first_pause_s=0.01, max_pause_s=0.05))
            runs = KeptRuns()
            advice = Advice(research, runs)
            smith = Toolsmith(library, sandbox, configured, lambda _manifest: (), role_models, advice)
            yield Bench(library, smith, script, runs=runs)

    return opened
