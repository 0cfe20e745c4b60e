"""Interface of language models: messages and tools, completions and their cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from pydantic import Field

from alita_mcp.values import Value

MAX_CALLS = 32
"""Of one answer; the rest is left out."""
MAX_UNREADABLE = 2_000
"""Characters of what a model sent in place of arguments."""


class ToolSpec(Value):
    """A tool that a model may ask for."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of its arguments, an object."""


class ToolCall(Value):
    """One call that a model asks for."""

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    unreadable: str = ""
    """What the model sent in place of a JSON object of arguments; empty where it sent one."""


class Message(Value):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()
    """What an assistant's turn asked for."""
    call_id: str = ""
    """Of a tool's turn: the call that it answers."""


class Completion(Value):
    """Answer of a model, and its cost."""

    text: str
    model: str
    calls: tuple[ToolCall, ...] = ()
    """Tools that the model asks for before it goes on."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    """None where the price is unknown."""
    truncated: bool = False
    """The answer ends where the room for it ended, not where the model did."""


class LanguageModel(Protocol):
    """A model that completes conversations.

    Implementers: the answer is text from a stranger; return it as it came. Retry what may pass (rate limits,
    server errors, time-outs) yourself; print nothing. One that cannot call tools raises `ModelError`
    where some are offered.
    """

    @property
    def name(self) -> str:
        """The model's name, as shown in reports."""
        ...

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        schema: dict[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
    ) -> Completion:
        """One completion; None leaves a choice to the model.

        Args:
            messages: The conversation so far.
            max_tokens: Room for the answer.
            temperature: How much answers may differ.
            seed: Another one is another draw.
            schema: JSON Schema of the wanted answer, for models that can be held to one; others ignore it.
            tools: What the model may ask for instead of an answer.

        Raises:
            ModelError: no answer could be had, or the model takes no `tools`; the hint says what to set.
        """
        ...
