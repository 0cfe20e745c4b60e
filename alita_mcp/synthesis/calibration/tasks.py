"""Calibration tasks that ship with the package, with reference code and hidden examples."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import Field

from alita_mcp.synthesis.specification.values import Specification
from alita_mcp.synthesis.writing.prompts import Brief
from alita_mcp.values import Draft, Example, Limits, Value

TASKS_FILE = "tasks.jsonl"
LIMITS = Limits(wall_seconds=10.0, cpu_seconds=10.0)
"""Of one call: each task takes milliseconds, and a module that loops is to be found out soon."""
Level = Literal["easy", "middle", "hard"]


class CalibrationTask(Value):
    """A request with one right reading, and all that decides whether an answer to it is right."""

    name: str
    level: Level
    trap: str
    """Where a hasty reading goes wrong, in a word."""
    description: str
    """As a person would put it."""
    signature: str
    rules: tuple[str, ...]
    """Together with description and signature the whole specification."""
    reference: str
    """A module that is right."""
    hidden: tuple[Example, ...] = Field(min_length=12)
    """What a right module does; no model is shown them."""

    def brief(self, sandbox: tuple[str, ...] = ()) -> Brief:
        """Brief for the writers of code and tests; `sandbox` says what code can do there."""
        specification = Specification(
            name=self.name, description=self.description, signature=self.signature, rules=self.rules
        )
        return Brief(request=self.description, specification=specification, sandbox=sandbox)

    def draft(self, code: str, packages: tuple[str, ...] = ()) -> Draft:
        """A module that answers this task, as a draft that can be run."""
        return Draft(
            name=self.name,
            description=self.description,
            code=code,
            examples=(),
            packages=packages,
            limits=LIMITS,
        )


class TaskSet(Value):
    """All tasks of one release."""

    version: str
    """Digest of the data file: records of other tasks are not mixed with these."""
    tasks: tuple[CalibrationTask, ...]


@cache
def calibration_tasks() -> TaskSet:
    """The tasks of this package, mixed in a fixed order so that a part of them is no easier than the rest."""
    content = resources.files(__package__).joinpath(TASKS_FILE).read_bytes()
    tasks = [CalibrationTask.model_validate_json(line) for line in content.splitlines() if line.strip()]
    tasks.sort(key=lambda task: hashlib.sha256(task.name.encode()).digest())
    return TaskSet(version=hashlib.sha256(content).hexdigest()[:16], tasks=tuple(tasks))
