"""A synthesis that is cancelled, in whatever stage, or killed: nothing half-published, nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from alita_mcp.app import open_app
from alita_mcp.library.opening import open_library
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.roles import RoleModels
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import FixedLimits, Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Working
from alita_mcp.toolsmith.requests.request import SynthesisRequest, read_request
from tests.living import alive
from tests.models.openai_server import Reply, Request, openai_server
from tests.toolsmith.authors import PLAIN, REQUEST, SLOW, Script, kind_of

pytestmark = pytest.mark.slow

STAGES = (
    "search", "spec", "tests", "code", "static", "matrix", "examples", "determinism", "duplicates", "publish",
)  # fmt: skip


def request(**changes: Any) -> SynthesisRequest:
    request = read_request({"description": REQUEST, **changes})
    assert isinstance(request, SynthesisRequest)
    return request


def served(settings: Settings, url: str, **changes: Any) -> Settings:
    given = {"model": "openai/scripted", "model_base_url": url, "sandbox": "wasm"}
    return settings.model_copy(update={**given, **changes})


async def silent(_stage: str) -> None:
    return None


def opened(settings: Settings) -> Any:
    role_models = RoleModels(settings, patience=Patience(first_pause_s=0.01, max_pause_s=0.05))
    box = WasmSandbox(settings)
    return open_app(settings, admit=lambda _manifest: (), sandbox=box, models=role_models)


async def test_cancelled_in_any_stage_it_leaves_nothing_and_can_be_made_again(settings: Settings) -> None:
    script = Script(candidates=[PLAIN])
    with openai_server(script) as (url, _asked), anyio.fail_after(240):
        async with opened(served(settings, url)) as app:
            before = {entry.name for entry in app.library.tools.entries()}
            for stage in STAGES:
                reached = anyio.Event()

                async def hold(heard: str, stage: str = stage, reached: anyio.Event = reached) -> None:
                    if heard == stage:
                        reached.set()
                        await anyio.sleep_forever()

                async with anyio.create_task_group() as callers:
                    callers.start_soon(app.synthesize, request(), hold)
                    await reached.wait()
                    callers.cancel_scope.cancel()
                assert {entry.name for entry in app.library.tools.entries()} == before, stage
                assert not (app.library.home / "generated_tools" / "digit_sum").exists(), stage
                row = next(row for row in app.library.journal(10) if row.event == "synthesis")
                assert row.detail["status"] == "cancelled", stage
            assert isinstance(await app.synthesize(request(), silent), Created)


async def test_cancelled_while_the_model_is_silent(settings: Settings) -> None:
    silent_now = threading.Event()

    def reply(request: Request) -> Reply:
        if kind_of(request) != "tests":
            return Script()(request)
        silent_now.set()
        return None

    with openai_server(reply) as (url, _asked), anyio.fail_after(120):
        async with opened(served(settings, url)) as app:
            async with anyio.create_task_group() as callers:
                callers.start_soon(app.synthesize, request(), silent)
                await anyio.to_thread.run_sync(silent_now.wait, 60)
                callers.cancel_scope.cancel()
            assert "digit_sum" not in {entry.name for entry in app.library.tools.entries()}


async def test_a_client_that_timed_out_finds_its_job_by_asking_again(settings: Settings) -> None:
    script = Script(candidates=[PLAIN])
    with openai_server(script) as (url, _asked), anyio.fail_after(120):
        async with opened(served(settings, url, limits=FixedLimits(answer_within_s=0.05))) as app:
            first = await app.synthesize(request(), silent)
            assert isinstance(first, Working)
            outcome = await app.synthesize(request(), silent)
            while isinstance(outcome, Working):
                assert outcome.job_id == first.job_id
                outcome = await app.synthesize(request(), silent)
    assert isinstance(outcome, Created)
    assert script.count("spec") == 1


@pytest.mark.process
@pytest.mark.parametrize("sandbox", ["wasm", pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)])
def test_killed_in_the_middle_it_leaves_a_whole_library_and_no_process(
    home: Path, sandbox: str, request: pytest.FixtureRequest
) -> None:
    if sandbox == "bubblewrap":
        request.getfixturevalue("bubblewrap")
    spinning = SLOW.replace("number += 0", "number += 0  # " + home.as_posix().replace("/", "_"))
    with openai_server(Script(candidates=[spinning])) as (url, asked):
        environment = {
            **os.environ, "ALITA_HOME": str(home), "ALITA_SANDBOX": sandbox, "ALITA_MODEL": "openai/scripted",
            "ALITA_MODEL_BASE_URL": url,
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "alita_mcp.cli.main", "synthesize", "--description", REQUEST],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until(lambda: len(asked.requests) >= 4 and len(descendants(process.pid)) > 0)
        children = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_until(lambda: not any(map(alive, children)))
    anyio.run(nothing_was_published, home)


async def nothing_was_published(home: Path) -> None:
    async with open_library(Settings(home=home)) as library:
        assert "digit_sum" not in {entry.name for entry in library.tools.entries()}
        assert not (home / "generated_tools" / "digit_sum").exists()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < end, "waited five minutes in vain"
        time.sleep(0.05)


def descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []
