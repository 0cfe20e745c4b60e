"""Reader of tasks with known answers, as JSON lines or in GAIA's own form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, ConfigDict, Field, ValidationError, field_validator

from alita_mcp.errors import UsageError
from alita_mcp.values import Value

OURS = Path(__file__).with_name("tasks.jsonl")
SITE = "{site}"
"""Stands in a question for the address of the site."""


class AgentTask(Value):
    """One task of the file; further fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field(min_length=1, max_length=200, validation_alias=AliasChoices("id", "task_id"))
    level: int = Field(default=1, validation_alias=AliasChoices("level", "Level"))
    """1 to 3, as GAIA has them."""
    question: str = Field(min_length=1, validation_alias=AliasChoices("question", "Question", "task"))
    long: bool = False
    """Whether it has ways that differ, of which some fail here."""
    files: tuple[str, ...] = Field(default=(), validation_alias=AliasChoices("files", "file_name"))
    """Names of files that the benchmark draws, or paths below the folder of the tasks."""
    answer: str = Field(
        min_length=1,
        validation_alias=AliasChoices("answer", "expected", "Final answer"),
        coerce_numbers_to_str=True,
    )

    @field_validator("files", mode="before")
    @classmethod
    def _one_name_is_a_list_too(cls, files: Any) -> Any:
        return [files] if isinstance(files, str) and files else files or ()


def read_tasks(file: Path, ids: Sequence[str] = ()) -> list[AgentTask]:
    """The tasks of a file; only those of the named ids where some are named.

    Raises:
        UsageError: the file cannot be read, a line is no task, or no task is left.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as unreadable:
        raise UsageError(f"{str(file)!r} cannot be read: {unreadable}.") from unreadable
    tasks = [_task(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    wanted = [task for task in tasks if not ids or task.id in ids]
    if not wanted:
        raise UsageError(f"{str(file)!r} holds no such task.", hint="Each line is one task as a JSON object.")
    return wanted


def _task(file: Path, number: int, line: str) -> AgentTask:
    try:
        return AgentTask.model_validate(json.loads(line))
    except ValidationError as wrong:
        first = wrong.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{file}:{number}: {where}: {first['msg']}") from wrong
    except ValueError as wrong:
        raise UsageError(f"{file}:{number} is no JSON: {wrong}") from wrong
