"""Conversion of episodes, facts and recipes to rows of the memory and back."""

from __future__ import annotations

import hashlib
from typing import Any, Literal, NamedTuple, get_args

from pydantic import Field, ValidationError

from alita_mcp.agent.interface import Episode, Fact
from alita_mcp.agent.memory.facts import key_of, normal_text
from alita_mcp.agent.memory.recipes import KeptRecipe, recipe_words
from alita_mcp.owners import USER
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
    """One row of the table of memories."""

    id: str
    kind: MemoryKind
    body: str
    """JSON of the value."""
    at: str
    """ISO 8601 date of what it tells."""
    touched: float
    """When it was last written or recalled, seconds since 1970; the least recently touched goes first."""
    sameness: str
    """Equal for memories of one owner of which the newer one is enough."""
    owner: str = USER

    @property
    def value(self) -> Memorable | None:
        """The memory; None where this version cannot read it."""
        try:
            return _CLASSES[self.kind].model_validate_json(self.body)
        except ValidationError:
            return None


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
    owner: str = USER


def row_of(value: Memorable, at: str, touched: float, owner: str) -> Row:
    """The row of an owner's memory; no two owners share an id."""
    kind: MemoryKind
    if isinstance(value, Episode):
        said = (*value.task.casefold().split(), value.solved, value.answer, *value.tools_used, *value.failed)
        kind, name, sameness = "episodic", f"episode-{_mark(value.run)}", _mark(repr(said))
    elif isinstance(value, Fact):
        kind, name, sameness = "semantic", f"fact-{_mark(key_of(value))}", _mark(normal_text(value))
    else:
        kind, name, sameness = "procedural", value.recipe.id, value.recipe.id
    if owner != USER:
        name = f"{name}-{_mark(owner)}"
    return Row(name, kind, value.model_dump_json(), at, touched, sameness, owner)


def search_words(value: Memorable) -> str:
    """The words by which a task finds a memory."""
    if isinstance(value, Episode):
        return value.task
    return f"{value.subject}. {value.text}" if isinstance(value, Fact) else recipe_words(value)


def entry_of(row: Row, value: Memorable) -> MemoryEntry:
    """A memory as a person sees it."""
    if isinstance(value, Episode):
        text = f"{'solved' if value.solved else 'not solved'}: {value.task}"
    elif isinstance(value, Fact):
        text = f"{value.subject}: {value.text} ({value.source.url})"
    else:
        known = value.recipe
        tools = ", ".join(step.tool for step in known.steps)
        text = f"{known.task} -> {tools} ({known.successes} solved, {known.failures} failed)"
    if row.owner != USER:
        text = f"({row.owner}) {text}"
    return MemoryEntry(
        id=row.id, kind=row.kind, at=row.at, text=" ".join(text.split())[:300],
        value=value.model_dump(mode="json"), owner=row.owner,
    )  # fmt: skip


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
