import cmath
import math
from numbers import Complex, Rational

def _text(value: Complex) -> str:
    if isinstance(value, Rational) or math.isclose(value.imag, 0, abs_tol=1e-12):
        return f"{value.real:.4g}"
    return f"{value.real:.4g}{value.imag:+.4g}i"

def solve_quadratic(a: float, b: float, c: float) -> list[str]:
    """Roots of a·x² + b·x + c, or of the line that is left.

    Args:
        a: Of the square.
        b: Of the unknown.
        c: Constant.

    Raises:
        ValueError: Nothing depends on the unknown.
    """
    if not all(map(math.isfinite, (a, b, c))) or (a == 0 and b == 0):
        raise ValueError("this is no equation")
    if a == 0:
        return [_text(-c / b)]
    root = cmath.sqrt(b * b - 4 * a * c)
    found = {(-b - root) / (2 * a), (-b + root) / (2 * a)}
    return [_text(each) for each in sorted(found, key=lambda each: (round(each.real, 9), round(each.imag, 9)))]


DESCRIPTION = "Solves a quadratic equation, also with complex roots."
EXAMPLES = [{'arguments': {'a': 1.0, 'b': -3.0, 'c': 2.0}, 'expected': ['1', '2']},
 {'arguments': {'a': 1.0, 'b': 2.0, 'c': 5.0}, 'expected': ['-1-2i', '-1+2i']},
 {'arguments': {'a': 0.0, 'b': 2.0, 'c': -8.0}, 'expected': ['4']},
 {'arguments': {'a': 0.0, 'b': 0.0, 'c': 1.0}, 'raises': 'ValueError'},
 {'arguments': {'a': 2.0, 'b': 4.0, 'c': 2.0}, 'expected': ['-1']}]
