"""Values of a task: request, budget, steps, solution, events."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from alita_mcp.owners import USER
from alita_mcp.research.values import Source
from alita_mcp.values import Usage, Value

Stopped = Literal["", "steps", "tokens", "money", "seconds", "cancelled", "model"]
"""What ended a task before its answer; `model`: no model answered."""


class TaskBudget(Value):
    """Limits of one task; 0 lifts one, but for the steps."""

    steps: int = Field(default=60, ge=1, le=1_000)
    tokens: int = Field(default=500_000, ge=0)
    usd: float = Field(default=2.0, ge=0)
    seconds: float = Field(default=1_200.0, ge=0)


class TaskRequest(Value):
    """One task."""

    task: str = Field(min_length=1, max_length=20_000)
    files: tuple[Path, ...] = ()
    """Files and folders of the caller's that the task is about; copied into the run's workspace."""
    hosts: tuple[str, ...] = ()
    """Hosts that the run may read freely, besides those of URLs in the task."""
    budget: TaskBudget = TaskBudget()
    plans: int | None = Field(default=None, ge=0, le=8)
    """How many plans the first turn may offer: 0 plain ReAct, 1 without comparison; None: the usual number."""
    memory: bool = True
    """Whether the run recalls and remembers."""
    makes_tools: bool = True
    """Whether the run may have tools made."""


class Step(Value):
    """One action and what came of it."""

    model_config = ConfigDict(extra="ignore")  # earlier releases recorded more

    number: int
    """From 1."""
    tool: str
    """The agent tool or library tool that was called."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """As the model sent them, references not resolved, long texts cut."""
    reason: str = ""
    """Why this way and not another, in the model's words."""
    ok: bool = True
    observation: str = ""
    """What the model was shown."""
    reference: str = ""
    """`o7`: names the whole value for later steps."""
    made: str = ""
    """The tool that it made."""
    seconds: float = 0.0
    cost_usd: float = 0.0


class Claim(Value):
    """A claim of an answer and the observation that it rests on."""

    claim: str
    reference: str = ""
    """Empty: nothing that was observed says so."""
    quote: str = ""
    """Where the observation says it, word for word."""


class Solution(Value):
    """The end of a task."""

    model_config = ConfigDict(extra="ignore")  # as Step

    run: str
    """Id of the run."""
    task: str
    answer: str
    """As short as the task asks for; the best answer so far where the run was stopped; empty where there is none."""
    solved: bool
    stopped: Stopped = ""
    stopped_why: str = ""
    claims: tuple[Claim, ...] = ()
    checked: str = ""
    """How a computed answer was checked: by which second computation, or that it was computed once."""
    steps: tuple[Step, ...] = ()
    tools_made: tuple[str, ...] = ()
    tools_used: tuple[str, ...] = ()
    calls: int = 0
    """Of models."""
    tokens: int = 0
    cost: float | None = None
    """USD; None where the price of a model is not known."""
    usage: Usage = Usage()
    seconds: float = 0.0
    sources: tuple[Source, ...] = ()
    proposal: dict[str, Any] | None = None
    """Arguments of `synthesize_tool` for a tool that would serve tasks like this one."""


EventKind = Literal[
    "started",
    "recalled",
    "plan",
    "step_started",
    "step",
    "question",
    "check",
    "answer",
    "stopped",
    "finished",
]


class TaskEvent(Value):
    """Something that happened in a run, as it is streamed and stored."""

    model_config = ConfigDict(extra="ignore")  # as Step

    run: str
    number: int
    """From 1, without gaps."""
    at: str
    """ISO 8601, UTC."""
    kind: EventKind
    text: str
    """One line for a person."""
    data: dict[str, Any] = Field(default_factory=dict)
    """`step`: the Step; `plan`: the plan chosen, with all candidates; `finished`: the Solution."""


RunStatus = Literal["running", "finished", "stopped", "died"]
"""`stopped`: by its budget, a person or for want of a model; `died`: its process ended first."""


class RunSummary(Value):
    """One run in a line."""

    model_config = ConfigDict(extra="ignore")  # as Step

    run: str
    task: str
    at: str
    """When it began: ISO 8601, UTC."""
    status: RunStatus
    owner: str = USER
    solved: bool = False
    stopped: Stopped = ""
    answer: str = ""
    """Its beginning."""
    steps: int = 0
    tools_made: tuple[str, ...] = ()
    tools_used: tuple[str, ...] = ()
    calls: int = 0
    """Of models."""
    tokens: int = 0
    cost: float | None = None
    """USD; None where the price of a model is not known, or the run has not ended."""
    seconds: float = 0.0
    actions: tuple[tuple[str, bool], ...] = ()
    """Its calls in order, and whether each worked."""


class RunProgress(Value):
    """How far a run is."""

    summary: RunSummary
    events: tuple[TaskEvent, ...]
    solution: Solution | None
    """Of a run that has ended."""
    files: dict[str, int]
    """Size in bytes of each that code of the run wrote."""
