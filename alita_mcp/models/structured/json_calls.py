"""Tool calling for any model: calls are asked for in JSON where the model or its server takes no tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from alita_mcp.models.interface import Completion, LanguageModel, Message, ToolCall, ToolSpec, ToolsRefused
from alita_mcp.models.structured.json_text import (
    SCHEMA,
    NoAction,
    correction,
    in_json,
    read_action,
    read_bare_calls,
)
from alita_mcp.models.structured.tool_calls import MAX_UNREADABLE

__all__ = ["Calling", "with_tools"]

Calling = Literal["auto", "native", "json"]


def with_tools(model: LanguageModel, mode: Calling = "auto") -> LanguageModel:
    """A model that can be offered tools.

    Args:
        model: Any model.
        mode: `native`: as it is, and one that takes no tools raises `ToolsRefused`; `json`: tools are described in
            its system message, and it answers in JSON; `auto`: the former until it refuses, then the latter.
    """
    return model if mode == "native" else _JsonCalls(model, json_from_the_start=mode == "json")


class _JsonCalls:
    def __init__(self, model: LanguageModel, *, json_from_the_start: bool) -> None:
        self.name = model.name
        self._model = model
        self._in_json = json_from_the_start

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
        **options: Any,
    ) -> Completion:
        """One completion, its `calls` read from JSON where the model has no other way; raises as the model does."""
        if not tools:
            said = in_json(messages) if self._in_json else messages
            return await self._model.complete(said, **options, schema=schema)
        if not self._in_json:
            try:
                answer = await self._model.complete(messages, **options, schema=schema, tools=tools)
            except ToolsRefused:
                pass
            else:
                return _with_bare_calls(answer, messages, tools)
        answer = await self._asked_in_json(messages, tools, schema, options)
        self._in_json = True  # only now: a request that is refused in both ways says nothing about tools
        return answer

    async def _asked_in_json(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        schema: dict[str, Any] | None,
        options: dict[str, Any],
    ) -> Completion:
        wanted = '"…"' if schema is None else json.dumps(schema, ensure_ascii=False)
        said = in_json(messages, tools, wanted)
        held = SCHEMA if schema is None else None
        first = await self._model.complete(said, **options, schema=held)
        try:
            return _with_action(first, messages)
        except NoAction as problem:
            why = f"it was cut off before its end ({problem})" if first.truncated else str(problem)
        second = await self._model.complete([*said, *correction(first.text, why)], **options, schema=held)
        both = _sum(first, second)
        try:
            return _with_action(both, messages)
        except NoAction as problem:
            return _no_action(both, messages, str(problem))


def _with_bare_calls(
    answer: Completion, messages: Sequence[Message], tools: Sequence[ToolSpec]
) -> Completion:
    if answer.calls:
        return answer
    names = frozenset(tool.name for tool in tools)
    calls = read_bare_calls(answer.text, _turn(messages), names)
    return answer.model_copy(update={"text": "", "calls": calls}) if calls else answer


def _with_action(answer: Completion, messages: Sequence[Message]) -> Completion:
    text, calls = read_action(answer.text, _turn(messages))
    return answer.model_copy(update={"text": text, "calls": calls})


def _no_action(answer: Completion, messages: Sequence[Message], problem: str) -> Completion:
    """Prose is an answer; braces that cannot be read are a call that cannot."""
    if "{" not in answer.text:
        return answer
    call = ToolCall(
        id=f"json_{_turn(messages)}_1", name="", unreadable=f"{problem}: {answer.text}"[:MAX_UNREADABLE]
    )
    return answer.model_copy(update={"text": "", "calls": (call,)})


def _turn(messages: Sequence[Message]) -> int:
    return 1 + sum(message.role == "assistant" for message in messages)


def _sum(first: Completion, second: Completion) -> Completion:
    costs = (first.cost_usd, second.cost_usd)
    return second.model_copy(
        update={
            "prompt_tokens": first.prompt_tokens + second.prompt_tokens,
            "completion_tokens": first.completion_tokens + second.completion_tokens,
            "cost_usd": None if costs[0] is None or costs[1] is None else costs[0] + costs[1],
        }
    )
