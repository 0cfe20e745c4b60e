"""Likeness of programs by their normal forms, and groups of like programs.

Likeness is what two programs have in common, over the smaller one and a third of what the larger one has more
(Tversky's index of features): a line added to a program counts less than one replaced.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from alita_mcp.mining.comparison.normal_form import MAX_FEATURES
from alita_mcp.mining.values import NormalForm

ALIKE_FROM = 0.55
"""Chosen on 242 programs: 0.25 % of pairs of different ones are called alike, 98.6 % of edited ones are found."""
_ADDED = 1 / 3
"""What a feature counts that the larger program alone has."""
_SHARED = ALIKE_FROM * _ADDED / (1 - ALIKE_FROM * (1 - _ADDED))
"""The larger of two alike programs shares at least such a part of its features, the smaller one more."""


def likeness(one: NormalForm, other: NormalForm) -> float:
    """From 0, nothing in common, to 1, the same normal form."""
    if one.digest == other.digest:
        return 1.0
    mine, others = _comparable(one.features, other.features)
    common = sum(min(count, others.get(feature, 0)) for feature, count in mine.items())
    return common / _whole(sum(mine.values()), sum(others.values())) if common else 0.0


def alike(one: NormalForm, other: NormalForm) -> bool:
    """Whether two programs are the same or nearly the same."""
    return likeness(one, other) >= ALIKE_FROM


def groups(forms: Sequence[NormalForm]) -> list[list[int]]:
    """Indices of like programs, each in one group: that of the likeliest program among the most frequent ones.

    Not what is alike by way of a third program: such chains would end in one group of nearly everything.
    """
    by_digest: dict[str, list[int]] = defaultdict(list)
    for at, form in enumerate(forms):
        by_digest[form.digest].append(at)
    index = _Index(forms)
    found: dict[int, list[int]] = {}
    for same in sorted(by_digest.values(), key=lambda each: (-len(each), each[0])):
        at = same[0]
        best = max(((likeness(forms[at], forms[each]), -each) for each in index.near(at)), default=(0.0, 0))
        if best[0] >= ALIKE_FROM:
            found[-best[1]] += same
        else:
            found[at] = same
            index.add(at)
    return sorted(sorted(group) for group in found.values())


class _Index:
    """Finds the programs that may be alike without comparing all."""

    def __init__(self, forms: Sequence[NormalForm]) -> None:
        self._features = [form.features for form in forms]
        self._totals = [sum(form.features.values()) for form in forms]
        self._frequency = Counter(feature for form in forms for feature in form.features)
        self._holders: dict[str, list[int]] = defaultdict(list)

    def add(self, at: int) -> None:
        """Makes a program one that is found."""
        for feature in self._features[at]:
            self._holders[feature].append(at)

    def near(self, at: int) -> list[int]:
        """Programs whose common part may suffice, judged by the rarer features."""
        features, total = self._features[at], self._totals[at]
        left, common = total, Counter[int]()
        for feature in sorted(features, key=self._frequency.__getitem__):
            if left < _SHARED * total:
                break
            left -= features[feature]
            for other in self._holders[feature]:
                common[other] += features[feature]
        return [
            each
            for each, shared in common.items()
            if shared + left >= ALIKE_FROM * _whole(total, self._totals[each])
        ]


def _whole(one: int, other: int) -> float:
    """What a common part is a share of."""
    low, high = sorted((one, other))
    return low + _ADDED * (high - low)


def _comparable(one: dict[str, int], other: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """The features up to the hash up to which both were kept."""
    cut = [max(each) for each in (one, other) if len(each) >= MAX_FEATURES]
    if not cut:
        return one, other
    last = min(cut)
    mine, others = ({key: count for key, count in each.items() if key <= last} for each in (one, other))
    return mine, others
