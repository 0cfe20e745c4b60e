from array import array
from collections import deque

def moving_average(values: list[float], window: int) -> list[float]:
    """Means of the last values, as many as the window holds.

    Args:
        values: Numbers.
        window: How many values are averaged.

    Raises:
        ValueError: The window is empty.
    """
    if window < 1:
        raise ValueError("the window is empty")
    numbers, kept = array("d", values), deque(maxlen=min(window, 10_000))
    means = array("d")
    for number in numbers:
        kept.append(number)
        means.append(sum(kept) / len(kept))
    return [round(mean, 6) for mean in means]


DESCRIPTION = "Smooths numbers by a moving average over an array."
EXAMPLES = [{'arguments': {'values': [1.0, 2.0, 6.0, 3.0], 'window': 2}, 'expected': [1.0, 1.5, 4.0, 4.5]},
 {'arguments': {'values': [], 'window': 1}, 'expected': []},
 {'arguments': {'values': [1.0], 'window': 0}, 'raises': 'ValueError'},
 {'arguments': {'values': [4.0, 8.0], 'window': 100000}, 'expected': [4.0, 6.0]}]
