"""Calibration run of one model, which keeps each task's result as soon as it is known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from alita_mcp.models.roles import RoleModels
from alita_mcp.synthesis.calibration.tasks import CalibrationTask, TaskSet
from alita_mcp.synthesis.calibration.trial import tried
from alita_mcp.synthesis.model_records.records import ModelRecords
from alita_mcp.synthesis.model_records.result import TaskResult
from alita_mcp.values import Usage
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

OnTask = Callable[[str], Awaitable[None]]
"""Told in a few words what came of each task."""


@dataclass
class Calibrating:
    """Runs calibration tasks with one model; whatever ends the run, finished tasks are kept and counted."""

    model: str
    role_models: RoleModels
    rehearsal: Rehearsal
    records: ModelRecords
    tasks: TaskSet
    sandbox: tuple[str, ...] = ()
    """What code can do there, for the writers."""
    done: int = 0
    spent: list[Usage] = field(default_factory=list)

    async def work(self, pending: Sequence[CalibrationTask], on_task: OnTask) -> None:
        """One task after the other.

        Raises:
            ModelError: the model did not answer.
            SandboxError: the sandbox failed.
            LibraryError: a result could not be kept.
        """
        for task in pending:
            models = self.role_models.open(fresh=True)
            try:
                result = await tried(task, models, self.rehearsal, task.brief(self.sandbox))
            finally:
                self.spent.append(models.usage)
            await self.records.add(self.model, task.name, result, len(self.tasks.tasks))
            self.done += 1
            await on_task(f"{self.done}/{len(pending)} {task.name}: {in_words(result)}")

    @property
    def usage(self) -> Usage:
        """All that was asked for so far, failed and stopped tasks included."""
        costs = [usage.cost_usd for usage in self.spent]
        known = [cost for cost in costs if cost is not None]
        return Usage(
            calls=sum(usage.calls for usage in self.spent),
            prompt_tokens=sum(usage.prompt_tokens for usage in self.spent),
            completion_tokens=sum(usage.completion_tokens for usage in self.spent),
            cost_usd=sum(known) if len(known) == len(costs) else None,
            seconds=sum(usage.seconds for usage in self.spent),
        )


def in_words(result: TaskResult) -> str:
    """Describes one task result in a line."""
    module = "right" if result.right else "misread" if result.agreed else "wrong"
    return f"{module}, {result.tests_right} of {result.tests_right + result.tests_wrong} tests hold"
