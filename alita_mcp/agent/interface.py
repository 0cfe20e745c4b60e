"""Interfaces of the manager agent: memory and store of runs, with their value types."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol

from pydantic import ConfigDict, Field

from alita_mcp.agent.values import TaskEvent
from alita_mcp.research.values import Source
from alita_mcp.values import Value

OnEvent = Callable[[TaskEvent], Awaitable[None]]
AskPerson = Callable[[str], Awaitable[str | None]]
"""Asks the person a question; None where no person is connected or none answered."""


class RecipeStep(Value):
    """A step that worked."""

    tool: str
    """Library tool, or agent tool such as `run_code`."""
    need: str
    """What it was for."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """With `{parameter}` in place of what changes from task to task."""


class Episode(Value):
    """One run, as it is remembered."""

    run: str
    task: str
    solved: bool
    answer: str
    at: str
    tools_used: tuple[str, ...] = ()
    tools_made: tuple[str, ...] = ()
    steps: tuple[RecipeStep, ...] = ()
    """Steps that worked, in order, with the arguments as they were; a recipe is made of them."""
    failed: tuple[str, ...] = ()
    """Tools whose calls failed, once each."""
    calls: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0


class Fact(Value):
    """Something that was found out."""

    text: str = Field(min_length=1, max_length=1_000)
    subject: str = Field(min_length=1, max_length=200)
    """What it is about; a newer fact of the same subject takes an older one's place."""
    kind: Literal["fact", "lesson"] = "fact"
    source: Source
    """Where it was read, or `run:ID`."""


class Recipe(Value):
    """Steps that worked for a kind of task."""

    model_config = ConfigDict(extra="ignore")  # earlier releases recorded time and cost too

    id: str
    task: str
    """With `{parameter}` in place of what changes."""
    steps: tuple[RecipeStep, ...] = ()
    successes: int = 0
    failures: int = 0


class Recalled(Value):
    """Recalled recipes, facts and runs that bear on a task, most similar first."""

    recipes: tuple[tuple[Recipe, float], ...] = ()
    """Each with how alike its task is, 0 to 1."""
    facts: tuple[tuple[Fact, str], ...] = ()
    """Each with its ISO 8601 date."""
    episodes: tuple[tuple[Episode, float], ...] = ()
    ids: tuple[str, ...] = ()


class Memory(Protocol):
    """Memory of earlier runs.

    Implementers: nothing secret is stored; what is stored is bounded, dated and de-duplicated; neither method raises
    for a memory that cannot be read or written: it is a help, not a truth.
    """

    async def recall(self, task: str) -> Recalled:
        """Finds what bears on a task."""
        ...

    async def remember(self, episode: Episode, facts: Sequence[Fact] = ()) -> None:
        """Stores a run, its facts, and, where it was solved, the recipe that its steps make."""
        ...


class TaskRuns(Protocol):
    """Store of runs, as far as a run writes into it."""

    async def append(self, event: TaskEvent) -> None:
        """Stores an event and passes it to all followers of the run."""
        ...

    async def keep_value(self, run: str, reference: str, value: bytes) -> None:
        """Stores an observation's whole value, a JSON text, as `alita://tasks/RUN/REFERENCE`."""
        ...
