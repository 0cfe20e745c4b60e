"""`alita runs` and `alita run-log`: the tasks that were worked on, and what happened in one of them."""

from __future__ import annotations

import argparse

from alita_mcp.cli.output import Output, compact, printable
from alita_mcp.cli.tasks.flow import kept_runs
from alita_mcp.cli.tasks.words import log_lines, runs_table
from alita_mcp.settings import read_settings


async def list_runs(options: argparse.Namespace, output: Output) -> int:
    """Prints the newest runs, one a line."""
    runs = await kept_runs(read_settings()).list(options.limit)
    output.result({"runs": runs}, runs_table(runs))
    return 0


async def show_log(options: argparse.Namespace, output: Output) -> int:
    """Prints a run's events; with `--follow` those to come as well, with `--json` as JSON Lines then."""
    runs = kept_runs(read_settings())
    run = await runs.named(options.run)
    if not options.follow:
        events = await runs.events(run)
        told = {"run": await runs.summary(run), "events": events}
        output.result(told, "\n".join(map(log_lines, events)))
        return 0
    async for event in runs.follow(run):
        print(compact(event) if output.as_json else printable(log_lines(event)), flush=True)
    return 0
