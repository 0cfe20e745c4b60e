"""Values that travel in bodies of the HTTP API: new tasks, tasks and problems."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from alita_mcp.agent.values import RunStatus, Solution
from alita_mcp.server.agents.definitions import MAX_TASK
from alita_mcp.values import Value

MAX_FILES = 20
MAX_HOSTS = 32


def _integral(said: Any) -> Any:
    """JSON knows no integers: 3.0 is one."""
    return int(said) if isinstance(said, float) and said.is_integer() else said


Whole = Annotated[int, BeforeValidator(_integral)]
Host = Annotated[str, Field(max_length=253, pattern=r"^[A-Za-z0-9*_][A-Za-z0-9.*:_-]*$")]
Amount = Annotated[float, Field(gt=0, le=1e9)]


class NewFile(Value):
    """A file that a task is about, sent with it: as text, or as base64 of its bytes."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={"oneOf": [{"required": ["content"]}, {"required": ["content_base64"]}]},
    )

    name: str = Field(min_length=1, max_length=120, description="A name without folders.")
    content: str | None = Field(default=None, description="Its text.")
    content_base64: str | None = Field(default=None, description="Its bytes, where it is no text.")


class NewTask(Value):
    """A task and what it may take; no limit can be wider than the server's settings."""

    model_config = ConfigDict(strict=True)

    task: str = Field(min_length=1, max_length=MAX_TASK, pattern=r"\S", description="In plain words.")
    max_steps: Whole | None = Field(default=None, ge=1, le=1_000)
    max_tokens: Whole | None = Field(default=None, ge=1, le=10**12)
    max_usd: Amount | None = None
    max_seconds: Amount | None = None
    plans: Whole | None = Field(default=None, ge=0, le=8, description="Candidate plans; 0: none is made.")
    memory: bool = Field(default=True, description="Whether the run recalls and remembers.")
    hosts: tuple[Host, ...] = Field(
        default=(), max_length=MAX_HOSTS, description="Hosts that it may read, besides those of URLs in it."
    )
    files: tuple[NewFile, ...] = Field(
        default=(), max_length=MAX_FILES, description="Files sent along; none is read from the server's disk."
    )


class Links(Value):
    """Paths of one task."""

    self: str
    events: str


class TaskView(Value):
    """A task and where it stands."""

    id: str
    task: str
    at: str = Field(description="When it began: ISO 8601, UTC.")
    status: RunStatus
    events: int = Field(ge=0, description="Number of its last event.")
    last: str = Field(default="", description="What happened last, in one line.")
    links: Links
    solution: Solution | None = Field(default=None, description="How it ended; null while it is under way.")


class TaskRow(Value):
    """A task in a list."""

    id: str
    task: str
    at: str
    status: RunStatus
    solved: bool
    links: Links


class TaskList(Value):
    """The latest tasks, newest first."""

    tasks: tuple[TaskRow, ...]


class Problem(Value):
    """Why a request was not served."""

    code: str = Field(description="One word for programs.")
    message: str
    hint: str = Field(default="", description="What to do about it.")


class Problems(Value):
    """The body of every answer that is not a success."""

    error: Problem


def links_of(run: str) -> Links:
    """The paths of a task."""
    return Links(self=f"/api/tasks/{run}", events=f"/api/tasks/{run}/events")
