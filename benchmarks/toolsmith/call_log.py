"""Log of model calls, between every role and its model, so that all contenders count alike."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from alita_mcp.errors import UsageError
from alita_mcp.models.interface import Completion, LanguageModel, Message
from alita_mcp.models.recording.recorded import Exchanges


@dataclass
class Call:
    """One answer that a model was asked for, had or not."""

    role: str
    started: float
    ended: float
    answer: Completion | None = None
    """None where none came."""


class CallLog:
    """Notes every call; `through` is where else they go, such as to a folder that records them."""

    def __init__(self, through: Exchanges | None = None) -> None:
        self.needs_model = through is None or through.needs_model
        self._through = through
        self._calls: list[Call] = []

    def between(self, role: str, model: LanguageModel | None) -> LanguageModel:
        """The model, with its calls noted.

        Raises:
            UsageError: there is none.
        """
        asked = model if self._through is None else self._through.between(role, model)
        if asked is None:
            raise UsageError("No model is configured.", hint="Set ALITA_MODEL, as in ollama/qwen3.")
        return _LoggedModel(role, asked, self._calls)

    def take(self) -> list[Call]:
        """The calls since the last time, in the order in which they began."""
        taken = sorted(self._calls, key=lambda call: call.started)
        self._calls.clear()
        return taken


class _LoggedModel:
    def __init__(self, role: str, model: LanguageModel, calls: list[Call]) -> None:
        self.name = model.name
        self._role = role
        self._model = model
        self._calls = calls

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        call = Call(self._role, time.monotonic(), 0.0)
        try:
            call.answer = await self._model.complete(messages, **options)
        finally:
            call.ended = time.monotonic()
            self._calls.append(call)
        return call.answer


def busy_seconds(calls: Iterable[Call]) -> float:
    """Seconds during which at least one call was under way."""
    total, until = 0.0, 0.0
    for call in sorted(calls, key=lambda each: each.started):
        total += max(0.0, call.ended - max(call.started, until))
        until = max(until, call.ended)
    return total
