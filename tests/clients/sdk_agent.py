"""The smallest agent on the Python SDK's client: it asks a model, calls what the model calls, and asks again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client

from tests.clients.conversation import PROMPT
from tests.server.connections import Connection, client_of
from tests.server.processes import PATIENCE_S


class SdkAgent:
    """One conversation; `tools` is what the next request offers."""

    def __init__(self, client: Client, *, polls: bool = False) -> None:
        self.tools: list[types.Tool] = []
        self._client = client
        self._polls = polls

    async def refresh(self) -> None:
        """Lists the tools again."""
        self.tools = (await self._client.list_tools(cache_mode="bypass")).tools

    async def converse(self, model_url: str) -> list[dict[str, Any]]:
        """Goes on until the model has no more calls; gives the structured answer of each."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
        answers: list[dict[str, Any]] = []
        await self.refresh()
        async with httpx2.AsyncClient(timeout=PATIENCE_S, trust_env=False) as model:
            while True:
                body = {
                    "model": "scripted",
                    "messages": messages,
                    "tools": [_function(tool) for tool in self.tools],
                }
                said = await model.post(f"{model_url}/v1/chat/completions", json=body)
                message = said.raise_for_status().json()["choices"][0]["message"]
                messages.append(message)
                if not message.get("tool_calls"):
                    return answers
                for call in message["tool_calls"]:
                    function = call["function"]
                    result = await self._client.call_tool(function["name"], json.loads(function["arguments"]))
                    answers.append(dict(result.structured_content or {}))
                    text = "\n".join(
                        part.text for part in result.content if isinstance(part, types.TextContent)
                    )
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
                if self._polls:
                    await self.refresh()


def _function(tool: types.Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function}


@asynccontextmanager
async def following(target: Any, era: str) -> AsyncIterator[SdkAgent]:
    """An agent that lists again whenever it is told of a change."""
    async with client_of(target, era) as connection, anyio.create_task_group() as tasks:
        agent = SdkAgent(connection.client)
        tasks.start_soon(_follow, connection, agent)
        yield agent
        tasks.cancel_scope.cancel()


async def _follow(connection: Connection, agent: SdkAgent) -> None:
    while True:
        await connection.told()
        await agent.refresh()


@asynccontextmanager
async def deaf(target: Any, era: str, *, polls: bool = False) -> AsyncIterator[SdkAgent]:
    """An agent that hears of no change, and lists before each turn or never again."""
    with anyio.fail_after(3 * PATIENCE_S):
        async with Client(target, mode="legacy" if era == "legacy" else "auto") as client:
            yield SdkAgent(client, polls=polls)
