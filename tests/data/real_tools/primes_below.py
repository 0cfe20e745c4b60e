from collections.abc import Iterator
from itertools import count, takewhile

def _primes() -> Iterator[int]:
    composites: dict[int, list[int]] = {}
    for number in count(2):
        factors = composites.pop(number, None)
        if factors is None:
            yield number
            composites[number * number] = [number]
        else:
            for factor in factors:
                composites.setdefault(number + factor, []).append(factor)

def primes_below(limit: int) -> list[int]:
    """Prime numbers below a limit.

    Args:
        limit: No prime at or above it is listed; at most 10,000.

    Raises:
        ValueError: The limit is above 10,000.
    """
    if limit > 10_000:
        raise ValueError("the limit is above 10,000")
    return list(takewhile(lambda prime: prime < limit, _primes()))


DESCRIPTION = "Lists the prime numbers below a limit with a lazy sieve."
EXAMPLES = [{'arguments': {'limit': 30}, 'expected': [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]},
 {'arguments': {'limit': 2}, 'expected': []},
 {'arguments': {'limit': 3}, 'expected': [2]},
 {'arguments': {'limit': 120},
  'expected': [2,
               3,
               5,
               7,
               11,
               13,
               17,
               19,
               23,
               29,
               31,
               37,
               41,
               43,
               47,
               53,
               59,
               61,
               67,
               71,
               73,
               79,
               83,
               89,
               97,
               101,
               103,
               107,
               109,
               113]},
 {'arguments': {'limit': 10001}, 'raises': 'ValueError'}]
