"""Three servers on one home, the user's over stdio and two over HTTP with tokens: none reaches what is another's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from alita_mcp.agent.runs.store import StoredRuns
from alita_mcp.library.catalogue.use import RAN_CODE
from alita_mcp.library.opening import open_library
from alita_mcp.library.storage import open_storage
from alita_mcp.owners import token_owner
from alita_mcp.settings import Settings
from tests.agent import talk
from tests.agent.scripted_solver import MODEL, serving
from tests.server.connections import http_process, stdio_server
from tests.server.in_memory import called, succeeded, text_of
from tests.server.processes import PATIENCE_S
from tests.server.test_cut_results import texts_at

TOKENS = {"ann": "ann's token, correct horse", "bob": "bob's token, battery staple"}
OWNERS = {"user": "user"} | {name: token_owner(token) for name, token in TOKENS.items()}
CODE = "open('note.txt', 'w').write('private')\n'private ' * 100_000"


@dataclass(frozen=True)
class Door:
    """What one owner reaches the home through."""

    client: Client


@dataclass(frozen=True)
class Traces:
    """What an owner left: the id of a task, that of a run of code, and resources of both."""

    task: str
    run: str
    uris: tuple[str, ...]


@asynccontextmanager
async def doors(home: Path, sandbox: str = "wasm", **settings: str) -> AsyncIterator[dict[str, Door]]:
    """The user's door and those of two tokens, each of a process of its own."""
    async with AsyncExitStack() as stack:
        stack.enter_context(anyio.fail_after(3 * PATIENCE_S))
        over_stdio = Client(stdio_server(home, sandbox, **settings), mode="legacy")
        opened = {"user": Door(await stack.enter_async_context(over_stdio))}
        for (name, token), mode in zip(TOKENS.items(), ("auto", "legacy"), strict=True):
            url, _ = await stack.enter_async_context(http_process(home, sandbox, token=token, **settings))
            headers = {"authorization": f"Bearer {token}"}
            http = await stack.enter_async_context(
                httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(PATIENCE_S))
            )
            client = Client(streamable_http_client(url, http_client=http), mode=mode)
            opened[name] = Door(await stack.enter_async_context(client))
        yield opened


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a model that computes one sum for each task, and what it is asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    requests: list[dict[str, Any]] = []
    with serving(lambda _opened: talk.computed("print('ANSWER[55]')"), requests) as url:
        yield url, requests


async def leave_traces(name: str, door: Door) -> Traces:
    """Has a task solved and code run."""
    solved = await succeeded(door.client, "solve_task", task=f"Sum up the secret plan of {name} for zebras.")
    done = await called(door.client, "run_code", code=CODE)
    links = [block.uri for block in done.content if isinstance(block, types.ResourceLink)]
    assert len(links) == 2, text_of(done)[:500]
    file = next(uri for uri in links if uri.endswith("note.txt"))
    return Traces(solved["run"], file.split("/")[-2], tuple(links))


async def reached(door: Door, traces: Traces) -> list[str]:
    """What of these traces this door leads to."""
    found = []
    for uri in traces.uris:
        try:
            await texts_at(door.client, uri)
            found.append(f"read {uri.replace(traces.task, 'TASK').replace(traces.run, 'RUN')}")
        except MCPError:
            pass
    outcome = await called(door.client, "solve_task", job_id=traces.task)
    found += [] if outcome.is_error else ["the outcome of its job"]
    made = await called(door.client, "synthesize_tool", from_run=[traces.run], name="not_mine")
    found += [] if "There is no run" in text_of(made) else ["a tool from its run"]
    return found


@pytest.mark.process
async def test_strangers_on_one_home_reach_nothing_of_each_other(
    home: Path, asked: tuple[str, list[dict[str, Any]]]
) -> None:
    url, requests = asked
    settings = {"model": MODEL, "model_base_url": url}
    async with doors(home, **settings) as opened:
        left = {}
        for name, door in opened.items():
            left[name] = await leave_traces(name, door)
            own = await reached(door, left[name])
            assert len(own) >= len(left[name].uris) + 2, f"{name} reaches its own: {own}"
        leaks = [
            f"{stranger} from {name}: {leak}"
            for name, traces in left.items()
            for stranger, door in opened.items()
            if stranger != name
            for leak in await reached(door, traces)
        ]
    for request in map(str, requests):
        named = [name for name in left if f"secret plan of {name} " in request]
        leaks += [f"one prompt has the tasks of {' and '.join(named)}"] if len(named) > 1 else []
    assert not leaks, "\n".join(leaks)
    with open_storage(Settings(home=home)) as storage:
        owners = {run.run: run.owner for run in await StoredRuns(storage).list(100)}
    assert owners == {traces.task: OWNERS[name] for name, traces in left.items()}
    async with open_library(Settings(home=home)) as library:
        ran = [row.detail.get("owner", "user") for row in library.journal(1_000, RAN_CODE)]
    assert set(ran) == set(OWNERS.values())
