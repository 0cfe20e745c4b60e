"""A scripted model that solves the benchmark's own tasks, behind an OpenAI-compatible server on loopback.

It is competent and imperfect: it calls tools that do not exist, sends arguments that are no JSON, answers before it
looked, and gets one task wrong. What is measured with it is the harness, never a model. The server keeps nothing: the
conversation in a request decides the answer. `python -m tests.agent.scripted_solver` serves until it is stopped.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.agent import made_tools, scripts, talk
from tests.models.openai_server import Request, Sends, openai_server

MODEL = "openai/scripted-solver"
CHARACTERS_A_TOKEN = 4
Message = Mapping[str, Any]
Answer = dict[str, Any]
"""An assistant's message."""


@dataclass(frozen=True)
class Solver:
    """Scripts and other knowledge of a scripted model."""

    script_for: Callable[[str], talk.Script | None] = scripts.script_for
    """The script of the task that stands in a text."""
    written: Mapping[str, made_tools.Written] = field(default_factory=lambda: made_tools.WRITTEN)
    """What it writes about tools, by their names."""


OURS = Solver()


def answer_to(body: Mapping[str, Any], solver: Solver = OURS) -> Answer:
    """The model's reply to a chat-completions request."""
    messages: Sequence[Message] = body["messages"]
    offered = frozenset(tool["function"]["name"] for tool in body.get("tools") or ())
    text = "\n".join(str(message.get("content") or "") for message in messages)
    if offered:
        return _turn(messages, offered, solver)
    return {"role": "assistant", "content": json.dumps(_structured(text, body.get("seed") or 1, solver))}


def _turn(messages: Sequence[Message], offered: frozenset[str], solver: Solver) -> Answer:
    """The next turn of the script whose task the conversation begins with."""
    begin = next((place for place, each in enumerate(messages) if each["role"] == "user"), 0)
    opening = str(messages[begin]["content"])
    told_task = re.search(r"<task>\n(.*?)\n</task>", opening, re.DOTALL)
    task = told_task[1] if told_task else opening
    script = solver.script_for(task)
    if script is None:
        return _said((talk.give_up(),), 0)
    memory = re.search(r"<memory>\n(.*?)\n</memory>", opening, re.DOTALL)
    turns = script(talk.Opened(task, offered, memory[1] if memory else ""))
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


def _structured(text: str, seed: int, solver: Solver) -> dict[str, Any]:
    """Answers to the questions that want JSON: of the planner, of the judge, and of the toolsmith's writers."""
    tool = next((each for name, each in solver.written.items() if name in text), None)
    if '"plans"' in text:
        return {"plans": [_plan("reuse", 0.5), _plan("run_once", 0.6)]}
    if tool is None:
        return {"claims": [], "verdicts": [], "facts": [], "lessons": []}
    if "Specify a tool" in text:
        return tool.specification
    if "Test this tool" in text:
        return {"reasoning": "", "tests": tool.suites[(seed - 1) // 10 % len(tool.suites)]}
    return {"reasoning": "", "code": tool.code, "packages": []}


def _plan(way: str, estimate: float) -> dict[str, Any]:
    steps = [
        {
            "need": "look at what the task names",
            "way": "research",
            "tool": "",
            "reason": "The data is there.",
        },
        {"need": "compute the answer", "way": way, "tool": "", "reason": "Exact.", "after": [1]},
    ]
    return {"steps": steps, "estimate": estimate, "note": "Look, then compute."}


@contextmanager
def serving(asked: list[dict[str, Any]] | None = None, solver: Solver = OURS) -> Iterator[str]:
    """Serves the model on a free port; gives the base URL. Requests are appended to `asked`."""

    def reply(request: Request) -> Sends:
        if asked is not None:
            asked.append(request.body)
        message = answer_to(request.body, solver)
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


if __name__ == "__main__":
    with serving() as url:
        print(f"{MODEL} at {url}", flush=True)
        threading.Event().wait()
