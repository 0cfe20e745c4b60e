"""Events, estimates and ends of tasks as lines for a person; strangers wrote parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from alita_mcp.cli.output import columns, quoted
from alita_mcp.texts import one_line

if TYPE_CHECKING:
    from alita_mcp.agent.values import Estimate, RunSummary, Solution, TaskBudget, TaskEvent

SHOWN_OBSERVATION = 400
SHOWN_TASK = 60
SHOWN_ID = 12
"""Of an id in a listing; the beginning is enough to name a run."""


def event_line(event: TaskEvent) -> str:
    """An event in a line."""
    agent = f"[{event.agent}] " if event.agent else ""
    return f"{agent}{event.kind.replace('_', ' ')}: {one_line(event.text)}"


def log_lines(event: TaskEvent) -> str:
    """An event with what it says besides."""
    lines = [f"{event.at[11:19] or '--:--:--'}  {event_line(event)}"]
    if event.kind == "plan":
        lines += [f"          {line}" for line in plan_lines(event.data)]
    if event.kind == "step" and (seen := event.data.get("observation")):
        lines.append(quoted(str(seen)[:SHOWN_OBSERVATION]))
    return "\n".join(lines)


def plan_lines(data: dict[str, Any]) -> list[str]:
    """The steps of a chosen plan, as far as they can be read."""
    chosen = data.get("chosen")
    steps = chosen.get("steps") if isinstance(chosen, dict) else None
    told = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    return [
        f"{number}. {one_line(str(step.get('need', '')), 120)} ({one_line(_how(step), 60)})"
        for number, step in enumerate(told, 1)
    ]


def _how(step: dict[str, Any]) -> str:
    return " ".join(str(step[name]) for name in ("way", "tool") if step.get(name))


def estimate_line(found: Estimate) -> str:
    """An estimate in a line."""
    usd = "price unknown" if found.usd is None else f"{found.usd:.4f} USD"
    most = "" if found.most_usd is None else f"{found.most_usd:.4f} USD and "
    return (
        f"Likely, from {found.runs} earlier runs: {found.calls:g} model calls, {found.tokens:.0f} tokens, {usd}, "
        f"{found.seconds:.0f} s; nine in ten stayed within {most}{found.most_seconds:.0f} s."
    )


def over_budget(found: Estimate, budget: TaskBudget) -> str:
    """Which limits a task is likely to reach before its end; empty: none."""
    pairs = (
        (found.tokens, budget.tokens, f"{budget.tokens} tokens"),
        (found.usd or 0.0, budget.usd, f"{budget.usd:g} USD"),
        (found.seconds, budget.seconds, f"{budget.seconds:g} seconds"),
    )
    return ", ".join(limit for likely, most, limit in pairs if most and likely > most)


def end_lines(solution: Solution) -> list[str]:
    """How a task ended, for a person: what it took, where it was read, what nothing shows."""
    cost = "price unknown" if solution.cost is None else f"{solution.cost:.4f} USD"
    how = "solved" if solution.solved else "not solved"
    took = f"{len(solution.steps)} steps, {solution.calls} model calls, {solution.tokens} tokens, {cost}"
    lines = [f"{how}: {took}, {solution.seconds:.1f} s; run {solution.run[:SHOWN_ID]}"]
    if solution.stopped:
        lines.append(f"stopped ({solution.stopped}): {one_line(solution.stopped_why)}")
    lines += [f"made {tool}" for tool in solution.tools_made]
    lines += [f"source {one_line(source.url)}" for source in solution.sources]
    return lines + [
        f"nothing shows: {one_line(claim.claim)}" for claim in solution.claims if not claim.reference
    ]


def runs_table(runs: Sequence[RunSummary]) -> str:
    """Runs as columns, the newest first."""
    return columns([_row(run) for run in runs]) or "No tasks were worked on yet."


def _row(run: RunSummary) -> tuple[str, ...]:
    ended = run.status in ("finished", "stopped")
    how = ("solved" if run.solved else run.stopped or "not solved") if ended else run.status
    cost = "" if run.cost is None else f"{run.cost:.4f} USD"
    when, task = run.at[:16].replace("T", " "), one_line(run.task, SHOWN_TASK)
    return run.run[:SHOWN_ID], when, how, f"{run.steps} steps", cost, f"{run.seconds:.0f} s", task
