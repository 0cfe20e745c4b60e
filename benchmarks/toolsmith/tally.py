"""Summary of the toolsmith benchmark's trials: figures for each contender, and a table."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.toolsmith.trials import Trial

Figures = dict[str, Any]
TITLES = {
    "toolsmith": "toolsmith",
    "one-call": "one call, as it is",
    "one-suite": "one suite, five retries",
}
MEASURABLE_S = 0.05
"""Models that answered faster than that say nothing about how long a synthesis waits for them."""


def figures(trials: Sequence[Trial]) -> Figures:
    """Figures of one contender over the requests; medians are those of published tools, totals of all requests."""
    published = [trial for trial in trials if trial.published]
    verified = [trial for trial in published if trial.trust == "verified"]
    rejected = [trial for trial in trials if trial.status == "rejected"]
    right = sum(trial.right for trial in published)
    costs = [trial.cost_usd for trial in trials]
    known = [cost for cost in costs if cost is not None]
    calls, tokens = sum(trial.calls for trial in trials), sum(trial.tokens for trial in trials)
    return {
        "requests": len(trials),
        "published": len(published),
        "verified": len(verified),
        "right": right,
        "wrong_published": sum(trial.judged and not trial.right for trial in published),
        "wrong_verified": sum(trial.judged and not trial.right for trial in verified),
        "not_judged": sum(not trial.judged for trial in published),
        "rejected": len(rejected),
        "rejected_by_stage": dict(sorted(Counter(trial.stage for trial in rejected).items())),
        "otherwise_ended": dict(sorted(Counter(_end(trial) for trial in trials if _end(trial)).items())),
        "calls": {"median": _median(trial.calls for trial in published), "total": calls},
        "tokens": {"median": _median(trial.tokens for trial in published), "total": tokens},
        "calls_per_right_tool": round(calls / right, 2) if right else None,
        "tokens_per_right_tool": round(tokens / right) if right else None,
        "cost_usd": round(sum(known), 6) if len(known) == len(costs) else None,
        "seconds": _spread(trial.seconds for trial in published),
        "model_seconds": _spread(trial.model_seconds for trial in published),
        "seconds_to_model_seconds": _median(
            trial.seconds / trial.model_seconds for trial in published if trial.model_seconds >= MEASURABLE_S
        ),
        "trials": [trial.model_dump(mode="json") for trial in trials],
    }


def as_table(by_contender: Mapping[str, Figures]) -> str:
    """One Markdown table with a column for each contender, and below it whatever did not end as a right tool."""
    every = list(by_contender.values())
    head = f"| | {' | '.join(TITLES[name] for name in by_contender)} |\n|---|{'---:|' * len(every)}\n"
    table = head + "\n".join(f"| {name} | {' | '.join(map(cell, every))} |" for name, cell in _ROWS)
    lists = [_lines(TITLES[name], each["trials"]) for name, each in by_contender.items()]
    return "\n\n".join([table, *filter(None, lists)])


def _end(trial: Trial) -> str:
    return trial.status if trial.status not in ("created", "rejected") else ""


def _median(numbers: Iterable[float]) -> float | None:
    found = list(numbers)
    return round(statistics.median(found), 2) if found else None


def _spread(seconds: Iterable[float]) -> dict[str, float | None]:
    found = list(seconds)
    return {"median": _median(found), "max": round(max(found), 2) if found else None}


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{number:,.10g}"


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{word} {count}" for word, count in counts.items()) or "none"


_ROWS = (
    ("requests", lambda each: _shown(each["requests"])),
    ("published", lambda each: _shown(each["published"])),
    ("… as `verified`", lambda each: _shown(each["verified"])),
    ("right by every hidden example", lambda each: _shown(each["right"])),
    ("**wrong and published**", lambda each: _shown(each["wrong_published"])),
    ("… as `verified`", lambda each: _shown(each["wrong_verified"])),
    ("rejected, by stage", lambda each: _words(each["rejected_by_stage"])),
    ("ended otherwise", lambda each: _words(each["otherwise_ended"])),
    ("model calls: median tool / all", lambda each: _pair(each["calls"], "median", "total")),
    ("tokens: median tool / all", lambda each: _pair(each["tokens"], "median", "total")),
    ("calls / tokens for each right tool", lambda each: _pair(each, "calls_per_right_tool", "tokens_per_right_tool")),
    ("cost in USD", lambda each: "unknown" if each["cost_usd"] is None else f"{each['cost_usd']:.4f}"),
    ("seconds to publish: median / max", lambda each: _pair(each["seconds"], "median", "max")),
    ("… in which a model was at work", lambda each: _pair(each["model_seconds"], "median", "max")),
    ("… the one by the other, median", lambda each: _shown(each["seconds_to_model_seconds"])),
)  # fmt: skip


def _pair(of: Mapping[str, Any], *names: str) -> str:
    return " / ".join(_shown(of[name]) for name in names)


def _lines(title: str, trials: Sequence[Mapping[str, Any]]) -> str:
    """The requests that brought no tool, a wrong one, or one that could not be judged."""
    lines = []
    for trial in trials:
        if not trial["published"] or not trial["judged"]:
            stage = trial["stage"] or trial["status"]
            lines.append(f"- {trial['name']}: {stage}: {trial['reason']}")
        lines += [
            f"- {trial['name']}: wrong ({trial['trust'] or 'unmarked'}): {text}" for text in trial["wrong"]
        ]
    return f"{title}:\n\n" + "\n".join(lines) if lines else ""
