"""One model and two sandboxes: what is fetched by the one is computed with in the other, which is given no page.

Each sandbox has an app of its own: its own library, its own memory, its own grants. The first run reads pages and gives
rows; they become a file, and the file is all that the second run is given.

python docs/examples/agents/two_sandboxes.py "List town and people of https://…" "What is the mean in rows.txt?"
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

import anyio

from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
from alita_mcp.app import open_app
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings, read_settings

ROWS = "rows.txt"


async def solve(
    fetching: Settings, computing: Settings, fetch: str, compute: str
) -> tuple[Solution, Solution]:
    """Both solutions; the second task names `rows.txt`, where the first one's answer stands."""
    async with open_app(fetching, admit=admit) as app:
        fetched = await app.tasks.solve(TaskRequest(task=fetch), _shown)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, ROWS)
        await anyio.Path(rows).write_text(fetched.answer, encoding="utf-8")
        async with open_app(computing, admit=admit) as app:
            computed = await app.tasks.solve(TaskRequest(task=compute, files=(rows,)), _shown)
    return fetched, computed


def apart(settings: Settings, name: str, **own: object) -> Settings:
    """The settings with a home of its own, so that two apps share neither tools nor memory."""
    return settings.model_copy(update={"home": settings.home / name, **own})


async def _shown(event: TaskEvent) -> None:
    print(event.text, file=sys.stderr)


if __name__ == "__main__":
    ours = read_settings()
    both = apart(ours, "fetching"), apart(ours, "computing", web_allow="")
    print(anyio.run(partial(solve, *both, sys.argv[1], sys.argv[2]))[1].answer)
