"""Summary of the synthesis benchmark's trials: figures and lists, and a report as text."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarks.synthesis.delivery import Trial
from benchmarks.synthesis.judge import BrokenRequest, Unbroken

Figures = dict[str, Any]


def tally(trials: Sequence[Trial]) -> Figures:
    """Figures of one sandbox's server over the requests."""
    published = [trial for trial in trials if trial.published]
    rejected = [trial for trial in trials if trial.status == "rejected"]
    existing = [trial for trial in trials if trial.status == "exists"]
    other = [trial for trial in trials if trial.status not in ("created", "rejected", "exists")]
    return {
        "requests": len(trials),
        "published": len(published),
        "published_share": _share(len(published), len(trials)),
        "published_by_trust": _counted(trial.trust for trial in published),
        "listed_at_once": sum(trial.listed for trial in published),
        "rejected": len(rejected),
        "rejected_by_stage": _counted(trial.stage for trial in rejected),
        "rejections": [_why(trial) for trial in rejected],
        "exists": len(existing),
        "existing": [_why(trial) for trial in existing],
        "renamed": [trial.tool for trial in trials if trial.renamed],
        "failed": len(other),
        "failures": [_why(trial) for trial in other],
        "hidden_right": sum(trial.right for trial in published),
        "hidden_total": sum(trial.hidden for trial in published),
        "tools_all_hidden_right": sum(trial.right == trial.hidden for trial in published),
        "wrong": [
            {"task_id": trial.task_id, "examples": list(trial.wrong)} for trial in trials if trial.wrong
        ],
        "seconds": _spread([trial.seconds for trial in trials if not trial.broke_off]),
        "seconds_by_gate": _by_gate(published),
        "software": next((trial.software for trial in published if trial.software), {}),
    }


def tally_broken(
    broken: Sequence[BrokenRequest], unbroken: Sequence[Unbroken], trials: Sequence[Trial], seed: int
) -> Figures:
    """Number of published broken solutions; `broken` and `trials` in the same order."""
    pairs = list(zip(broken, trials, strict=True))
    return {
        "seed": seed,
        "broken": len(pairs),
        "mutants_unnoticed": sum(each.drawn - 1 for each in broken),
        "not_broken": [{"task_id": each.task_id, "why": each.why} for each in unbroken],
        "published": sum(trial.published for _, trial in pairs),
        "false_publish_rate": _share(sum(trial.published for _, trial in pairs), len(pairs)),
        "published_by_trust": _counted(trial.trust for _, trial in pairs if trial.published),
        "noticed_by_tests": _split(pairs, lambda one: one.noticed_by == "tests"),
        "noticed_by_hidden_only": _split(pairs, lambda one: one.noticed_by == "hidden"),
        "by_mutation": {
            kind: _split(pairs, lambda one, kind=kind: one.mutation.kind == kind)  # type: ignore[misc]
            for kind in sorted({one.mutation.kind for one in broken})
        },
        "published_broken": [_published_broken(one, trial) for one, trial in pairs if trial.published],
    }


def _split(
    pairs: Sequence[tuple[BrokenRequest, Trial]], chosen: Callable[[BrokenRequest], bool]
) -> dict[str, int]:
    trials = [trial for one, trial in pairs if chosen(one)]
    return {"broken": len(trials), "published": sum(trial.published for trial in trials)}


def _published_broken(one: BrokenRequest, trial: Trial) -> Figures:
    return {
        "task_id": trial.task_id,
        "tool": trial.tool,
        "trust": trial.trust,
        "noticed_by": one.noticed_by,
        "mutation": one.mutation.kind,
        "line": one.mutation.line,
        "before": one.mutation.before,
        "after": one.mutation.after,
        "hidden": f"{trial.right}/{trial.hidden}",
    }


def _why(trial: Trial) -> dict[str, str]:
    return {
        "task_id": trial.task_id,
        "tool": trial.tool,
        "status": trial.status,
        "stage": trial.stage,
        "reason": trial.reason,
    }


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 90th percentile (nearest rank) and maximum."""
    if not seconds:
        return {"median": 0.0, "p90": 0.0, "max": 0.0}
    ranked = sorted(seconds)
    p90 = ranked[math.ceil(0.9 * len(ranked)) - 1]
    return {"median": round(statistics.median(ranked), 3), "p90": round(p90, 3), "max": round(ranked[-1], 3)}


def _by_gate(published: Sequence[Trial]) -> dict[str, dict[str, float]]:
    """The spread for each gate that a published tool went through, in the order of the gates."""
    gates = dict.fromkeys(gate for trial in published for gate in trial.seconds_by_gate)
    return {
        gate: _spread([trial.seconds_by_gate[gate] for trial in published if gate in trial.seconds_by_gate])
        for gate in gates
    }


def as_table(figures: Mapping[str, Figures]) -> str:
    """One Markdown table with a column for each sandbox, and below it every request that was not published."""
    broken = {kind: each["broken"] for kind, each in figures.items() if "broken" in each}
    rows = _rows(figures) if not broken else _broken_rows(broken) + _rows(figures)[1:]
    head = f"| | {' | '.join(figures)} |\n|---|{'---:|' * len(figures)}\n"
    table = head + "\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in rows)
    return "\n\n".join([table, *_lists(figures, broken)])


def _rows(figures: Mapping[str, Figures]) -> list[tuple[str, list[str]]]:
    every = list(figures.values())
    return [
        ("requests", [str(each["requests"]) for each in every]),
        ("published", [f"{each['published']} ({each['published_share']:.1%})" for each in every]),
        ("… by trust", [_words(each["published_by_trust"]) for each in every]),
        ("… listed at once as a tool", [str(each["listed_at_once"]) for each in every]),
        ("rejected", [str(each["rejected"]) for each in every]),
        ("… by stage", [_words(each["rejected_by_stage"]) for each in every]),
        ("exists / failed", [f"{each['exists']} / {each['failed']}" for each in every]),
        ("hidden examples right", [f"{each['hidden_right']}/{each['hidden_total']}" for each in every]),
        ("tools with all hidden right", [f"{each['tools_all_hidden_right']}/{each['published']}" for each in every]),
        ("seconds a tool: median / p90 / max", [_seconds(each["seconds"]) for each in every]),
        *_gate_rows(every),
    ]  # fmt: skip


def _gate_rows(every: Sequence[Figures]) -> list[tuple[str, list[str]]]:
    gates = dict.fromkeys(gate for each in every for gate in each["seconds_by_gate"])
    return [
        (
            f"… {gate}",
            [
                _seconds(each["seconds_by_gate"][gate]) if gate in each["seconds_by_gate"] else "-"
                for each in every
            ],
        )
        for gate in gates
    ]


def _broken_rows(broken: Mapping[str, Figures]) -> list[tuple[str, list[str]]]:
    every = list(broken.values())
    return [
        ("solutions broken", [str(each["broken"]) for each in every]),
        ("mutants drawn that no example noticed", [str(each["mutants_unnoticed"]) for each in every]),
        ("could not be broken", [str(len(each["not_broken"])) for each in every]),
        ("**broken and published**", [f"{each['published']} ({each['false_publish_rate']:.1%})" for each in every]),
        ("… by trust", [_words(each["published_by_trust"]) for each in every]),
        ("… noticed by the tests handed in", [_part(each["noticed_by_tests"]) for each in every]),
        ("… noticed by hidden examples only", [_part(each["noticed_by_hidden_only"]) for each in every]),
    ]  # fmt: skip


def _part(split: Mapping[str, int]) -> str:
    return f"{split['published']} of {split['broken']}"


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{word} {count}" for word, count in counts.items()) or "none"


def _seconds(spread: Mapping[str, float]) -> str:
    return f"{spread['median']:.2f} / {spread['p90']:.2f} / {spread['max']:.2f}"


def _lists(figures: Mapping[str, Figures], broken: Mapping[str, Figures]) -> list[str]:
    """The single cases; rejections are expected of broken code and then left out."""
    found = []
    for kind, each in figures.items():
        words = ["existing", "failures"] if broken else ["rejections", "existing", "failures"]
        lines = [
            f"- {one['task_id']} {one['tool']}: {one['stage'] or one['status']}: {one['reason']}"
            for word in words
            for one in each[word]
        ]
        lines += [
            f"- {one['task_id']}: wrong: {text}"
            for one in each["wrong"]
            if not broken
            for text in one["examples"]
        ]
        if kind in broken:
            lines += _broken_lines(broken[kind])
        if lines:
            found.append(f"{kind}:\n\n" + "\n".join(lines))
    return found


def _broken_lines(broken: Figures) -> list[str]:
    return [f"- {one['task_id']}: not broken: {one['why']}" for one in broken["not_broken"]] + [
        f"- {one['task_id']} {one['tool']}: published though line {one['line']} has `{one['after']}` for "
        f"`{one['before']}` ({one['trust']}; noticed by {one['noticed_by']}; hidden right {one['hidden']})"
        for one in broken["published_broken"]
    ]
