"""Area under the ROC curve: how well scores separate right from wrong."""

from __future__ import annotations

from collections.abc import Sequence


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
