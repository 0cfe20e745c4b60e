"""Values that the manager agent and its memory exchange, and what it reports to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from alita_mcp.agent.values import TaskEvent
from alita_mcp.research.values import Source
from alita_mcp.values import Value

OnEvent = Callable[[TaskEvent], Awaitable[None]]
AskPerson = Callable[[str], Awaitable[str | None]]
"""Asks the person a question; None where no person is connected or none answered."""


class RecalledValue(Value):
    """A value of an earlier run that calls can name."""

    name: str
    """`m1`, `m2`, …"""
    value: Any
    source: Source | None = None
    """Where an answer may rest on the value: the file whose text it is. None: an answer may not."""


class Recalled(Value):
    """What memory has for a task."""

    text: str = ""
    """All that the model reads of it."""
    values: tuple[RecalledValue, ...] = ()
    """What the text names."""
    ids: tuple[str, ...] = ()
    """Of the memories."""


class Program(Value):
    """A program that the answer of a run rests on."""

    code: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    """With references in place of long values."""
    packages: tuple[str, ...] = ()
    result: Any = None
    """None too where it is long."""


class FileSeen(Value):
    """A file of a task."""

    name: str
    path: Path
    """Where it can be read until the run ends."""
    text: str = ""
    """Extracted text, where the run read it."""
    found: tuple[str, ...] = ()
    """What of the answer it says, with the words that say so."""


class FinishedRun(Value):
    """A run that came to its end, as memory gets it: without steps that failed or that the answer does not need."""

    run: str
    task: str
    at: str
    programs: tuple[Program, ...] = ()
    """What the answer rests on, the last step last; none where the task was not solved."""
    files: tuple[FileSeen, ...] = ()
    notes: tuple[str, ...] = ()
    """What a later task on these files should know."""


class ToolProposal(Value):
    """A tool made of a program that answered several tasks."""

    name: str
    description: str
    code: str
    examples: tuple[dict[str, Any], ...] = ()
    """Each `{"arguments": …, "expected": …}`, as it was observed."""
