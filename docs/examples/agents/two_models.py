"""Two models: one plans, the other carries the plan out, each at a server of its own.

python docs/examples/agents/two_models.py "What is 6 times 7?" openai/large https://… ollama/small http://…
"""

from __future__ import annotations

import sys
from functools import partial

import anyio

from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
from alita_mcp.app import open_app
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import ModelChoice, Settings, read_settings


def with_two_models(settings: Settings, planner: ModelChoice, coder: ModelChoice) -> Settings:
    """As `ALITA_MODEL_PLANNER` and `ALITA_MODEL_CODER` say it."""
    return settings.model_copy(update={"model_planner": planner, "model_coder": coder})


async def solve(settings: Settings, task: str, plans: int = 3) -> Solution:
    """Chooses among plans of the planner; the coder takes the steps."""
    async with open_app(settings, admit=admit) as app:
        return await app.tasks.solve(TaskRequest(task=task, plans=plans), _shown)


async def _shown(event: TaskEvent) -> None:
    print(event.text, file=sys.stderr)


if __name__ == "__main__":
    task, planner, planner_url, coder, coder_url = sys.argv[1:]
    chosen = with_two_models(
        read_settings(),
        ModelChoice(name=planner, base_url=planner_url),
        ModelChoice(name=coder, base_url=coder_url),
    )
    print(anyio.run(partial(solve, chosen, task)).answer)
