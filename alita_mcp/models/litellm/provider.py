"""Language model for any model that litellm knows; imported at first use, for litellm takes seconds to load."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.models.choices import Chosen
from alita_mcp.models.interface import (
    MAX_CALLS,
    MAX_UNREADABLE,
    Completion,
    Message,
    ToolCall,
    ToolSpec,
)
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.litellm.failures import call_with_retries, options_to_drop
from alita_mcp.models.litellm.loading import load_litellm

MAX_TEXT_CHARACTERS = 1_000_000
_CLOSES = re.compile("claude|anthropic|bedrock|gemini|vertex", re.IGNORECASE)
"""Providers whose dialect of JSON Schema, as litellm writes it, has no free-form value: it would have to be empty."""
KEY_WITHIN_S = 30.0
"""A keyring may ask its owner to unlock it."""
CHARACTERS_PER_TOKEN = 4
"""Estimate for servers that count nothing."""


class NoAnswer(ConnectionError):
    """Failure of a server that sent no completion; it may the next time."""


class LitellmModel:
    """One model, named as litellm names it: `openai/…`, `ollama/…`."""

    def __init__(self, chosen: Chosen, patience: Patience | None = None, *, key: str | None = None) -> None:
        """Without `key`, each call looks for it: one that was replaced meanwhile is taken at once."""
        self.name = chosen.name
        # litellm's `ollama/` has no tools; `ollama_chat/` is the same server's newer interface, which has
        self._sent_name = re.sub("^ollama/", "ollama_chat/", chosen.name)
        self._chosen = chosen
        self._patience = patience or Patience()
        self._key = key
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
        """One completion; options in the settings override those of the caller.

        Rate limits, server errors, time-outs and lost connections are tried again with growing pauses.
        """
        litellm = await anyio.to_thread.run_sync(load_litellm, abandon_on_cancel=True)
        key = self._key or await self._find_key()
        if tools and not _takes_tools(litellm, self._sent_name):
            hint = "Set ALITA_MODEL_CODER to a model with tool calling."
            raise ModelError(f"The model {self.name!r} cannot call tools.", hint=hint)
        chosen = self._chosen
        wanted = {
            "max_tokens": chosen.max_tokens or max_tokens,
            "temperature": temperature if chosen.temperature is None else chosen.temperature,
            "seed": seed,
            "response_format": _response_format(litellm, self._sent_name, schema),
            "tools": [{"type": "function", "function": tool.model_dump()} for tool in tools] or None,
        }
        options = {name: value for name, value in wanted.items() if value is not None}
        chat = [_chat_message(message) for message in messages]
        return await call_with_retries(
            lambda: self._complete_without_refused(litellm, chat, options, key), self._patience, chosen
        )

    async def _find_key(self) -> str | None:
        try:
            with anyio.fail_after(KEY_WITHIN_S):
                return await anyio.to_thread.run_sync(self._chosen.find_key_to_send, abandon_on_cancel=True)
        except UsageError as unfit:
            raise ModelError(unfit.message, hint=unfit.hint) from None
        except TimeoutError:
            hint = f"Unlock the keyring, or set {self._chosen.key_variable}."
            raise ModelError(
                f"The system keyring did not answer within {KEY_WITHIN_S:g} s.", hint=hint
            ) from None

    async def _complete_without_refused(
        self, litellm: Any, chat: list[dict[str, Any]], options: dict[str, Any], key: str | None
    ) -> Completion:
        """A completion, if need be without options that the server refuses; they are left out from then on."""
        left_out: set[str] = set()
        while True:
            sent = {name: value for name, value in options.items() if name not in self._refused | left_out}
            try:
                with anyio.fail_after(
                    self._chosen.timeout_s
                ):  # litellm's own limit starts anew with every byte
                    answer = await litellm.acompletion(
                        model=self._sent_name,
                        messages=chat,
                        base_url=self._chosen.base_url,
                        api_key=key,
                        timeout=self._chosen.timeout_s,
                        max_retries=0,
                        num_retries=0,
                        drop_params=True,  # some models know no temperature
                        **sent,
                    )
                completion = self._parse_completion(litellm, answer, chat)
            except Exception as failure:
                refused = options_to_drop(failure, sent)
                if not refused:
                    raise
                left_out |= refused
            else:
                self._refused |= left_out
                return completion

    def _parse_completion(self, litellm: Any, answer: Any, chat: list[dict[str, Any]]) -> Completion:
        choice = (getattr(answer, "choices", None) or [None])[0]
        message, usage = getattr(choice, "message", None), getattr(answer, "usage", None)
        text = getattr(message, "content", None) or ""
        if message is None or not isinstance(text, str):
            raise NoAnswer("the reply holds no choice with a text")

        def count(name: str, characters: int) -> int:
            counted = getattr(usage, name, None)
            if isinstance(counted, int) and counted > 0:
                return counted
            return -(-characters // CHARACTERS_PER_TOKEN)

        try:
            cost = float(litellm.completion_cost(completion_response=answer, model=self._sent_name))
        except Exception:  # noqa: BLE001 - litellm raises bare exceptions for models without a price
            cost = -1.0
        return Completion(
            text=text[:MAX_TEXT_CHARACTERS],
            calls=_parse_calls(message),
            model=str(answer.model or self.name)[:200],
            prompt_tokens=count("prompt_tokens", sum(len(turn["content"] or "") for turn in chat)),
            completion_tokens=count("completion_tokens", len(text)),
            cost_usd=cost if cost >= 0 else None,
            truncated=getattr(choice, "finish_reason", None) == "length" or len(text) > MAX_TEXT_CHARACTERS,
        )


def _response_format(litellm: Any, name: str, schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """A schema as litellm takes it; None for models that cannot be held to it."""
    try:
        is_supported = schema is not None and (
            litellm.supports_response_schema(model=name)
            or "response_format" in (litellm.get_supported_openai_params(model=name) or ())
        )
    except Exception:  # noqa: BLE001 - litellm raises bare exceptions for names it does not know
        return None
    if schema is None or not is_supported or (_CLOSES.search(name) and not _is_closed(schema)):
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


def _chat_message(message: Message) -> dict[str, Any]:
    """A turn of the conversation in the format of OpenAI's chat completions."""
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        turn["content"] = message.content or None
        turn["tool_calls"] = [
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
        turn["tool_call_id"] = message.call_id
    return turn


def _parse_calls(message: Any) -> tuple[ToolCall, ...]:
    """The calls that a model's answer asks for, each with an id of its own."""
    calls: dict[str, ToolCall] = {}
    for number, call in enumerate((getattr(message, "tool_calls", None) or ())[:MAX_CALLS], 1):
        function, id_ = getattr(call, "function", None), getattr(call, "id", None)
        name, text = getattr(function, "name", None), getattr(function, "arguments", None)
        if not isinstance(name, str) or not name:
            continue
        id_ = id_[:200] if isinstance(id_, str) and id_ else f"call_{number}"
        id_ = id_ if id_ not in calls else f"{id_}_{number}"
        try:
            arguments = json.loads(text) if isinstance(text, str) and text.strip() else text or {}
        except (ValueError, RecursionError):
            arguments = None
        is_object = isinstance(arguments, dict)
        parsed: dict[str, Any] = (
            {"arguments": arguments} if is_object else {"unreadable": str(text)[:MAX_UNREADABLE]}
        )
        calls[id_] = ToolCall(id=id_, name=name[:200], **parsed)
    return tuple(calls.values())


def _takes_tools(litellm: Any, name: str) -> bool:
    """Whether litellm would pass tools on: it drops them silently for providers that have none."""
    try:
        options = litellm.get_supported_openai_params(model=name)
    except Exception:  # noqa: BLE001 - litellm raises bare exceptions for names it does not know
        return True
    listed = litellm.model_cost.get(name, {}).get("supports_function_calling")
    return listed is not False and (options is None or "tools" in options)
