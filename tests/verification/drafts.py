"""Drafts and scripted sandboxes for the tests of the gates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.runner.tool.failures import kinds_of
from alita_mcp.values import Draft, Example
from tests.scripted_sandbox import ScriptedSandbox

SHOUT = '''\
def shout(text: str, times: int = 1) -> str:
    """Upper case with exclamation marks.

    Args:
        text: What to shout.
        times: How many marks.

    Raises:
        ValueError: The text is empty.
    """
    if not text:
        raise ValueError("text is empty")
    return text.upper() + "!" * times
'''

SHOUT_EXAMPLES = (
    Example(arguments={"text": "hey"}, expected="HEY!"),
    Example(arguments={"text": "no", "times": 3}, expected="NO!!!"),
    Example(arguments={"text": ""}, raises="ValueError"),
)


def shout(text: str, times: int = 1) -> str:
    """What the tool of SHOUT does, for scripts."""
    if not text:
        raise ValueError("text is empty")
    return text.upper() + "!" * times


def draft(**changes: Any) -> Draft:
    """A draft that passes every gate, with some of its fields replaced."""
    fields: dict[str, Any] = {
        "name": "shout",
        "description": "Turns a text into upper case and adds exclamation marks.",
        "code": SHOUT,
        "examples": SHOUT_EXAMPLES,
    }
    return Draft(**{**fields, **changes})


def behaves_as(function: Callable[..., Any]) -> ScriptedSandbox:
    """A sandbox in which the tool behaves as a function of the tests; checks are evaluated."""

    def answer(job: Job) -> RunResult:
        if job.function == "check":
            space: dict[str, Any] = {}
            exec(job.code, space)
            return RunResult(status="ok", value=space["check"](**job.arguments))
        try:
            return RunResult(status="ok", value=function(**job.arguments), wall_seconds=0.25)
        except Exception as error:  # noqa: BLE001 - whatever the tool does is a result
            trace = tuple(f"line {n}" for n in range(12))
            name, kinds = type(error).__name__, tuple(kinds_of(type(error)))
            return RunResult(
                status="error", error_type=name, error_kinds=kinds, message=str(error), trace=trace[:10]
            )

    return ScriptedSandbox(answer)


class Stages(list[str]):
    """Remembers what `on_stage` was told."""

    async def __call__(self, stage: str) -> None:
        self.append(stage)
