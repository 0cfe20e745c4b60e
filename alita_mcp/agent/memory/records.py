"""Conversion of episodes, facts and recipes to table rows and back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

from pydantic import Field, ValidationError

from alita_mcp.agent.interface import Episode, Fact
from alita_mcp.agent.memory.facts import key_of, normal_text
from alita_mcp.agent.memory.recipes import KeptRecipe, words_of
from alita_mcp.library.words.documents import Document
from alita_mcp.values import Value

MemoryKind = Literal["episodic", "semantic", "procedural"]
KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
Memorable = Episode | Fact | KeptRecipe
_CLASSES: dict[MemoryKind, type[Episode] | type[Fact] | type[KeptRecipe]] = {
    "episodic": Episode,
    "semantic": Fact,
    "procedural": KeptRecipe,
}


class Row(NamedTuple):
    """One row of a memory table."""

    name: str
    """Its id."""
    body: str
    """JSON of the value."""
    at: str
    """ISO 8601 date of what it tells."""
    touched: float
    """When it was last written or recalled, seconds since 1970; the least recently touched goes first."""


class MemoryEntry(Value):
    """One memory as a person sees it."""

    id: str
    kind: MemoryKind
    at: str
    """ISO 8601 date."""
    text: str
    """One line that says what it is."""
    value: dict[str, Any] = Field(default_factory=dict)
    """The whole of it."""


def row_of(value: Memorable, at: str, touched: float) -> Row:
    """The row of a memory."""
    return Row(id_of(value), value.model_dump_json(), at, touched)


def read(kind: MemoryKind, body: str) -> Memorable | None:
    """The value of a row; None where this version cannot read it."""
    try:
        return _CLASSES[kind].model_validate_json(body)
    except ValidationError:
        return None


def id_of(value: Memorable) -> str:
    """The id of a memory: an episode's run, a fact's subject, a recipe's origin."""
    if isinstance(value, Episode):
        return f"episode-{_mark(value.run)}"
    return f"fact-{_mark(key_of(value))}" if isinstance(value, Fact) else value.recipe.id


def is_again(one: Episode, other: Episode) -> bool:
    """Whether two runs have the same task, answer and tools, so that the newer one is enough."""
    if (one.solved, one.answer) != (other.solved, other.answer) or one.tools_used != other.tools_used:
        return False
    return one.task.casefold().split() == other.task.casefold().split() and one.failed == other.failed


def document_of(value: Memorable) -> Document:
    """The searched words of a memory."""
    requests: Sequence[str] = ()
    if isinstance(value, Episode):
        text = value.task
    elif isinstance(value, Fact):
        text = f"{value.subject}. {value.text}"
    else:
        text, requests = words_of(value)
    return Document("", text, requests=tuple(requests))


def entry_of(kind: MemoryKind, row: Row, value: Memorable) -> MemoryEntry:
    """A memory as a person sees it."""
    return MemoryEntry(
        id=row.name, kind=kind, at=row.at, text=_line(value), value=value.model_dump(mode="json")
    )


def _line(value: Memorable) -> str:
    if isinstance(value, Episode):
        text = f"{'solved' if value.solved else 'not solved'}: {value.task}"
    elif isinstance(value, Fact):
        text = f"{value.subject}: {value.text} ({value.source.url})"
    else:
        known = value.recipe
        tools = ", ".join(step.tool for step in known.steps)
        text = f"{known.task} -> {tools} ({known.successes} solved, {known.failures} failed)"
    return " ".join(text.split())[:300]


def searched_text(value: Memorable) -> str:
    """All words of a memory, for a person who looks for some."""
    return normal_text(value) if isinstance(value, Fact) else value.model_dump_json()


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
