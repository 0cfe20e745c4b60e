"""Arms of the agent benchmark: one model with different offers, and its answers and costs.

`alita` is the whole manager agent: plans, memory, tools that are built and found again. `react` decides each step when
when it comes, remembers nothing and builds nothing.
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
from alita_mcp.models.choices import choose_model
from alita_mcp.models.interface import Completion, LanguageModel, Message, ToolSpec
from alita_mcp.models.litellm.provider import LitellmModel
from alita_mcp.models.roles import Role, RoleModels
from alita_mcp.models.structured.json_calls import ToolCallingModel
from alita_mcp.owners import ClientIdentity
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.values import Value
from benchmarks.agent import materials, scoring, task_file

NAMES = ("alita", "react")
BUILDS = frozenset({"build_tool", "delegate"})
"""What plain ReAct has not."""


class Trial(Value):
    """Trial of one arm on one task."""

    id: str
    level: int
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
    tools_made: int = 0
    tools_reused: int = 0
    """Tools of the library that the task used and did not make itself."""
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


async def trials_of(
    arm: str, tasks: Sequence[task_file.AgentTask], setup: Setup, tell: Callable[[str], None]
) -> list[Trial]:
    """The tasks one after another in one library, which grows where the arm lets it.

    Raises:
        UsageError: no model is configured, or a task's file is missing.
        SandboxUnavailable: no sandbox isolates here.
    """
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        own, role_models = _opened(arm, setup.settings.model_copy(update={"home": Path(folder, "home")}))
        found = []
        async with open_app(own, admit=admit, models=role_models) as app:
            for number, task in enumerate(tasks, 1):
                written = await anyio.to_thread.run_sync(_files, Path(folder, str(number)), task, setup)
                trial = await _trial(app, arm, task, _request(arm, task, written, setup))
                found.append(trial)
                tell(f"{arm} {number}/{len(tasks)} {task.id}: {_line(trial)}")
    return found


def _files(folder: Path, task: task_file.AgentTask, setup: Setup) -> list[Path]:
    folder.mkdir()
    return materials.write(folder, task.files, setup.beside)


def _request(arm: str, task: task_file.AgentTask, files: Sequence[Path], setup: Setup) -> TaskRequest:
    return TaskRequest(
        task=task.question.replace(task_file.SITE, setup.site),
        files=tuple(files),
        budget=setup.budget,
        plans=None if arm == "alita" else 0,
        memory=arm == "alita",
    )


def _opened(arm: str, settings: Settings) -> tuple[Settings, RoleModels]:
    if arm == "alita":
        return settings, RoleModels(settings)

    def source(role: Role | None) -> LanguageModel:
        chosen = choose_model(settings, role)
        if chosen is None:
            raise UsageError("No model is configured.", hint="Give --model, or set ALITA_MODEL.")
        model = ToolCallingModel(LitellmModel(chosen))
        return NothingBuilt(model)

    fewer = settings.model_copy(update={"policy": "locked", "memory": False})
    return fewer, RoleModels(fewer, source=source)


class NothingBuilt:
    """A model that is offered no way to make tools."""

    def __init__(self, model: LanguageModel) -> None:
        self.name = model.name
        self._model = model

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), **options: Any
    ) -> Completion:
        """One completion; raises as the model does."""
        offered = [tool for tool in tools if tool.name not in BUILDS]
        return await self._model.complete(messages, tools=offered, **options)


async def _trial(app: App, arm: str, task: task_file.AgentTask, request: TaskRequest) -> Trial:
    empty = Trial(id=task.id, level=task.level, answer="", expected=task.answer, right=False)
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
        "tools_made": len(solution.tools_made),
        "tools_reused": len(set(solution.tools_used) - set(solution.tools_made)),
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
