"""A scripted model that solves one task, behind an OpenAI-compatible server on loopback.

The server keeps nothing: the conversation in a request decides the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tests.agent import talk
from tests.models.openai_server import Request, Sends, openai_server

MODEL = "openai/scripted-solver"
CHARACTERS_A_TOKEN = 4
Message = Mapping[str, Any]
Answer = dict[str, Any]
"""An assistant's message."""


def answer_to(body: Mapping[str, Any], script: talk.Script) -> Answer:
    """The model's reply to a request: the next turn of the script, or JSON where no tools are offered."""
    messages: Sequence[Message] = body["messages"]
    offered = frozenset(tool["function"]["name"] for tool in body.get("tools") or ())
    if not offered:
        said: dict[str, list[Any]] = {"claims": [], "verdicts": [], "facts": [], "lessons": []}
        return {"role": "assistant", "content": json.dumps(said)}
    begin = next((place for place, each in enumerate(messages) if each["role"] == "user"), 0)
    opening = str(messages[begin]["content"])
    told_task = re.search(r"<task>\n(.*?)\n</task>", opening, re.DOTALL)
    turns = script(talk.Opened(told_task[1] if told_task else opening, offered))
    told = _told(messages[begin + 1 :])
    if offered == {"finish"}:
        return _said((_best(told),), len(told))
    try:
        turn = next(turns)
        for seen in told:
            turn = turns.send(seen)
    except StopIteration:
        turn = (_best(told),)
    return _said(turn, len(told))


def _told(messages: Sequence[Message]) -> list[tuple[str, ...]]:
    """What came of each turn of the model's: one text for each call, else what it was told."""
    told: list[tuple[str, ...]] = []
    for message in messages:
        if message["role"] == "assistant":
            told.append(())
        elif told:
            told[-1] = (*told[-1], str(message.get("content") or ""))
    return told


def _best(told: Sequence[tuple[str, ...]]) -> talk.Call:
    """The last thing that code gave, for when nothing else may be done."""
    for seen in reversed([text for texts in told for text in texts]):
        if talk.answer_in(seen):
            return talk.finish(talk.answer_in(seen), seen)
    return talk.give_up()


def _said(turn: talk.Turn, number: int) -> Answer:
    if isinstance(turn, str):
        return {"role": "assistant", "content": turn}
    calls = [
        {
            "id": f"call_{number}_{place}",
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": call.arguments
                if isinstance(call.arguments, str)
                else json.dumps(call.arguments, ensure_ascii=False),
            },
        }
        for place, call in enumerate(turn)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


@contextmanager
def serving(script: talk.Script, asked: list[dict[str, Any]] | None = None) -> Iterator[str]:
    """Serves the model on a free port; gives the base URL. Requests are appended to `asked`."""

    def reply(request: Request) -> Sends:
        if asked is not None:
            asked.append(request.body)
        message = answer_to(request.body, script)
        prompt = -(-len(json.dumps(request.body["messages"])) // CHARACTERS_A_TOKEN)
        completion = -(-len(json.dumps(message)) // CHARACTERS_A_TOKEN)
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        body = {
            "id": "1", "object": "chat.completion", "created": 1, "model": str(request.body.get("model")),
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
            },
        }  # fmt: skip
        return Sends(json.dumps(body).encode())

    with openai_server(reply) as (url, _transcript):
        yield url
