"""Events and ends of tasks as lines for a person; strangers wrote parts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alita_mcp.cli.output import quote_lines
from alita_mcp.texts import one_line

if TYPE_CHECKING:
    from alita_mcp.agent.values import Solution, TaskEvent

SHOWN_OBSERVATION = 400
SHOWN_ID = 12
"""Characters of an id in a listing; the beginning is enough to name a run."""


def event_line(event: TaskEvent) -> str:
    """An event in one line."""
    return f"{event.kind.replace('_', ' ')}: {one_line(event.text)}"


def describe_event(event: TaskEvent) -> str:
    """An event with its time, and with the steps of a plan or the observation of a step."""
    lines = [f"{event.at[11:19] or '--:--:--'}  {event_line(event)}"]
    if event.kind == "plan":
        lines += [f"          {line}" for line in plan_lines(event.data)]
    if event.kind == "step" and (observation := event.data.get("observation")):
        lines.append(quote_lines(str(observation)[:SHOWN_OBSERVATION]))
    return "\n".join(lines)


def plan_lines(data: dict[str, Any]) -> list[str]:
    """The steps of a chosen plan, as far as they can be read."""
    chosen = data.get("chosen")
    steps = chosen.get("steps") if isinstance(chosen, dict) else None
    lines: list[str] = []
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            action, need = one_line(str(step.get("action", "")), 60), one_line(str(step.get("need", "")), 120)
            lines.append(f"{len(lines) + 1}. {action}: {need}")
    return lines


def describe_end(solution: Solution) -> list[str]:
    """How a task ended: what it took, which tools and sources, and which claims nothing supports."""
    cost = "price unknown" if solution.cost is None else f"{solution.cost:.4f} USD"
    end = "solved" if solution.solved else "not solved"
    spent = f"{len(solution.steps)} steps, {solution.calls} model calls, {solution.tokens} tokens, {cost}"
    lines = [f"{end}: {spent}, {solution.seconds:.1f} s; run {solution.run[:SHOWN_ID]}"]
    if solution.stopped:
        lines.append(f"stopped ({solution.stopped}): {one_line(solution.stopped_why)}")
    lines += [f"checked: {one_line(solution.checked)}"] if solution.checked else []
    lines += [f"made {tool}" for tool in solution.tools_made]
    lines += [f"source {one_line(source.url)}" for source in solution.sources]
    unsupported = [claim for claim in solution.claims if not claim.reference]
    return lines + [f"unsupported: {one_line(claim.claim)}" for claim in unsupported]
