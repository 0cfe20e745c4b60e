"""Arms of the agent benchmark: one agent and one model that plan differently, and their answers and costs.

`react` decides each step when it comes, `plan` writes a plan in its first turn, `compare` also compares plans of long
tasks, and after failures, by what actions led to in the tasks before. Nothing is remembered otherwise.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread

from alita_mcp.agent.values import Solution, TaskBudget, TaskRequest
from alita_mcp.app import App, open_app
from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.models.interface import LanguageModel
from alita_mcp.owners import ClientIdentity
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.values import Value
from benchmarks.agent import materials, scoring, task_file

PLANS = {"react": 0, "plan": 1, "compare": 3}
"""How many plans the first turn of each arm may offer."""


class Trial(Value):
    """Trial of one arm on one task."""

    id: str
    level: int
    long: bool = False
    answer: str
    expected: str
    right: bool
    """Exactly the expected answer, whatever the agent thought of it."""
    claimed: bool = False
    """Whether the agent said that it was solved."""
    stopped: str = ""
    problem: str = ""
    """Why there is no answer, where something broke."""
    steps: int = 0
    failed_steps: int = 0
    calls: int = 0
    """Of models."""
    tokens: int = 0
    cost_usd: float | None = None
    """None where the price of the model is not known."""
    seconds: float = 0.0


@dataclass(frozen=True)
class Setup:
    """Setup that all arms share."""

    settings: Settings
    budget: TaskBudget
    """Of each task."""
    beside: Path
    """Folder of the tasks, where files lie that are not drawn."""
    site: str
    """Address at which the site is served."""
    recorded: LanguageModel | None = None
    """Plays recorded answers; None: the model of the settings is asked."""


async def trials_of(
    arm: str, tasks: Sequence[task_file.AgentTask], setup: Setup, tell: Callable[[str], None]
) -> list[Trial]:
    """The tasks one after another in one library, which grows where the arm lets it.

    Raises:
        UsageError: no model is configured, or a task's file is missing.
        SandboxUnavailable: no sandbox isolates here.
    """
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        own = setup.settings.model_copy(update={"home": Path(folder, "home"), "memory": False})
        found = []
        async with open_app(own, admit=admit, model=setup.recorded) as app:
            for number, task in enumerate(tasks, 1):
                written = await anyio.to_thread.run_sync(_files, Path(folder, str(number)), task, setup)
                request = TaskRequest(
                    task=task.question.replace(task_file.SITE, setup.site), files=tuple(written), budget=setup.budget,
                    plans=PLANS[arm],
                )  # fmt: skip
                trial = await _trial(app, arm, task, request)
                found.append(trial)
                tell(f"{arm} {number}/{len(tasks)} {task.id}: {_line(trial)}")
    return found


def _files(folder: Path, task: task_file.AgentTask, setup: Setup) -> list[Path]:
    folder.mkdir()
    return materials.write(folder, task.files, setup.beside)


async def _trial(app: App, arm: str, task: task_file.AgentTask, request: TaskRequest) -> Trial:
    empty = Trial(id=task.id, level=task.level, long=task.long, answer="", expected=task.answer, right=False)
    started = time.monotonic()
    try:
        solution = await app.tasks.solve(request, _silent, identity=ClientIdentity(client=f"bench {arm}"))
    except UsageError:
        raise
    except AlitaError as failure:
        problem = f"{type(failure).__name__}: {failure.message}"[:400]
        return empty.model_copy(update={"problem": problem, "seconds": round(time.monotonic() - started, 3)})
    return empty.model_copy(
        update=_taken(solution)
        | {
            "answer": solution.answer[:1_000],
            "right": scoring.exact_answer(solution.answer, task.answer),
            "claimed": solution.solved,
        }
    )


def _taken(solution: Solution) -> dict[str, Any]:
    return {
        "stopped": solution.stopped,
        "steps": len(solution.steps),
        "failed_steps": sum(not step.ok for step in solution.steps),
        "calls": solution.calls,
        "tokens": solution.tokens,
        "cost_usd": solution.cost,
        "seconds": solution.seconds,
    }


def _line(trial: Trial) -> str:
    what = "right" if trial.right else f"{trial.answer[:60]!r} for {trial.expected!r} {trial.problem}"
    return f"{what} ({trial.steps} steps, {trial.calls} calls, {trial.seconds:.1f} s)"


async def _silent(_event: object) -> None:
    return None
