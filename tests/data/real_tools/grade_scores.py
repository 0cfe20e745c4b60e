from bisect import bisect, insort
from collections import Counter, OrderedDict

def grade_scores(scores: list[int], limits: list[int]) -> dict[str, int]:
    """How often each grade was given, best grade first.

    Args:
        scores: Points.
        limits: Where the next better grade begins; at most five.

    Raises:
        ValueError: There are more than five limits.
    """
    if len(limits) > 5:
        raise ValueError("at most five limits")
    ordered: list[int] = []
    for limit in limits:
        insort(ordered, limit)
    letters = "ABCDEF"[: len(ordered) + 1][::-1]
    counts = Counter(letters[bisect(ordered, score)] for score in scores)
    ordered_counts = OrderedDict(sorted(counts.items()))
    return dict(ordered_counts)


DESCRIPTION = "Gives grades to scores by sorted limits."
EXAMPLES = [{'arguments': {'scores': [55, 72, 90, 89, 100, 12], 'limits': [90, 60, 75]},
  'expected': {'A': 2, 'B': 1, 'C': 1, 'D': 2}},
 {'arguments': {'scores': [], 'limits': []}, 'expected': {}},
 {'arguments': {'scores': [1, 2], 'limits': []}, 'expected': {'A': 2}},
 {'arguments': {'scores': [1], 'limits': [1, 2, 3, 4, 5, 6]}, 'raises': 'ValueError'},
 {'arguments': {'scores': [1, 5, 9], 'limits': [1, 2, 3, 4, 5]}, 'expected': {'A': 2, 'E': 1}}]
