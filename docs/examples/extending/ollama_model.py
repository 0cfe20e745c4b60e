"""Example of a model provider without litellm: Ollama's own HTTP API, served to clients over stdio.

python docs/examples/extending/ollama_model.py http://127.0.0.1:11434 qwen3
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import httpx
from mcp.server.stdio import stdio_server

from alita_mcp.app import open_app
from alita_mcp.errors import ModelError
from alita_mcp.models.interface import Completion, Message, ToolCall, ToolSpec
from alita_mcp.server.build import DualEraServer, build_server
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings, read_settings

TIMEOUT_S = 300.0


class OllamaModel:
    """Language model behind the HTTP API of Ollama; fills `LanguageModel`."""

    def __init__(self, client: httpx.AsyncClient, name: str) -> None:
        self.name = name
        self._client = client

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        schema: dict[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
    ) -> Completion:
        """One completion; whatever goes wrong is a `ModelError` with a hint."""
        options = {"num_predict": max_tokens, "temperature": temperature, "seed": seed}
        question: dict[str, Any] = {
            "model": self.name,
            "stream": False,
            "messages": [_message(each) for each in messages],
            "options": {option: value for option, value in options.items() if value is not None},
        }
        if schema is not None:
            question["format"] = schema
        if tools:
            question["tools"] = [{"type": "function", "function": each.model_dump()} for each in tools]
        try:
            reply = await self._client.post("/api/chat", json=question)
            said = reply.raise_for_status().json()
            return _completion(self.name, said)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as failure:
            raise ModelError(
                f"{self.name!r} did not answer: {type(failure).__name__}.", hint="Is `ollama serve` running?"
            ) from failure


def _message(message: Message) -> dict[str, Any]:
    calls = [{"function": {"name": each.name, "arguments": each.arguments}} for each in message.calls]
    plain = {"role": message.role, "content": message.content}
    return {**plain, "tool_calls": calls} if calls else plain


def _completion(name: str, said: dict[str, Any]) -> Completion:
    message = said["message"]
    calls = [each["function"] for each in message.get("tool_calls", ())]
    return Completion(
        text=message["content"],
        model=name,
        calls=tuple(
            ToolCall(id=f"call_{number}", name=each["name"], arguments=each["arguments"])
            for number, each in enumerate(calls)
        ),
        prompt_tokens=said.get("prompt_eval_count", 0),
        completion_tokens=said.get("eval_count", 0),
        truncated=said.get("done_reason") == "length",
    )


def server_with(settings: Settings, model: OllamaModel) -> DualEraServer:
    """The MCP server whose tools are written by this model, whatever the role."""
    return build_server(settings, open_app=lambda: open_app(settings, admit=admit, model=model))


async def serve(settings: Settings, url: str, name: str) -> None:
    """Serves over stdio until the input ends."""
    async with (
        httpx.AsyncClient(base_url=url, timeout=TIMEOUT_S) as client,
        stdio_server() as (reads, writes),
    ):
        server = server_with(settings, OllamaModel(client, name))
        await server.run(reads, writes, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(partial(serve, read_settings(), *sys.argv[1:]))
