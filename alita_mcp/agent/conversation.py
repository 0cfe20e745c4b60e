"""Conversation of an agent with its model, fitted to a token budget by cutting old observations first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alita_mcp.models.interface import Message, ToolCall

MAX_CHARACTERS = 160_000
"""About 40,000 tokens; over it the oldest observations are cut to a line."""
KEPT_WHOLE = 6
"""The last observations, which are never cut."""
_SHORT = 300


class Conversation:
    """The turns of a conversation so far."""

    def __init__(self, opening: Sequence[Message], most: int = MAX_CHARACTERS) -> None:
        self._turns = list(opening)
        self._most = most

    @property
    def turns(self) -> tuple[Message, ...]:
        """The turns to send to the model."""
        return tuple(self._turns)

    def add_model_turn(self, text: str, calls: tuple[ToolCall, ...] = ()) -> None:
        """Adds the model's turn."""
        self._turns.append(Message(role="assistant", content=text, calls=calls))

    def add_message(self, message: Message) -> None:
        """Adds a message of ours."""
        self._turns.append(message)

    def add_results(self, answers: Iterable[tuple[str, str]]) -> None:
        """Adds the result of each call, by the call's id."""
        self._turns += [Message(role="tool", content=text, call_id=call) for call, text in answers]
        # Over the budget the oldest observations are cut, the last ones never.
        size = sum(len(turn.content) for turn in self._turns)
        observations = [place for place, turn in enumerate(self._turns) if turn.role == "tool"]
        for place in observations[:-KEPT_WHOLE]:
            if size <= self._most:
                return
            turn = self._turns[place]
            if len(turn.content) > _SHORT:
                cut = f"{turn.content[:_SHORT]}… (cut; read_value shows it again)"
                size -= len(turn.content) - len(cut)
                self._turns[place] = turn.model_copy(update={"content": cut})
