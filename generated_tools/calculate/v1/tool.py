"""Exact arithmetic on expressions, with rationals instead of floating point."""

from __future__ import annotations

import math
import re

_TOKEN = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|\*\*|//|\S")
_SIGNS = ("+", "-", "*", "/", "//", "%", "**", "(", ")")
_MOST_DIGITS = 4_000
_TOO_LARGE = 10**_MOST_DIGITS
_DEEPEST = 60


def calculate(expression: str, decimals: int = 20) -> dict[str, str]:
    """Computes an arithmetic expression exactly: big integers, decimals and fractions.

    Understands + - * / // % ** (or ^), parentheses and numbers such as 1200, 0.1 and 2.5e-3.

    Args:
        expression: As in (0.1 + 0.2) * 3 or 2**100 % 97.
        decimals: Places of the result's `decimal`, 0 to 200.

    Returns:
        `exact`, an integer or a reduced fraction such as "1/3", and `decimal`, the same as a decimal number.

    Raises:
        ValueError: The expression cannot be read, nests too deeply, or some number would have over 4,000 digits.
        ZeroDivisionError: Something is divided by zero.
    """
    if decimals < 0 or decimals > 200:
        raise ValueError("decimals must be between 0 and 200")
    tokens = _tokens(expression)
    value, rest = _sum(tokens, 0)
    if rest != len(tokens):
        raise ValueError(f"unexpected {tokens[rest]!r} in the expression")
    above, below = value
    return {"exact": str(above) if below == 1 else f"{above}/{below}", "decimal": _decimal(above, below, decimals)}


def _tokens(expression: str) -> list[str]:
    if len(expression) > 10_000:
        raise ValueError("the expression is longer than 10,000 characters")
    found = ["**" if token == "^" else token for token in _TOKEN.findall(expression)]
    strange = [token for token in found if token not in _SIGNS and token[0] not in "0123456789."]
    if strange or "." in found:
        raise ValueError(f"cannot read {(strange or ['.'])[0]!r} in the expression")
    if not found:
        raise ValueError("the expression is empty")
    if _depth(found) > _DEEPEST:
        raise ValueError(f"more than {_DEEPEST} parentheses or powers are nested in one another")
    return found


def _depth(tokens: list[str]) -> int:
    deepest = depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        deepest = max(deepest, depth)
    return deepest + tokens.count("**")


def _reduced(above: int, below: int) -> tuple[int, int]:
    if below == 0:
        raise ZeroDivisionError("division by zero")
    if below < 0:
        above, below = -above, -below
    shared = math.gcd(above, below)
    above, below = above // shared, below // shared
    if max(abs(above), below) >= _TOO_LARGE:
        raise ValueError("the result has too many digits")
    return above, below


def _sum(tokens: list[str], at: int) -> tuple[tuple[int, int], int]:
    left, at = _product(tokens, at)
    while at < len(tokens) and tokens[at] in ("+", "-"):
        sign = 1 if tokens[at] == "+" else -1
        right, at = _product(tokens, at + 1)
        left = _reduced(left[0] * right[1] + sign * right[0] * left[1], left[1] * right[1])
    return left, at


def _product(tokens: list[str], at: int) -> tuple[tuple[int, int], int]:
    left, at = _signed(tokens, at)
    while at < len(tokens) and tokens[at] in ("*", "/", "//", "%"):
        operator = tokens[at]
        right, at = _signed(tokens, at + 1)
        if operator == "*":
            left = _reduced(left[0] * right[0], left[1] * right[1])
        elif operator == "/":
            left = _reduced(left[0] * right[1], left[1] * right[0])
        else:
            left = _whole_division(left, right, operator)
    return left, at


def _whole_division(left: tuple[int, int], right: tuple[int, int], operator: str) -> tuple[int, int]:
    quotient = _reduced(left[0] * right[1], left[1] * right[0])
    whole = quotient[0] // quotient[1]
    if operator == "//":
        return whole, 1
    return _reduced(left[0] * right[1] - whole * right[0] * left[1], left[1] * right[1])


def _signed(tokens: list[str], at: int) -> tuple[tuple[int, int], int]:
    sign = 1
    while at < len(tokens) and tokens[at] in ("+", "-"):
        sign = -sign if tokens[at] == "-" else sign
        at += 1
    value, at = _power(tokens, at)
    return (sign * value[0], value[1]), at


def _power(tokens: list[str], at: int) -> tuple[tuple[int, int], int]:
    base, at = _atom(tokens, at)
    if at == len(tokens) or tokens[at] != "**":
        return base, at
    exponent, at = _signed(tokens, at + 1)
    if exponent[1] != 1:
        raise ValueError("an exponent must be a whole number")
    power = exponent[0]
    if abs(power) > 100_000:
        raise ValueError("an exponent must lie between -100,000 and 100,000")
    if max(_magnitude(base[0]), _magnitude(base[1])) * abs(power) > _MOST_DIGITS:
        raise ValueError("the result has too many digits")
    if power >= 0:
        return _reduced(base[0] ** power, base[1] ** power), at
    return _reduced(base[1] ** -power, base[0] ** -power), at


def _magnitude(number: int) -> float:
    digits = str(abs(number))
    head = digits[:15]
    return len(digits) - len(head) + math.log10(int(head)) if number else 0.0


def _atom(tokens: list[str], at: int) -> tuple[tuple[int, int], int]:
    if at == len(tokens):
        raise ValueError("the expression ends too early")
    token = tokens[at]
    if token == "(":
        value, at = _sum(tokens, at + 1)
        if at == len(tokens) or tokens[at] != ")":
            raise ValueError("a closing parenthesis is missing")
        return value, at + 1
    if token[0] in "0123456789.":
        return _number(token), at + 1
    raise ValueError(f"unexpected {token!r} in the expression")


def _number(token: str) -> tuple[int, int]:
    mantissa, _, power = token.lower().partition("e")
    whole, _, places = mantissa.partition(".")
    exponent = (int(power) if power else 0) - len(places)
    if abs(exponent) > _MOST_DIGITS or len(mantissa) > _MOST_DIGITS:
        raise ValueError("a number has too many digits")
    digits = int((whole + places) or "0")
    return _reduced(digits * 10 ** max(exponent, 0), 10 ** max(-exponent, 0))


def _decimal(above: int, below: int, decimals: int) -> str:
    scaled = (2 * abs(above) * 10**decimals + below) // (2 * below)
    digits = str(scaled).zfill(decimals + 1)
    whole, places = digits[: len(digits) - decimals], digits[len(digits) - decimals :].rstrip("0")
    sign = "-" if above < 0 and scaled else ""
    return sign + whole + ("." + places if places else "")
