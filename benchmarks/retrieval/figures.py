"""Figures of a search from rankings and truths: recall, rank, certainty."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from alita_mcp.values import Value


class Answered(Value):
    """Result of the search for one need, and the right tools."""

    id: str
    names: tuple[str, ...]
    scores: tuple[float, ...]
    probability: float
    band: str
    tools: tuple[str, ...] = ()
    kind: str = ""

    @property
    def rank(self) -> int | None:
        """Rank of the first right tool, from 1."""
        return next((at for at, name in enumerate(self.names, 1) if name in self.tools), None)

    @property
    def right(self) -> bool:
        """Whether the first one is right."""
        return self.rank == 1


def figures(answered: Sequence[Answered], outside: Sequence[Answered] = ()) -> dict[str, float | int]:
    """All figures of one set."""
    ranks = [each.rank for each in answered]
    count = max(1, len(ranks))
    every = [(each.probability, each.right) for each in (*answered, *outside)]
    result: dict[str, float | int] = {
        "queries": len(answered),
        "R@1": sum(rank == 1 for rank in ranks) / count,
        "R@5": sum(rank is not None and rank <= 5 for rank in ranks) / count,
        "MRR": sum(1 / rank for rank in ranks if rank is not None and rank <= 10) / count,
        "AUROC": auroc(every),
        "ECE": calibration_error(every),
        "kept": sum(each.band != "none" for each in answered) / count,
        "match_right": _share([each.right for each in (*answered, *outside) if each.band == "match"]),
    }
    kinds: dict[str, list[bool]] = defaultdict(list)
    for each in outside:
        kinds[each.kind.split(" ")[0] or "outside"].append(each.band == "none")
    return result | {f"refused_{kind}": _share(refused) for kind, refused in sorted(kinds.items())}


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    """The middle one and the hundredth slowest; zero of nothing."""
    times = sorted(milliseconds) or [0.0]
    return {"p50_ms": times[len(times) // 2], "p99_ms": times[int(0.99 * (len(times) - 1))]}


def calibration_error(pairs: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """Mean distance between promised certainty and measured accuracy, over bins of equal width."""
    binned: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for probability, right in pairs:
        binned[min(bins - 1, int(probability * bins))].append((probability, right))
    return sum(
        abs(sum(probability for probability, _ in each) - sum(right for _, right in each))
        for each in binned.values()
    ) / max(1, len(pairs))


def auroc(pairs: Sequence[tuple[float, bool]]) -> float:
    """Probability that a right one has a higher score than a wrong one; 0.5 where one kind is missing."""
    rank_sum, at, ordered = 0.0, 0, sorted(pairs)
    positives = sum(right for _, right in ordered)
    negatives = len(ordered) - positives
    while at < len(ordered):
        end = at
        while end < len(ordered) and ordered[end][0] == ordered[at][0]:
            end += 1
        rank_sum += (at + end + 1) / 2 * sum(right for _, right in ordered[at:end])
        at = end
    if not positives or not negatives:
        return 0.5
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


def _share(truths: Sequence[bool]) -> float:
    return sum(truths) / len(truths) if truths else 0.0
