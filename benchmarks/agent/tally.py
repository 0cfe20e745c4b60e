"""Summary of the agent benchmark's trials: figures for each arm, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.agent.arms import Trial

Figures = dict[str, Any]
TITLES = {"react": "plain ReAct", "plan": "first turn plans", "compare": "plans compared"}


def figures(trials: Sequence[Trial]) -> Figures:
    """Figures of one arm over all tasks: sums, and the number of right answers by level."""
    costs = [trial.cost_usd for trial in trials]
    known = [cost for cost in costs if cost is not None]
    levels = sorted({trial.level for trial in trials})
    return {
        "tasks": len(trials),
        "solved": sum(trial.right for trial in trials),
        "by_level": {
            str(level): [
                sum(trial.right for trial in trials if trial.level == level),
                sum(trial.level == level for trial in trials),
            ]
            for level in levels
        },
        "claimed_and_wrong": sum(trial.claimed and not trial.right for trial in trials),
        "stopped": sum(bool(trial.stopped) for trial in trials),
        "broken": sum(bool(trial.problem) for trial in trials),
        **{
            field: sum(getattr(trial, field) for trial in trials)
            for field in ("steps", "failed_steps", "calls", "tokens")
        },
        **{
            name: {
                field: sum(getattr(trial, field) for trial in trials if trial.long is long)
                for field in ("right", "steps", "failed_steps", "calls", "tokens")
            }
            for name, long in (("short", False), ("long", True))
        },
        "cost_usd": round(sum(known), 6) if len(known) == len(costs) else None,
        "seconds": round(sum(trial.seconds for trial in trials), 2),
        "trials": [trial.model_dump(mode="json") for trial in trials],
    }


def as_table(by_arm: Mapping[str, Figures]) -> str:
    """One Markdown table with a column for each arm, and below it the tasks that were not solved."""
    every = list(by_arm.values())
    head = f"| | {' | '.join(TITLES[name] for name in by_arm)} |\n|---|{'---:|' * len(every)}\n"
    table = head + "\n".join(f"| {name} | {' | '.join(map(cell, every))} |" for name, cell in _ROWS)
    return "\n\n".join([table, *filter(None, (_missed(TITLES[name], by_arm[name]) for name in by_arm))])


def _levels(each: Figures) -> str:
    return ", ".join(f"{right} of {of}" for right, of in each["by_level"].values())


def _steps(part: Figures) -> str:
    return f"{part['steps']:,} / {part['failed_steps']:,}"


def _calls(part: Figures) -> str:
    return f"{part['calls']:,} / {part['tokens']:,}"


_ROWS = (
    ("solved, exact answer", lambda each: f"{each['solved']} of {each['tasks']}"),
    ("… by level", _levels),
    ("claimed to be solved, and wrong", lambda each: str(each["claimed_and_wrong"])),
    ("stopped by a limit / broken", lambda each: f"{each['stopped']} / {each['broken']}"),
    ("short tasks: steps / failed", lambda each: _steps(each["short"])),
    ("… model calls / tokens", lambda each: _calls(each["short"])),
    ("long tasks: steps / failed", lambda each: _steps(each["long"])),
    ("… model calls / tokens", lambda each: _calls(each["long"])),
    ("cost in USD", lambda each: "unknown" if each["cost_usd"] is None else f"{each['cost_usd']:.4f}"),
    ("seconds", lambda each: f"{each['seconds']:,.1f}"),
)


def _missed(title: str, of: Figures) -> str:
    lines = [
        f"- {trial['id']}: {' '.join(str(trial['answer'] or 'no answer').split())[:80]!r}, "
        f"expected {trial['expected']!r}"
        + (f" ({' '.join(trial['problem'].split())[:120]})" if trial["problem"] else "")
        for trial in of["trials"]
        if not trial["right"]
    ]
    return f"Not solved by {title}:\n\n" + "\n".join(lines) if lines else ""
