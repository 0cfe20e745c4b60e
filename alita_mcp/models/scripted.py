"""A model that answers from a script; ships with the package so that every flow can be tested without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alita_mcp.errors import ModelError
from alita_mcp.models.seam import Completion, Message


class ScriptedModel:
    """Gives the scripted answers in order, then refuses; remembers what it was asked."""

    def __init__(self, answers: Iterable[str], name: str = "scripted") -> None:
        self.name = name
        self.asked: list[tuple[Message, ...]] = []
        self._answers = iter(answers)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,  # noqa: ARG002 - a script has no choices
        temperature: float | None = None,  # noqa: ARG002
    ) -> Completion:
        """The next scripted answer."""
        self.asked.append(tuple(messages))
        try:
            return Completion(text=next(self._answers), model=self.name)
        except StopIteration:
            raise ModelError("The script of this model has ended.") from None
