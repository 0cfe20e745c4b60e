"""ScriptedModel: answers from a script, so that every flow can be tested without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from alita_mcp.errors import ModelError
from alita_mcp.models.interface import Completion, Message


class ScriptedModel:
    """Model that gives the scripted answers in order, then refuses, or what a function of the messages says.

    Remembers what it was asked; an answer is a text or a whole completion.
    """

    def __init__(
        self,
        answers: Iterable[str | Completion] | Callable[[Sequence[Message]], str | Completion],
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.asked: list[tuple[Message, ...]] = []
        self.options: list[dict[str, Any]] = []
        """What else each question said: max_tokens, temperature, seed, schema; tools, where there were some."""
        self._answer = answers if callable(answers) else None
        self._answers = iter(() if callable(answers) else answers)

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        """The scripted answer to these messages."""
        self.asked.append(tuple(messages))
        unsaid = dict.fromkeys(("max_tokens", "temperature", "seed", "schema"))
        tools = tuple(options.pop("tools", ()))
        self.options.append({**unsaid, **options, **({"tools": tools} if tools else {})})
        try:
            said = self._answer(messages) if self._answer else next(self._answers)
        except StopIteration:
            raise ModelError("The script of this model has ended.") from None
        return said if isinstance(said, Completion) else Completion(text=said, model=self.name)
