"""`alita runs`: the tasks that were worked on, and what happened in one of them."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from alita_mcp.cli.output import Printer, columns
from alita_mcp.cli.parameters import Count
from alita_mcp.cli.tasks.text import SHOWN_ID, describe_event
from alita_mcp.owners import USER
from alita_mcp.texts import one_line

SHOWN_TASK = 60


async def show_runs(
    run: Annotated[str | None, Parameter(name="ID")] = None,
    /,
    *,
    limit: Count = 20,
    output: Printer,
) -> None:
    """List the tasks that were worked on, or show one.

    Args:
        run: A run, or the beginning of its id: show what happened in it.
        limit: List the newest runs, at most this many.

    Examples:
        alita runs
        alita runs 3f2a
    """
    from alita_mcp.agent.runs.store import StoredRuns
    from alita_mcp.library.storage import open_storage
    from alita_mcp.settings import read_settings

    with open_storage(read_settings()) as storage:
        stored = StoredRuns(storage)
        if run is None:
            newest = await stored.list(limit)
            rows = []
            for each in newest:
                has_ended = each.status in ("finished", "stopped")
                end = (
                    ("solved" if each.solved else each.stopped or "not solved") if has_ended else each.status
                )
                cost = "" if each.cost is None else f"{each.cost:.4f} USD"
                when, task = each.at[:16].replace("T", " "), one_line(each.task, SHOWN_TASK)
                task = task if each.owner == USER else f"({each.owner}) {task}"
                steps, seconds = f"{each.steps} steps", f"{each.seconds:.0f} s"
                rows.append((each.run[:SHOWN_ID], when, end, steps, cost, seconds, task))
            output.print_result({"runs": newest}, columns(rows) or "No tasks were worked on yet.")
            return
        name = await stored.find_run(run)
        events = await stored.events(name)
        value = {"run": await stored.summary(name), "events": events}
        output.print_result(value, "\n".join(map(describe_event, events)))
