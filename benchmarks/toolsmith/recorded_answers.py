"""Model that replays one request's recorded answers, each of them once."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import Any

import anyio

from alita_mcp.errors import ModelError
from alita_mcp.models.interface import Completion, LanguageModel, Message
from alita_mcp.models.roles import Role
from benchmarks.toolsmith.judged_requests import JudgedRequest, Kind

CHARACTERS_A_TOKEN = 4
"""The usual estimate for English and code; the recorded answers came without counts."""
MODEL = "recorded"


class RecordedAnswers:
    """Remaining answers of a request, shared by all roles."""

    def __init__(self, request: JudgedRequest, tokens_per_second: float | None = None) -> None:
        """Nothing is used yet.

        Args:
            request: The request with its answers.
            tokens_per_second: How fast a model would have written them, for answers whose latency is not said;
                None: they come at once.
        """
        self._tokens_per_second = tokens_per_second
        self._latency_s = request.latency_s
        self._left: dict[Kind, deque[str]] = {
            "specification": deque(json.dumps(each) for each in request.specifications),
            "correction": deque(json.dumps(each) for each in request.corrections),
            "suite": deque(json.dumps({"tests": each}) for each in request.suites),
            "candidate": deque(each.model_dump_json() for each in request.candidates),
            "repair": deque(each.model_dump_json() for each in request.repairs),
        }

    def source(self, role: Role | None) -> LanguageModel:
        """The model of one role, as `RoleModels` takes it."""
        return _RecordedModel(role, self)

    async def answer(self, kind: Kind) -> str:
        """The next answer of a kind.

        Raises:
            ModelError: every one of them was used.
        """
        left = self._left[kind]
        if not left:
            raise ModelError(f"No further {kind} is recorded for this request.")
        text = left.popleft()
        await anyio.sleep(self._latency_s.get(kind, self._writing_s(text)))
        return text

    def _writing_s(self, text: str) -> float:
        return _tokens(text) / self._tokens_per_second if self._tokens_per_second else 0.0


class _RecordedModel:
    name = MODEL

    def __init__(self, role: Role | None, answers: RecordedAnswers) -> None:
        self._role = role
        self._answers = answers

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,  # noqa: ARG002 - recorded as it was
        temperature: float | None = None,  # noqa: ARG002
        seed: int | None = None,  # noqa: ARG002
        schema: dict[str, Any] | None = None,
        tools: Sequence[Any] = (),  # noqa: ARG002
    ) -> Completion:
        text = await self._answers.answer(asked_kind(self._role, messages, schema))
        return Completion(
            text=text,
            model=MODEL,
            prompt_tokens=_tokens(*(message.content for message in messages)),
            completion_tokens=_tokens(text),
        )


def asked_kind(role: Role | None, messages: Sequence[Message], schema: dict[str, Any] | None) -> Kind:
    """The kind of a question, by its role, its turns and the fields of the wanted answer.

    Raises:
        ModelError: nothing of that sort is ever recorded: a judgement, a correction, another shape.
    """
    wanted = (schema or {}).get("properties", {})
    answered_before = any(message.role == "assistant" for message in messages)
    kinds: dict[tuple[Role | None, bool], tuple[Kind, str]] = {
        ("planner", False): ("specification", "signature"),
        ("planner", True): ("correction", "signature"),
        ("tester", False): ("suite", "tests"),
        ("coder", False): ("candidate", "code"),
        ("coder", True): ("repair", "code"),
    }
    kind, field = kinds.get((role, answered_before), (None, ""))
    if kind is None or field not in wanted:
        raise ModelError(f"No answer to such a question of the role {role!r} is recorded.")
    return kind


def _tokens(*texts: str) -> int:
    return -(-sum(map(len, texts)) // CHARACTERS_A_TOKEN)
