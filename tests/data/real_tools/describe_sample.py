import statistics
from fractions import Fraction

def describe_sample(values: list[float]) -> dict[str, float]:
    """Mean, median, spread and quartiles.

    Args:
        values: At least two numbers.

    Raises:
        StatisticsError: There are fewer than two numbers.
    """
    low, _, high = statistics.quantiles(values, n=4)
    return {
        "mean": round(float(Fraction(str(statistics.fmean(values)))), 4),
        "median": statistics.median(values),
        "stdev": round(statistics.stdev(values), 4),
        "low": low,
        "high": high,
        "harmonic": round(statistics.harmonic_mean([abs(value) + 1 for value in values]), 4),
    }


DESCRIPTION = "Describes a sample of numbers by its statistics."
EXAMPLES = [{'arguments': {'values': [2.0, 4.0, 4.0, 5.0, 9.0]},
  'expected': {'mean': 4.8,
               'median': 4.0,
               'stdev': 2.5884,
               'low': 3.0,
               'high': 7.0,
               'harmonic': 5.0}},
 {'arguments': {'values': [1.0, 2.0]},
  'expected': {'mean': 1.5,
               'median': 1.5,
               'stdev': 0.7071,
               'low': 0.75,
               'high': 2.25,
               'harmonic': 2.4}},
 {'arguments': {'values': [3.0]}, 'raises': 'StatisticsError'},
 {'arguments': {'values': [-1.5, 0.5, 10.0, 2.5]},
  'expected': {'mean': 2.875,
               'median': 1.5,
               'stdev': 5.0229,
               'low': -1.0,
               'high': 8.125,
               'harmonic': 2.7714}}]
