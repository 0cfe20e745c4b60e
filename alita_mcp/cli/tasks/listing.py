"""`alita runs`: the tasks that were worked on, and what happened in one of them."""

from __future__ import annotations

import argparse

from alita_mcp.cli.output import Output, compact, printable
from alita_mcp.cli.tasks.flow import kept_runs
from alita_mcp.cli.tasks.words import log_lines, runs_table
from alita_mcp.errors import UsageError
from alita_mcp.settings import read_settings


async def show_runs(options: argparse.Namespace, output: Output) -> int:
    """Prints the newest runs, one a line, or the events of the one that is named.

    With `--follow` it prints the events to come as well, with `--json` as JSON Lines then.

    Raises:
        UsageError: there is nothing to follow.
    """
    runs = kept_runs(read_settings())
    if options.run is None:
        if options.follow:
            raise UsageError("--follow needs the ID of a run.", hint="`alita runs` lists them.")
        newest = await runs.list(options.limit)
        output.result({"runs": newest}, runs_table(newest))
        return 0
    run = await runs.find_run(options.run)
    if not options.follow:
        events = await runs.events(run)
        told = {"run": await runs.summary(run), "events": events}
        output.result(told, "\n".join(map(log_lines, events)))
        return 0
    async for event in runs.follow(run):
        print(compact(event) if output.as_json else printable(log_lines(event)), flush=True)
    return 0
