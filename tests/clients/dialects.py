"""Four model APIs: what a request offers and shows the model, and a reply as that API streams it.

Anthropic Messages, OpenAI chat completions, OpenAI Responses and Gemini generateContent, as far as agents need them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Event = tuple[str, Json]
"""A server-sent event: its name, which may be empty, and its data."""


@dataclass(frozen=True)
class Result:
    """What the model reads of one call."""

    tool: str
    """By the name that the client gave it."""
    text: str


@dataclass(frozen=True)
class Turn:
    """One request for the model, the same for every API."""

    tools: tuple[str, ...]
    results: tuple[Result, ...]
    """Of every call in the conversation, in order."""
    body: Json

    def offered(self, name: str) -> str | None:
        """The name by which the model may call one of our tools: clients put the server's before it."""
        return next((tool for tool in self.tools if _names(tool, name)), None)

    def shown(self, name: str) -> list[str]:
        """What the model reads of the calls of one of our tools."""
        return [result.text for result in self.results if _names(result.tool, name)]


def _names(tool: str, name: str) -> bool:
    return tool == name or tool.endswith((f"_{name}", f"-{name}", f"/{name}"))


@dataclass(frozen=True)
class Says:
    """A reply in words, which ends the turn."""

    text: str


@dataclass(frozen=True)
class Calls:
    """A reply that calls one tool."""

    tool: str
    arguments: Json


Reply = Says | Calls


@dataclass(frozen=True)
class Dialect:
    """One API."""

    turn: Callable[[Json], Turn]
    events: Callable[[Reply, int], Iterator[Event]]
    """A reply as a stream; the number makes the ids of a run differ."""
    whole: Callable[[Reply, int], Json]
    """The same in one piece."""


def _text(content: Any) -> str:
    """The text of a result, which is a string, a list of parts or an object."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text(part.get("text", part)) for part in content)
    return json.dumps(content)


def _results(named: dict[str, str], told: Sequence[tuple[str, Any]]) -> tuple[Result, ...]:
    return tuple(Result(named.get(call, call), _text(content)) for call, content in told)


def _messages_turn(body: Json) -> Turn:
    blocks = [
        block
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    named = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
    told = [
        (block["tool_use_id"], block.get("content", "")) for block in blocks if block["type"] == "tool_result"
    ]
    return Turn(tuple(tool["name"] for tool in body.get("tools", ())), _results(named, told), body)


def _messages_block(reply: Reply, number: int) -> Json:
    if isinstance(reply, Says):
        return {"type": "text", "text": reply.text}
    return {"type": "tool_use", "id": f"toolu_{number:08}", "name": reply.tool, "input": reply.arguments}


def _messages_whole(reply: Reply, number: int) -> Json:
    return {
        "id": f"msg_{number:08}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [_messages_block(reply, number)],
        "stop_reason": "end_turn" if isinstance(reply, Says) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 5},
    }


def _messages_events(reply: Reply, number: int) -> Iterator[Event]:
    whole, block = _messages_whole(reply, number), _messages_block(reply, number)
    if isinstance(reply, Says):
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": reply.text}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
    for data in (
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ):
        yield str(data["type"]), data


def _chat_turn(body: Json) -> Turn:
    named = {
        call["id"]: call["function"]["name"]
        for message in body["messages"]
        for call in message.get("tool_calls") or ()
    }
    told = [
        (message["tool_call_id"], message["content"])
        for message in body["messages"]
        if message["role"] == "tool"
    ]
    tools = tuple(tool[tool["type"]]["name"] for tool in body.get("tools") or ())
    return Turn(tools, _results(named, told), body)


def _chat_message(reply: Reply, number: int) -> Json:
    if isinstance(reply, Says):
        return {"role": "assistant", "content": reply.text}
    function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
    call = {"index": 0, "id": f"call_{number:08}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _chat_whole(reply: Reply, number: int) -> Json:
    ending = "stop" if isinstance(reply, Says) else "tool_calls"
    choice = {"index": 0, "message": _chat_message(reply, number), "finish_reason": ending}
    return {**_chat_head(number, "chat.completion"), "choices": [choice], "usage": _CHAT_USAGE}


def _chat_events(reply: Reply, number: int) -> Iterator[Event]:
    head = _chat_head(number, "chat.completion.chunk")
    ending = "stop" if isinstance(reply, Says) else "tool_calls"
    for delta, finish in ((_chat_message(reply, number), None), ({}, ending)):
        yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    yield "", {**head, "choices": [], "usage": _CHAT_USAGE}


_CHAT_USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def _chat_head(number: int, kind: str) -> Json:
    return {"id": f"chatcmpl-{number:08}", "object": kind, "created": 1, "model": "scripted"}


def _responses_turn(body: Json) -> Turn:
    items = [item for item in body["input"] if isinstance(item, dict)]
    named = {item["call_id"]: item["name"] for item in items if item.get("type") == "function_call"}
    told = [(item["call_id"], item["output"]) for item in items if item.get("type") == "function_call_output"]
    return Turn(tuple(_function_names(body.get("tools", ()))), _results(named, told), body)


def _function_names(tools: Sequence[Json]) -> Iterator[str]:
    for tool in tools:
        if tool["type"] == "namespace":
            yield from (f"{tool['name']}/{name}" for name in _function_names(tool["tools"]))
        elif tool["type"] == "function":
            yield tool["name"]


def _responses_item(reply: Reply, number: int) -> Json:
    if isinstance(reply, Says):
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        return {
            "type": "message", "id": f"msg_{number:08}", "status": "completed", "role": "assistant", "content": [part],
        }  # fmt: skip
    namespace, _, name = reply.tool.rpartition("/")
    return {
        "type": "function_call", "id": f"fc_{number:08}", "call_id": f"call_{number:08}", "status": "completed",
        "name": name, "arguments": json.dumps(reply.arguments), **({"namespace": namespace} if namespace else {}),
    }  # fmt: skip


def _responses_whole(reply: Reply, number: int) -> Json:
    usage = {
        "input_tokens": 7, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 12,
    }  # fmt: skip
    return {
        "id": f"resp_{number:08}", "object": "response", "created_at": 1, "status": "completed", "model": "scripted",
        "output": [_responses_item(reply, number)], "usage": usage, "error": None, "incomplete_details": None,
    }  # fmt: skip


def _responses_events(reply: Reply, number: int) -> Iterator[Event]:
    whole, item = _responses_whole(reply, number), _responses_item(reply, number)
    place = {"item_id": item["id"], "output_index": 0}
    opened = {**whole, "status": "in_progress", "output": [], "usage": None}
    parts: list[Json] = [
        {"type": "response.created", "response": opened},
        {"type": "response.output_item.added", "output_index": 0, "item": _empty(item)},
    ]
    if isinstance(reply, Says):
        delta = {**place, "content_index": 0}
        parts += [
            {"type": "response.content_part.added", **delta, "part": {**item["content"][0], "text": ""}},
            {"type": "response.output_text.delta", **delta, "delta": reply.text},
            {"type": "response.output_text.done", **delta, "text": reply.text},
            {"type": "response.content_part.done", **delta, "part": item["content"][0]},
        ]
    else:
        said = item["arguments"]
        parts += [
            {"type": "response.function_call_arguments.delta", **place, "delta": said},
            {"type": "response.function_call_arguments.done", **place, "arguments": said},
        ]
    parts.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    parts.append({"type": "response.completed", "response": whole})
    for count, data in enumerate(parts):
        yield data["type"], {**data, "sequence_number": count}


def _empty(item: Json) -> Json:
    gone = {"content": []} if item["type"] == "message" else {"arguments": ""}
    return {**item, **gone, "status": "in_progress"}


def _gemini_turn(body: Json) -> Turn:
    parts = [part for content in body["contents"] for part in content["parts"]]
    answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
    tools = [
        function["name"]
        for tool in body.get("tools", ())
        for function in tool.get("functionDeclarations", ())
    ]
    return Turn(
        tuple(tools), _results({}, [(answer["name"], answer["response"]) for answer in answers]), body
    )


def _gemini_whole(reply: Reply, number: int) -> Json:
    if isinstance(reply, Says):
        part: Json = {"text": reply.text}
    else:
        part = {"functionCall": {"id": f"call_{number:08}", "name": reply.tool, "args": reply.arguments}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


def _gemini_events(reply: Reply, number: int) -> Iterator[Event]:
    yield "", _gemini_whole(reply, number)


MESSAGES = Dialect(_messages_turn, _messages_events, _messages_whole)
CHAT = Dialect(_chat_turn, _chat_events, _chat_whole)
RESPONSES = Dialect(_responses_turn, _responses_events, _responses_whole)
GEMINI = Dialect(_gemini_turn, _gemini_events, _gemini_whole)


def dialect_of(path: str) -> Dialect | None:
    """The API that is served at a path, or None."""
    endings = {
        "/messages": MESSAGES,
        "/chat/completions": CHAT,
        "/responses": RESPONSES,
        ":generateContent": GEMINI,
        ":streamGenerateContent": GEMINI,
    }
    return next((dialect for ending, dialect in endings.items() if path.endswith(ending)), None)
