"""`alita solve`: a task in plain words, worked on by the manager agent with the library's tools."""

from __future__ import annotations

import argparse

from alita_mcp.cli.commands import Family, in_event_loop
from alita_mcp.cli.opened import opened_app
from alita_mcp.cli.output import Output
from alita_mcp.errors import AlitaError


def add_commands(family: Family) -> None:
    """Declares `solve`."""
    parser = family.add("solve", in_event_loop(solve), "let the configured model work on a task")
    parser.add_argument("task", metavar="TASK")


async def solve(options: argparse.Namespace, output: Output) -> int:
    """Prints the answer; a task that was not solved is exit status 1."""
    from alita_mcp.agent.values import TaskEvent, TaskRequest

    async with opened_app() as app:
        with output.progress("solve") as on_step:

            async def on_event(event: TaskEvent) -> None:
                await on_step(event.text)

            async with app.told_of_preparation(on_step):
                solution = await app.tasks.solve(TaskRequest(task=options.task), on_event)
    output.result(solution, solution.answer)
    return 0 if solution.solved else AlitaError.exit_status
