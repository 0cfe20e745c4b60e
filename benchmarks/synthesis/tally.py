"""Figures of the synthesis benchmark's trials, and a table of them."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarks.synthesis.judge import BrokenRequest, Unbroken
from benchmarks.synthesis.server import Trial

Figures = dict[str, Any]


def tally(trials: Sequence[Trial]) -> Figures:
    """Figures of one sandbox's server over the requests."""
    published = [trial for trial in trials if trial.published]
    rejected = [trial for trial in trials if trial.status == "rejected"]
    other = [trial for trial in trials if trial.status not in ("created", "rejected")]
    gates = dict.fromkeys(gate for trial in published for gate in trial.seconds_by_gate)
    return {
        "requests": len(trials),
        "published": len(published),
        "published_share": _share(len(published), len(trials)),
        "published_by_trust": _counted(trial.trust for trial in published),
        "after_the_fifth": _counted(
            trial.trust or trial.status for trial in trials[5:]
        ),
        "verified_and_wrong": sum(
            trial.trust == "verified" and trial.right < trial.hidden for trial in published
        ),
        "listed_at_once": sum(trial.listed for trial in published),
        "rejected": len(rejected),
        "rejected_by_stage": _counted(trial.stage for trial in rejected),
        "failed": len(other),
        "renamed": [trial.tool for trial in trials if trial.renamed],
        "hidden_right": sum(trial.right for trial in published),
        "hidden_total": sum(trial.hidden for trial in published),
        "tools_all_hidden_right": sum(trial.right == trial.hidden for trial in published),
        "not_published": [
            {
                "task_id": trial.task_id, "tool": trial.tool, "status": trial.status, "stage": trial.stage,
                "reason": trial.reason,
            }
            for trial in (*rejected, *other)
        ],
        "wrong": [{"task_id": trial.task_id, "examples": list(trial.wrong)} for trial in trials if trial.wrong],
        "seconds": _spread([trial.seconds for trial in trials if trial.seconds]),
        "seconds_by_gate": {
            gate: _spread([trial.seconds_by_gate[gate] for trial in published if gate in trial.seconds_by_gate])
            for gate in gates
        },
        "model_calls": _spread([trial.calls for trial in published]),
        "tokens": _spread([trial.tokens for trial in published]),
    }  # fmt: skip


def tally_broken(
    broken: Sequence[BrokenRequest], unbroken: Sequence[Unbroken], trials: Sequence[Trial], seed: int
) -> Figures:
    """Number of published broken solutions; `broken` and `trials` in the same order."""
    pairs = list(zip(broken, trials, strict=True))

    def split(chosen: Callable[[BrokenRequest], bool]) -> dict[str, int]:
        some = [trial for one, trial in pairs if chosen(one)]
        return {"broken": len(some), "published": sum(trial.published for trial in some)}

    return {
        "seed": seed,
        "broken": len(pairs),
        "mutants_unnoticed": sum(each.drawn - 1 for each in broken),
        "not_broken": [{"task_id": each.task_id, "why": each.why} for each in unbroken],
        "published": sum(trial.published for _, trial in pairs),
        "false_publish_rate": _share(sum(trial.published for _, trial in pairs), len(pairs)),
        "published_by_trust": _counted(trial.trust for _, trial in pairs if trial.published),
        "noticed_by_tests": split(lambda one: one.noticed_by == "tests"),
        "noticed_by_hidden_only": split(lambda one: one.noticed_by == "hidden"),
        "published_broken": [
            {
                "task_id": trial.task_id, "tool": trial.tool, "trust": trial.trust, "noticed_by": one.noticed_by,
                "mutation": one.mutation.kind, "line": one.mutation.line, "before": one.mutation.before,
                "after": one.mutation.after, "hidden": f"{trial.right}/{trial.hidden}",
            }
            for one, trial in pairs
            if trial.published
        ],
    }  # fmt: skip


def as_table(figures: Mapping[str, Figures]) -> str:
    """One Markdown table with a column for each sandbox, and below it every request that ended otherwise."""
    every = list(figures.values())
    is_broken = any("broken" in each for each in every)
    rows = [
        ("requests", lambda each: each["requests"]),
        *(_BROKEN_ROWS if is_broken else ()),
        ("published", lambda each: f"{each['published']} ({each['published_share']:.1%})"),
        ("… by trust", lambda each: _words(each["published_by_trust"])),
        ("… after the fifth", lambda each: _words(each["after_the_fifth"])),
        ("… `verified`, but a hidden example is wrong", lambda each: each["verified_and_wrong"]),
        ("… listed at once as a tool", lambda each: each["listed_at_once"]),
        ("rejected / failed", lambda each: f"{each['rejected']} / {each['failed']}"),
        ("… by stage", lambda each: _words(each["rejected_by_stage"])),
        ("hidden examples right", lambda each: f"{each['hidden_right']}/{each['hidden_total']}"),
        ("tools with all hidden right", lambda each: f"{each['tools_all_hidden_right']}/{each['published']}"),
        ("seconds a tool: median / p90 / max", lambda each: _numbers(each["seconds"])),
        *((f"… {gate}", lambda each, gate=gate: _numbers(each["seconds_by_gate"].get(gate)))
          for gate in dict.fromkeys(gate for each in every for gate in each["seconds_by_gate"])),
        ("model calls a tool", lambda each: _numbers(each["model_calls"])),
        ("tokens a tool", lambda each: _numbers(each["tokens"])),
    ]  # fmt: skip
    head = f"| | {' | '.join(figures)} |\n|---|{'---:|' * len(figures)}\n"
    table = head + "\n".join(
        f"| {name} | {' | '.join(str(cell(each)) for each in every)} |" for name, cell in rows
    )
    lists = [_lines(kind, each) for kind, each in figures.items()]
    return "\n\n".join([table, *filter(None, lists)])


_BROKEN_ROWS = (
    ("solutions broken", lambda each: each["broken"]["broken"]),
    ("mutants drawn that no example noticed", lambda each: each["broken"]["mutants_unnoticed"]),
    ("**broken and published**",
     lambda each: f"{each['broken']['published']} ({each['broken']['false_publish_rate']:.1%})"),
    ("… noticed by the tests handed in", lambda each: _part(each["broken"]["noticed_by_tests"])),
    ("… noticed by hidden examples only", lambda each: _part(each["broken"]["noticed_by_hidden_only"])),
)  # fmt: skip


def _lines(kind: str, each: Figures) -> str:
    """The single cases; rejections are expected of broken code and then left out."""
    broken = each.get("broken")
    lines = [
        f"- {one['task_id']} {one['tool']}: {one['stage'] or one['status']}: {one['reason']}"
        for one in each["not_published"]
        if not broken or one["status"] != "rejected"
    ]
    if broken:
        lines += [f"- {one['task_id']}: not broken: {one['why']}" for one in broken["not_broken"]]
        lines += [
            f"- {one['task_id']} {one['tool']}: published though line {one['line']} has `{one['after']}` for "
            f"`{one['before']}` ({one['trust']}; noticed by {one['noticed_by']}; hidden right {one['hidden']})"
            for one in broken["published_broken"]
        ]
    else:
        lines += [f"- {one['task_id']}: wrong: {text}" for one in each["wrong"] for text in one["examples"]]
    return f"{kind}:\n\n" + "\n".join(lines) if lines else ""


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _spread(numbers: Sequence[float]) -> dict[str, float]:
    """Median, 90th percentile (nearest rank) and maximum."""
    if not numbers:
        return {"median": 0.0, "p90": 0.0, "max": 0.0}
    ranked = sorted(numbers)
    p90 = ranked[math.ceil(0.9 * len(ranked)) - 1]
    return {"median": round(statistics.median(ranked), 3), "p90": round(p90, 3), "max": round(ranked[-1], 3)}


def _part(split: Mapping[str, int]) -> str:
    return f"{split['published']} of {split['broken']}"


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{word} {count}" for word, count in counts.items()) or "none"


def _numbers(spread: Mapping[str, float] | None) -> str:
    return f"{spread['median']:.2f} / {spread['p90']:.2f} / {spread['max']:.2f}" if spread else "-"
