"""`alita solve` over a scripted flow, as a process: `python -m tests.cli.tasks.on_terminal SCRIPT WORD…`."""

from __future__ import annotations

import secrets
import sys

import anyio

from alita_mcp.cli.main import main
from tests.cli.tasks.scripted_flow import PLAN, ScriptedFlow, step

LONG = "a very long text with \x1b[31mred and [bold]markup[/bold] " * 9
PLANNED = ("plan", LONG, PLAN)


def flow_of(script: str) -> ScriptedFlow:
    """One of the scripts that the tests name."""
    run = secrets.token_hex(16)
    match script:
        case "steps":
            many = [said for number in range(1, 41) for said in step(number, ok=number != 40)]
            return ScriptedFlow([PLANNED, *many, ("check", LONG, {})], run=run)
        case "asks":
            return ScriptedFlow(run=run, question=f"Which year? {LONG}")
        case _:
            return ScriptedFlow(step(1), run=run, before_the_end=anyio.sleep_forever)


if __name__ == "__main__":
    flow = flow_of(sys.argv[1])
    status = main(["solve", *sys.argv[2:]], open_flow=flow.opened)
    print(f"answers: {flow.answers}, requests: {len(flow.requests)}")
    sys.exit(status)
