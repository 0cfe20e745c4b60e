"""A server of this process over HTTP, and short ways to call its API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.server.agents.scripted import Serving
from tests.server.processes import PATIENCE_S
from tests.server.test_http import listening


@asynccontextmanager
async def api(made: Serving, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API of a server."""
    async with listening(made.settings, server=made.server()) as url:
        base = url.removesuffix("/mcp")
        async with httpx.AsyncClient(base_url=base, timeout=PATIENCE_S, headers=headers) as client:
            yield client


async def solution_of(client: httpx.AsyncClient, **task: Any) -> dict[str, Any]:
    """The solution at the end of a task's stream."""
    async with client.stream("POST", "/api/tasks", json=task) as stream:
        assert stream.status_code == 200, await stream.aread()
        told = await messages(stream)
    solution: dict[str, Any] = json.loads(told[-1]["data"])["data"]
    return solution


def code_of(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of a refusal, whose body has the one form."""
    told = answer.json()
    assert told.keys() == {"error"}, told
    assert told["error"].keys() == {"code", "message", "hint"}
    return answer.status_code, told["error"]["code"]


async def messages(response: httpx.Response, most: int = 1_000) -> list[dict[str, str]]:
    """Messages of an event stream, as many as asked for, or until it ends."""
    found: list[dict[str, str]] = []
    message: dict[str, str] = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if line and name:
            message[name] = value
        elif "data" in message:
            found.append(message)
            if len(found) == most:
                return found
        if not line:
            message = {}
    return found
