"""A model that plays recorded answers to the benchmark's tasks, so that it can be measured without a model.

A record has the ways to solve a task, as a strong model wrote and ranked them once. The model begins with the first. It
goes over to another one when a turn fails or when it is told that another plan is best, as models do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from alita_mcp.models.interface import Completion, Message, ToolCall
from benchmarks.agent import task_file

RECORDED = Path(__file__).with_name("recorded.jsonl")
ADVICE = "this plan is best"
CHARACTERS_A_TOKEN = 4
_NAME = re.compile(r'<observation name="(\w+)"')


class RecordedModel:
    """Plays the records; keeps nothing, since the conversation says how far it is."""

    name = "recorded answers"

    def __init__(self, site: str) -> None:
        text = RECORDED.read_text("utf-8").replace(task_file.SITE, site)
        self._records = {record["id"]: record for record in map(json.loads, text.splitlines())}
        self._ids = {
            task.question.replace(task_file.SITE, site): task.id
            for task in task_file.read_tasks(task_file.OURS)
        }

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        """What the record says next; counts four characters as a token."""
        asked = messages[1].content
        record = next(self._records[id_] for question, id_ in self._ids.items() if question in asked)
        if options.get("tools"):
            text, calls = self._turn(record, messages)
        else:  # the judge is asked for a second program, or for quotations
            is_program = "write one Python program" in messages[0].content
            text, calls = json.dumps({"code": record["second"]} if is_program else {"claims": []}), []
        offered = "".join(tool.model_dump_json() for tool in options.get("tools", ()))
        prompt = sum(len(message.content) + len(str(message.calls)) for message in messages) + len(offered)
        return Completion(
            text=text,
            model=self.name,
            calls=tuple(
                ToolCall(id=f"{len(messages)}_{place}", name=name, arguments=arguments)
                for place, (name, arguments) in enumerate(calls)
            ),
            prompt_tokens=prompt // CHARACTERS_A_TOKEN,
            completion_tokens=(len(text) + len(json.dumps(calls))) // CHARACTERS_A_TOKEN,
            cost_usd=0.0,
        )

    def _turn(self, record: dict[str, Any], messages: Sequence[Message]) -> tuple[str, list[list[Any]]]:
        """The text and calls of the next turn."""
        ways = [[*([record["shared"]] if record["shared"] else []), *way["turns"]] for way in record["ways"]]
        way = at = 0
        last = ""
        for told in _told(messages[2:]):
            at += 1
            last = (_NAME.findall(told) or [last])[-1]
            advised = told.partition(ADVICE)[2]
            first = re.search(r"^1\. (\w+)", advised, re.MULTILINE)
            places = [
                n for n, each in enumerate(record["ways"]) if first and each["turns"][0][0][0] == first[1]
            ]
            # 1. Another plan is best. 2. This way failed, and there is another one.
            if places and places[0] != way:
                way, at = places[0], min(at, len(record["shared"][:1]))
            elif "<observation failed>" in told and way + 1 < len(ways):
                way, at = way + 1, len(record["shared"][:1])
        rules, text = messages[0].content, ""
        if len(messages) == 2 and "write a short plan" in rules:
            plans = [each["plan"] for each in record["ways"]]
            several = len(plans) > 1 and "two or three plans" in rules
            text = (
                "\n".join(f"Plan {chr(65 + n)} {plan}" for n, plan in enumerate(plans))
                if several
                else plans[0]
            )
        if at < len(ways[way]):
            return text, ways[way][at]
        claim = {"claim": record["answer"], "reference": last, "quote": record["quote"]}
        return text, [["finish", {"answer": record["answer"], "solved": True, "claims": [claim]}]]


def _told(messages: Sequence[Message]) -> Iterator[str]:
    """What came of each turn."""
    told: list[str] = []
    for message in [*messages, Message(role="assistant", content="")]:
        if message.role == "assistant":
            if told:
                yield "\n".join(told)
            told = []
        else:
            told.append(message.content)
