"""`alita solve`: a task in plain words in, its answer out; what happens meanwhile is shown on stderr."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from alita_mcp.cli.application import open_app
from alita_mcp.cli.output import Output, Printer, has_terminal
from alita_mcp.cli.parameters import Amount, Count, Whole
from alita_mcp.errors import AlitaError, UsageError

if TYPE_CHECKING:
    from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
    from alita_mcp.app.task_runner import TaskRunner

OpenFlow = Callable[[Any], AbstractAsyncContextManager[Any]]
"""Opens the flow of tasks; reports to its argument how far the preparation is."""
LIMIT = Parameter(group=Group("Limits (0: no limit)", sort_key=50))


@asynccontextmanager
async def open_task_runner(on_stage: Any) -> AsyncIterator[TaskRunner]:
    """The flow of tasks over the whole application."""
    async with open_app() as app, app.preparation.report(on_stage):
        yield app.tasks


def solve(
    task: str = "",
    /,
    *,
    file: list[Path] | None = None,
    host: list[str] | None = None,
    max_steps: Annotated[Count | None, LIMIT] = None,
    max_tokens: Annotated[Whole | None, LIMIT] = None,
    max_usd: Annotated[Amount | None, LIMIT] = None,
    max_seconds: Annotated[Amount | None, LIMIT] = None,
    plans: Whole | None = None,
    no_memory: bool = False,
    yes: bool = False,
    open_flow: Annotated[OpenFlow, Parameter(parse=False)],
    output: Printer,
) -> int:
    """Let the configured model work on a task.

    Args:
        task: The task, in plain words.
        file: A file or folder it is about; may be given several times.
        host: A host it may read at any address, so one that may see the task's files; may be given several times.
        max_steps: Stop after this many steps, at least 1.
        max_tokens: Stop after this many tokens.
        max_usd: Stop when the models cost this much.
        max_seconds: Stop after this many seconds.
        plans: Plans that the first turn may compare; 1 compares none, 0 begins without one.
        no_memory: Neither recall earlier tasks nor remember this one.
        yes: Ask nothing.

    Examples:
        alita solve "How many working days are left this year?"
        alita solve "Sum up the invoices" --file invoices/ --max-usd 0.5
    """
    import anyio

    from alita_mcp.cli.setup.model import offer_model
    from alita_mcp.event_loop import collect_garbage_rarely
    from alita_mcp.models.choices import no_model_for_tasks
    from alita_mcp.settings import read_settings

    settings = read_settings()
    limits = {
        "steps": settings.limits.task_steps if max_steps is None else max_steps,
        "tokens": settings.limits.task_tokens if max_tokens is None else max_tokens,
        "usd": settings.budget_usd if max_usd is None else max_usd,
        "seconds": settings.limits.task_seconds if max_seconds is None else max_seconds,
    }
    memory = settings.memory and not no_memory
    request = build_request(task, file or [], host or [], limits, plans=plans, memory=memory)
    collect_garbage_rarely()
    status = anyio.run(work_on_task, request, open_flow, output, yes)
    if status is None and not yes and offer_model(output):
        status = anyio.run(work_on_task, request, open_flow, output, yes)
    if status is None:
        raise no_model_for_tasks(read_settings())
    return status


async def work_on_task(
    request: TaskRequest, open_flow: OpenFlow, output: Output, asks_nothing: bool
) -> int | None:
    """Shows the work on a task and its answer; returns the exit status, None where there is no model to work on it."""
    import anyio

    from alita_mcp.cli.tasks.view import open_view

    run = ""
    with open_view(output) as view:
        async with open_flow(view.show_stage) as flow:
            if not flow.has_model:
                return None
            person = view if has_terminal() and not asks_nothing else None

            async def show_event(event: TaskEvent) -> None:
                nonlocal run
                run = event.run
                await view.show_event(event)

            try:
                solution = await flow.solve(
                    request, show_event, ask=person.ask if person is not None else None
                )
            except anyio.get_cancelled_exc_class():
                # Ctrl-C; the run has ended by now, and its record holds the best answer so far.
                with anyio.CancelScope(shield=True):
                    best = await flow.runs_of(None).solution(run) if run else None
                view.close()
                if best is not None:
                    print_solution(best, output)
                raise
            view.close()
            print_solution(solution, output)
            return 0 if solution.solved else AlitaError.exit_status


def print_solution(solution: Solution, output: Output) -> None:
    """Prints the answer, and on stderr what it took."""
    from alita_mcp.cli.tasks.text import describe_end

    output.print_result(solution, solution.answer)
    for line in describe_end(solution):
        output.note(line)


def build_request(
    task: str,
    files: list[Path],
    hosts: list[str],
    limits: dict[str, float],
    *,
    plans: int | None,
    memory: bool,
) -> TaskRequest:
    """The request for a task.

    Raises:
        UsageError: there is no task, a file is missing, or a value does not fit.
    """
    from pydantic import ValidationError

    from alita_mcp.agent.values import TaskBudget, TaskRequest

    if not task.strip():
        raise UsageError("There is no task.", hint='Say it in plain words: `alita solve "…"`.')
    for path in files:
        if not path.exists():
            raise UsageError(f"There is no file or folder {str(path)!r}.")
    try:
        return TaskRequest(
            task=task,
            files=tuple(path.absolute() for path in files),
            hosts=tuple(hosts),
            budget=TaskBudget.model_validate(limits),
            plans=plans,
            memory=memory,
        )
    except ValidationError as invalid:
        first = invalid.errors(include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise UsageError(f"Invalid value for {field}: {first['msg']}.") from invalid
