"""Language model for any model that litellm knows; imported at first use, for litellm takes seconds to load."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.models.choices import Chosen
from alita_mcp.models.interface import (
    MAX_CALLS,
    MAX_UNREADABLE,
    Completion,
    Message,
    ToolCall,
    ToolSpec,
    tools_refused,
)
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.litellm.failures import names_tools, refused_options, tried
from alita_mcp.models.litellm.loading import load_litellm

MAX_TEXT_CHARACTERS = 1_000_000
_CLOSES = re.compile("claude|anthropic|bedrock|gemini|vertex", re.IGNORECASE)
"""Providers whose dialect of JSON Schema, as litellm writes it, has no value of any kind."""
CHARACTERS_PER_TOKEN = 4
"""For servers that count nothing: a guess that is better than nothing for a budget."""


class NoAnswer(ConnectionError):
    """Failure of a server that sent no completion; it may the next time."""


class LitellmModel:
    """One model, named as litellm names it: `openai/…`, `ollama/…`."""

    def __init__(self, chosen: Chosen, patience: Patience | None = None) -> None:
        self.name = chosen.name
        self._chosen = chosen
        self._patience = patience or Patience()
        self._refused: set[str] = set()
        """Options that this model's server does not take."""

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
        """One completion; what the person set for the role goes before what the caller asks for.

        Rate limits, server errors, time-outs and lost connections are tried again with growing pauses.
        """
        litellm = await anyio.to_thread.run_sync(load_litellm)
        if tools and ("tools" in self._refused or not _takes_tools(litellm, self.name)):
            raise tools_refused(self.name)
        chosen = self._chosen
        options = {
            "max_tokens": chosen.max_tokens or max_tokens,
            "temperature": temperature if chosen.temperature is None else chosen.temperature,
            "seed": seed,
            "response_format": _response_format(litellm, self.name, schema),
            "tools": [{"type": "function", "function": tool.model_dump()} for tool in tools] or None,
        }
        wanted = {name: value for name, value in options.items() if value is not None}
        said = [_in_chat_form(message) for message in messages]
        return await tried(lambda: self._accepted(litellm, said, wanted), self._patience, chosen)

    async def _accepted(self, litellm: Any, said: list[dict[str, Any]], wanted: dict[str, Any]) -> Completion:
        """An answer, if need be without options that the server does not know; it is spared them from then on."""
        left_out: set[str] = set()
        while True:
            options = {name: value for name, value in wanted.items() if name not in self._refused | left_out}
            try:
                answer = await self._asked(litellm, said, options)
            except Exception as failure:
                refused = refused_options(failure, options)
                if not refused:
                    raise
                if "tools" in refused:  # an agent without its tools would make its answers up
                    self._refused |= refused if names_tools(failure) else set()
                    raise tools_refused(self.name) from None  # the vendor's own words may hold keys
                left_out |= refused
            else:
                self._refused |= left_out
                return answer

    async def _asked(self, litellm: Any, said: list[dict[str, Any]], options: dict[str, Any]) -> Completion:
        with anyio.fail_after(self._chosen.timeout_s):  # litellm's own limit starts again with every byte
            answer = await litellm.acompletion(
                model=self.name,
                messages=said,
                base_url=self._chosen.base_url,
                api_key=self._chosen.key_to_send,
                timeout=self._chosen.timeout_s,
                max_retries=0,
                num_retries=0,
                drop_params=True,  # some models know no temperature
                **options,
            )
        return self._completion(litellm, answer, said)

    def _completion(self, litellm: Any, answer: Any, said: list[dict[str, Any]]) -> Completion:
        choices = getattr(answer, "choices", None) or [None]
        message = getattr(choices[0], "message", None)
        text = getattr(message, "content", None) or ""
        if message is None or not isinstance(text, str):
            raise NoAnswer("the reply holds no choice with a text")
        usage = getattr(answer, "usage", None)
        asked = sum(len(message["content"] or "") for message in said)
        return Completion(
            text=text[:MAX_TEXT_CHARACTERS],
            calls=_read_calls(message),
            model=str(answer.model or self.name)[:200],
            prompt_tokens=_count(usage, "prompt_tokens", asked),
            completion_tokens=_count(usage, "completion_tokens", len(text)),
            cost_usd=_cost(litellm, self.name, answer),
            truncated=getattr(choices[0], "finish_reason", None) == "length"
            or len(text) > MAX_TEXT_CHARACTERS,
        )


def _response_format(litellm: Any, name: str, schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """How litellm wants a schema, for models that can be held to one or may be: unknown servers are tried.

    A free-form object reaches some providers as one that has to be empty; their models then answer plain JSON.
    """
    if schema is None or not _takes_schemas(litellm, name):
        return None
    if _CLOSES.search(name) and not _is_closed(schema):
        return None
    title = "".join(filter(str.isalnum, str(schema.get("title", "answer"))))[:40] or "answer"
    return {"type": "json_schema", "json_schema": {"name": title, "schema": schema, "strict": False}}


def _is_closed(schema: dict[str, Any]) -> bool:
    """Whether a schema states the type of every value; some providers make a free-form object an empty one."""
    if "anyOf" in schema:
        return all(_is_closed(each) for each in schema["anyOf"])
    match schema.get("type"):
        case "object":
            nodes = schema.get("properties", {}).values()
            return bool(nodes) and all(map(_is_closed, nodes)) and not schema.get("additionalProperties")
        case "array":
            return _is_closed(schema.get("items", {}))
        case kind:
            return kind is not None or "enum" in schema


def _in_chat_form(message: Message) -> dict[str, Any]:
    """A turn of the conversation as OpenAI's chat completions have it."""
    said: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        said["content"] = message.content or None
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.unreadable or json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for call in message.calls
        ]
    if message.role == "tool":
        said["tool_call_id"] = message.call_id
    return said


def _read_calls(message: Any) -> tuple[ToolCall, ...]:
    """The calls that a model's answer asks for, each with an id of its own."""
    calls: dict[str, ToolCall] = {}
    for number, asked in enumerate((getattr(message, "tool_calls", None) or ())[:MAX_CALLS], 1):
        function, id_ = getattr(asked, "function", None), getattr(asked, "id", None)
        name, said = getattr(function, "name", None), getattr(function, "arguments", None)
        if not isinstance(name, str) or not name:
            continue
        id_ = id_[:200] if isinstance(id_, str) and id_ else f"call_{number}"
        id_ = id_ if id_ not in calls else f"{id_}_{number}"
        try:
            arguments = json.loads(said) if isinstance(said, str) and said.strip() else said or {}
        except (ValueError, RecursionError):
            arguments = None
        read: dict[str, Any] = {"arguments": arguments}
        if not isinstance(arguments, dict):
            read = {"unreadable": str(said)[:MAX_UNREADABLE]}
        calls[id_] = ToolCall(id=id_, name=name[:200], **read)
    return tuple(calls.values())


def _takes_schemas(litellm: Any, name: str) -> bool:
    try:
        return bool(
            litellm.supports_response_schema(model=name)
            or "response_format" in (litellm.get_supported_openai_params(model=name) or ())
        )
    except Exception:  # noqa: BLE001 - litellm raises bare exceptions for names it does not know
        return False


def _takes_tools(litellm: Any, name: str) -> bool:
    """Whether litellm would hand tools on: it drops them silently for providers that have none."""
    try:
        options = litellm.get_supported_openai_params(model=name)
    except Exception:  # noqa: BLE001 - litellm raises bare exceptions for names it does not know
        return True
    listed = litellm.model_cost.get(name, {}).get("supports_function_calling")
    return listed is not False and (options is None or "tools" in options)


def _count(usage: Any, name: str, characters: int) -> int:
    counted = getattr(usage, name, None)
    if isinstance(counted, int) and counted > 0:
        return counted
    return -(-characters // CHARACTERS_PER_TOKEN)


def _cost(litellm: Any, name: str, answer: Any) -> float | None:
    """By litellm's own price list; None where it does not know the model."""
    try:
        cost = float(litellm.completion_cost(completion_response=answer, model=name))
    except Exception:  # noqa: BLE001 - litellm raises bare exceptions for models without a price
        return None
    return cost if cost >= 0 else None
