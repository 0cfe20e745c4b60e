"""Conversion of tools and calls to and from the form of OpenAI's chat completions."""

from __future__ import annotations

import json
from typing import Any

from alita_mcp.models.interface import Message, ToolCall, ToolSpec

MAX_CALLS = 32
"""Of one answer; the rest is left out."""
MAX_UNREADABLE = 2_000


def offered(tool: ToolSpec) -> dict[str, Any]:
    """A tool as it is offered to a model."""
    return {"type": "function", "function": tool.model_dump()}


def spoken(message: Message) -> dict[str, Any]:
    """A turn of the conversation."""
    said: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        said["content"] = message.content or None
        said["tool_calls"] = [_called(call) for call in message.calls]
    if message.role == "tool":
        said["tool_call_id"] = message.call_id
    return said


def asked_calls(message: Any) -> tuple[ToolCall, ...]:
    """The calls that a model's answer asks for, each with an id of its own."""
    found = getattr(message, "tool_calls", None) or ()
    calls: dict[str, ToolCall] = {}
    for number, one in enumerate(found[:MAX_CALLS], 1):
        call = _read(number, getattr(one, "id", None), getattr(one, "function", None))
        if call is not None:
            own = call.id if call.id not in calls else f"{call.id}_{number}"
            calls[own] = call.model_copy(update={"id": own})
    return tuple(calls.values())


def _called(call: ToolCall) -> dict[str, Any]:
    arguments = call.unreadable or json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _read(number: int, known_as: Any, function: Any) -> ToolCall | None:
    name, said = getattr(function, "name", None), getattr(function, "arguments", None)
    if not isinstance(name, str) or not name:
        return None
    id_ = known_as if isinstance(known_as, str) and known_as else f"call_{number}"
    try:
        arguments = json.loads(said) if isinstance(said, str) and said.strip() else said or {}
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        return ToolCall(id=id_[:200], name=name[:200], unreadable=str(said)[:MAX_UNREADABLE])
    return ToolCall(id=id_[:200], name=name[:200], arguments=arguments)
