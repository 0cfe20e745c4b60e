from fractions import Fraction
from math import ceil

def egyptian_fraction(numerator: int, denominator: int) -> list[str]:
    """Greedy sum of unit fractions.

    Args:
        numerator: Above zero, at most the denominator.
        denominator: At most 1000.

    Raises:
        ValueError: The fraction is not between 0 and 1, or too fine.
    """
    if not 0 < numerator <= denominator <= 1000:
        raise ValueError("the fraction must lie in (0, 1]")
    rest, parts = Fraction(numerator, denominator), []
    while rest:
        part = Fraction(1, ceil(1 / rest))
        parts.append(str(part))
        rest -= part
    return parts


DESCRIPTION = "Writes a fraction as a sum of different unit fractions."
EXAMPLES = [{'arguments': {'numerator': 4, 'denominator': 13}, 'expected': ['1/4', '1/18', '1/468']},
 {'arguments': {'numerator': 1, 'denominator': 1}, 'expected': ['1']},
 {'arguments': {'numerator': 6, 'denominator': 7}, 'expected': ['1/2', '1/3', '1/42']},
 {'arguments': {'numerator': 3, 'denominator': 2}, 'raises': 'ValueError'},
 {'arguments': {'numerator': 0, 'denominator': 5}, 'raises': 'ValueError'},
 {'arguments': {'numerator': 1, 'denominator': 1001}, 'raises': 'ValueError'}]
