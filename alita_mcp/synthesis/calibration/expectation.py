"""Estimate of the calls and tokens that a calibration will take, made before any model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from alita_mcp.models.interface import Message
from alita_mcp.models.litellm.provider import price_of
from alita_mcp.synthesis.calibration.tasks import CalibrationTask
from alita_mcp.synthesis.calibration.trial import CALLS, SUITES
from alita_mcp.synthesis.writing import prompts
from alita_mcp.values import Value

CHARACTERS_PER_TOKEN = 4
ANSWERED = {"suite": 500, "module": 300}
"""Tokens of an ordinary answer; a model that thinks aloud, or is asked again, uses more."""


class Expectation(Value):
    """Estimated calls and tokens of a calibration."""

    model: str
    tasks: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    """None where the price is not known."""


async def expected(
    model: str, tasks: Sequence[CalibrationTask], sandbox: tuple[str, ...] = ()
) -> Expectation:
    """Estimates what these tasks will take, each answer given once."""
    asked = sum(_tokens(task, sandbox) for task in tasks)
    answered = len(tasks) * (SUITES * ANSWERED["suite"] + ANSWERED["module"])
    return Expectation(
        model=model,
        tasks=len(tasks),
        calls=len(tasks) * CALLS,
        prompt_tokens=asked,
        completion_tokens=answered,
        cost_usd=await price_of(model, asked, answered),
    )


def _tokens(task: CalibrationTask, sandbox: tuple[str, ...]) -> int:
    brief = task.brief(sandbox)
    questions: list[list[Message]] = [prompts.write_tests(brief, index) for index in range(SUITES)]
    questions.append(prompts.write_code(brief, 0))
    characters = sum(len(message.content) for question in questions for message in question)
    return -(-characters // CHARACTERS_PER_TOKEN)
