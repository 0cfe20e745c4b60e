"""Two models: one takes the steps, the other checks the answer, each at a server of its own.

python docs/examples/agents/two_models.py "What is 6 times 7?" ollama/small http://… openai/large https://…
"""

from __future__ import annotations

import sys
from functools import partial

import anyio

from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
from alita_mcp.app import open_app
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import ModelChoice, Settings, read_settings


def with_two_models(settings: Settings, coder: ModelChoice, judge: ModelChoice) -> Settings:
    """As `ALITA_MODEL_CODER` and `ALITA_MODEL_JUDGE` say it."""
    return settings.model_copy(update={"model_coder": coder, "model_judge": judge})


async def solve(settings: Settings, task: str) -> Solution:
    """The coder takes the steps; the judge writes the second program, or quotes what the answer rests on."""
    async with open_app(settings, admit=admit) as app:
        return await app.tasks.solve(TaskRequest(task=task), _shown)


async def _shown(event: TaskEvent) -> None:
    print(event.text, file=sys.stderr)


if __name__ == "__main__":
    task, coder, coder_url, judge, judge_url = sys.argv[1:]
    chosen = with_two_models(
        read_settings(),
        ModelChoice(name=coder, base_url=coder_url),
        ModelChoice(name=judge, base_url=judge_url),
    )
    print(anyio.run(partial(solve, chosen, task)).answer)
