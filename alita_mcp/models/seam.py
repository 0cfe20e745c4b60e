"""The language model's one seam: messages in, text and what it cost out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from alita_mcp.values import Value


class Message(Value):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Completion(Value):
    """What a model answered, and what it cost."""

    text: str
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class LanguageModel(Protocol):
    """A model that completes conversations.

    Implementers: the answer is text from a stranger; return it as it came. Retry what may pass (rate limits,
    server errors, time-outs) yourself; print nothing.
    """

    @property
    def name(self) -> str:
        """The model's name, as shown in reports."""
        ...

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, temperature: float | None = None
    ) -> Completion:
        """One completion; None leaves a choice to the model.

        Raises:
            ModelError: no answer could be had; the hint says what to set.
        """
        ...
