"""The real manager agent behind `solve_task` and the API: a scripted model, the embedded sandbox, all connections."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from alita_mcp.app import open_app
from alita_mcp.models.interface import Completion, Message
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.owners import USER
from alita_mcp.server.build import DualEraServer, build_server
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import FixedLimits, Settings
from tests.agent.world import call, finish
from tests.in_process import IN_PROCESS
from tests.models.openai_server import Calls, openai_server
from tests.server.api.calling import solution_of
from tests.server.connections import http_process
from tests.server.in_memory import connected, refused, succeeded
from tests.server.processes import PATIENCE_S
from tests.server.test_run_code_jobs import until

SUM = [
    call("run_code", code="sum(range(11))", arguments={}, reason="one sum, once"),
    finish("55", claims=[{"claim": "The sum is 55", "reference": "o1", "quote": "55"}]),
]

ANSWER = Calls(("finish", {"answer": "55", "solved": True}))
CHOSEN: dict[str, Any] = {"model": "openai/x", "memory": False}


class Silent(ScriptedModel):
    """A model that never answers."""

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        self.asked.append(tuple(messages))
        await anyio.sleep_forever()
        raise AssertionError


def real(settings: Settings, model: ScriptedModel, **changes: Any) -> DualEraServer:
    chosen = settings.model_copy(
        update={"limits": FixedLimits(task_plans=0), "memory": False, "sandbox": "wasm", **changes}
    )
    return build_server(chosen, open_app=partial(open_app, chosen, admit=admit, model=model))


@asynccontextmanager
async def over_http(server_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server_url.removesuffix("/mcp"), timeout=PATIENCE_S) as client:
        yield client


@pytest.mark.slow
async def test_a_task_is_worked_on(settings: Settings, era: str) -> None:
    async with connected(real(settings, ScriptedModel(SUM)), era) as client:
        told = await succeeded(client, "solve_task", task="What is the sum of 0 to 10?")
        assert (told["status"], told["answer"], told.get("stopped", "")) == (
            "solved",
            "55",
            "",
        )
        assert told["steps"][0]["tool"] == "run_code"


async def test_without_a_model_a_task_is_refused_with_what_to_set(settings: Settings, era: str) -> None:
    server = build_server(settings.model_copy(update={"sandbox": "wasm"}))
    async with connected(server, era) as client:
        assert "ALITA_MODEL" in await refused(client, "solve_task", task="count the vowels")


async def test_a_cancelled_request_stops_the_run_and_its_record_says_so(settings: Settings, era: str) -> None:
    model = Silent([])
    server = real(settings, model)
    async with connected(server, era) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: client.call_tool("solve_task", {"task": "t"}))
            await until(lambda: model.asked)
            tasks.cancel_scope.cancel()
        app = await server.shared.get()
        (row,) = await app.tasks.runs_of(USER).list()
        with anyio.fail_after(PATIENCE_S):
            while (solution := await app.tasks.runs_of(USER).solution(row.run)) is None:
                await anyio.lowlevel.checkpoint()
        told = [event.kind for event in await app.tasks.runs_of(USER).events(row.run)]
    assert (told[0], told[-1]) == ("started", "finished")
    assert solution.stopped == "cancelled"


@pytest.mark.process
async def test_the_served_process_has_the_api_and_its_events(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with openai_server(ANSWER) as (url, _):
        async with (
            http_process(home, IN_PROCESS, model_base_url=url, **CHOSEN) as (served, _),
            over_http(served) as client,
        ):
            assert (await solution_of(client, task="t", plans=0))["answer"] == "55"
