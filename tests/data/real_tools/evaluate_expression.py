import json
import operator

_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}

def _value(node: object) -> float:
    match node:
        case bool():
            raise ValueError("a truth value is no number")
        case int() | float():
            return node
        case [str(sign), left, right] if sign in _OPERATORS:
            return _OPERATORS[sign](_value(left), _value(right))
        case ["neg", inner]:
            return -_value(inner)
        case {"sum": [*parts]}:
            return sum(_value(part) for part in parts)
        case _:
            raise ValueError(f"not an expression: {node!r}")

def evaluate_expression(expression: str) -> float:
    """Value of an expression such as ["+", 1, ["*", 2, 3]].

    Args:
        expression: JSON.

    Raises:
        ValueError: It is no expression.
        ZeroDivisionError: Something is divided by zero.
    """
    return float(_value(json.loads(expression)))


DESCRIPTION = "Evaluates an arithmetic expression given as nested lists in JSON."
EXAMPLES = [{'arguments': {'expression': '["+", 1, ["*", 2, 3]]'}, 'expected': 7.0},
 {'arguments': {'expression': '{"sum": [1, 2, ["neg", 5]]}'}, 'expected': -2.0},
 {'arguments': {'expression': '["/", 1, 0]'}, 'raises': 'ZeroDivisionError'},
 {'arguments': {'expression': 'true'}, 'raises': 'ValueError'},
 {'arguments': {'expression': '["%", 1, 2]'}, 'raises': 'ValueError'},
 {'arguments': {'expression': '["-", 7, ["/", 1, 4]]'}, 'expected': 6.75}]
