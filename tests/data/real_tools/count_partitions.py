from functools import lru_cache, partial, reduce
from operator import mul

@lru_cache(maxsize=None)
def _partitions(total: int, largest: int) -> int:
    if total == 0:
        return 1
    return sum(_partitions(total - part, part) for part in range(1, min(total, largest) + 1))

def count_partitions(total: int, largest: int = 100) -> dict[str, int]:
    """Partitions of a number, and its factorial.

    Args:
        total: 0 to 60.
        largest: No part is larger.

    Raises:
        ValueError: The number is out of range.
    """
    if not 0 <= total <= 60:
        raise ValueError("the number is 0 to 60")
    product = partial(reduce, mul)
    return {"partitions": _partitions(total, largest), "factorial": product(range(1, total + 1), 1)}


DESCRIPTION = "Counts the ways to write a number as a sum."
EXAMPLES = [{'arguments': {'total': 5}, 'expected': {'partitions': 7, 'factorial': 120}},
 {'arguments': {'total': 30, 'largest': 4},
  'expected': {'partitions': 297, 'factorial': 265252859812191058636308480000000}},
 {'arguments': {'total': 0}, 'expected': {'partitions': 1, 'factorial': 1}},
 {'arguments': {'total': 61}, 'raises': 'ValueError'},
 {'arguments': {'total': -1}, 'raises': 'ValueError'},
 {'arguments': {'total': 60, 'largest': 60},
  'expected': {'partitions': 966467,
               'factorial': 8320987112741390144276341183223364380754172606361245952449277696409600000000000000}}]
