"""One model and one sandbox: a task in words with its files in, the solution out.

python docs/examples/agents/one_sandbox.py "What is the sum of the column amount in data.csv?" data.csv
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio

from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
from alita_mcp.app import open_app
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings, read_settings


async def solve(settings: Settings, task: str, files: Sequence[Path] = ()) -> Solution:
    """Works on the task with the model and the sandbox that the settings name."""
    async with open_app(settings, admit=admit) as app:
        return await app.tasks.solve(TaskRequest(task=task, files=tuple(files)), _shown)


async def _shown(event: TaskEvent) -> None:
    print(event.text, file=sys.stderr)


if __name__ == "__main__":
    given = [Path(word) for word in sys.argv[2:]]
    print(anyio.run(partial(solve, read_settings(), sys.argv[1], given)).answer)
