"""`alita solve`: a task in plain words in, its answer out; what happens meanwhile is shown on stderr."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from alita_mcp.cli.output import Output
from alita_mcp.cli.tasks.asking import TerminalPerson, somebody_is_there
from alita_mcp.cli.tasks.flow import opened_flow
from alita_mcp.cli.tasks.interrupts import until_interrupted
from alita_mcp.cli.tasks.views import View, opened_view
from alita_mcp.cli.tasks.words import end_lines, estimate_line, over_budget
from alita_mcp.errors import AlitaError, Cancelled, UsageError
from alita_mcp.models.choices import no_model_for_tasks
from alita_mcp.progress import ReportStage
from alita_mcp.settings import Settings, read_settings

if TYPE_CHECKING:
    from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
    from alita_mcp.app.task_runner import TaskRunner

Opened = Callable[["Settings", ReportStage], AbstractAsyncContextManager["TaskRunner"]]


async def solve(options: argparse.Namespace, output: Output, opened: Opened = opened_flow) -> int:
    """Prints the answer.

    Returns:
        0 when the task is solved, 1 when it is not, 130 when the person stopped it.

    Raises:
        UsageError: no model is configured, or the options do not fit.
    """
    settings = read_settings()
    request = _request(options, settings)
    with opened_view(output) as view:
        async with opened(settings, view.stage) as flow:
            if not flow.has_model:
                raise no_model_for_tasks(settings)
            person = TerminalPerson(view, output) if somebody_is_there() and not options.yes else None
            if not await _agreed(flow, request, person, output, always=options.confirm):
                output.note("Nothing was done.")
                return AlitaError.exit_status
            solution, interrupted = await _worked(flow, request, view, person)
            view.close()
            _tell(solution, output)
    if interrupted:
        return Cancelled.exit_status
    return 0 if solution is not None and solution.solved else AlitaError.exit_status


async def _worked(
    flow: TaskRunner, request: TaskRequest, view: View, person: TerminalPerson | None
) -> tuple[Solution | None, bool]:
    """The end of the run, also of one that the person stopped."""
    seen: list[str] = []

    async def on_event(event: TaskEvent) -> None:
        seen[:] = [event.run]
        await view.event(event)

    solution, interrupted = await until_interrupted(
        lambda: flow.solve(request, on_event, ask=person.ask if person is not None else None)
    )
    if solution is None and seen:
        solution = await flow.runs.solution(seen[0])
    return solution, interrupted


async def _agreed(
    flow: TaskRunner, request: TaskRequest, person: TerminalPerson | None, output: Output, *, always: bool
) -> bool:
    """Tells a person what the task is likely to take; asks where that is more than its budget, or always.

    Raises:
        UsageError: no person can be asked.
    """
    if person is None:
        if always:
            raise UsageError("There is no terminal to ask on.", hint="Leave out --confirm.")
        return True
    found = await flow.estimate(request)
    told = estimate_line(found) if found is not None else "There are too few earlier runs for an estimate."
    over = over_budget(found, request.budget) if found is not None else ""
    if over:
        return await person.agrees(f"{told}\nThat is more than its budget: {over}.")
    if always:
        return await person.agrees(told)
    if found is not None:
        output.note(told)
    return True


def _tell(solution: Solution | None, output: Output) -> None:
    if solution is None:
        output.note("alita: stopped before it began")
        return
    output.result(solution, solution.answer)
    for line in end_lines(solution):
        output.note(line)


def _request(options: argparse.Namespace, settings: Settings) -> TaskRequest:
    """The request that the options spell out.

    Raises:
        UsageError: there is no task, or a value does not fit.
    """
    from alita_mcp.agent.values import TaskBudget, TaskRequest

    if not (options.task or "").strip():
        raise UsageError("There is no task.", hint='Say it in plain words, as in `alita solve "…"`.')
    given = {
        "steps": (options.max_steps, settings.limits.task_steps),
        "tokens": (options.max_tokens, settings.limits.task_tokens),
        "usd": (options.max_usd, settings.task_usd),
        "seconds": (options.max_seconds, settings.limits.task_seconds),
    }
    limits = {name: usual if said is None else said for name, (said, usual) in given.items()}
    try:
        return TaskRequest(
            task=options.task,
            files=tuple(_there(path) for path in options.files or ()),
            hosts=tuple(options.hosts or ()),
            budget=TaskBudget.model_validate(limits),
            plans=options.plans,
            memory=settings.memory and not options.no_memory,
        )
    except ValidationError as invalid:
        first = invalid.errors(include_input=False)[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))} does not fit: {first['msg']}.") from invalid


def _there(path: Path) -> Path:
    if not path.exists():
        raise UsageError(f"There is no file or folder {str(path)!r}.")
    return path.absolute()
