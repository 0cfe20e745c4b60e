"""What scripted models write about one small tool, by role and by draw: right, subtly wrong, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.models.openai_server import Reply, Request

REQUEST = "Adds up the digits of a whole number."
SPEC: dict[str, Any] = {
    "name": "digit_sum",
    "description": "Adds up the decimal digits of a whole number.",
    "signature": "def digit_sum(number: int) -> int",
    "rules": ["A negative number has the digit sum of its absolute value."],
    "use_when": [
        "sum of digits",
        "cross total of 123",
        "add up the figures in a number",
        "checksum by digits",
        "total of all decimal places",
        "what do the numerals of 4711 come to",
    ],
}
_HEAD = '''def digit_sum(number: int) -> int:
    """Adds up the decimal digits of a whole number.

    Args:
        number: Any whole number.
    """
'''


def module(*lines: str) -> str:
    return _HEAD + "".join(f"    {line}\n" for line in lines)


PLAIN = module("return sum(int(digit) for digit in str(abs(number)))")
LISTED = module("digits = [int(digit) for digit in str(abs(number))]", "return sum(digits)")
ROOT = module("rest = abs(number)", "return 1 + (rest - 1) % 9 if rest else 0")
"""The digital root: right up to 18, wrong behind it."""
SIGNED = module(
    "total = sum(int(digit) for digit in str(abs(number)))", "return -total if number < 0 else total"
)
COUNT = module("return len(str(abs(number)))")
SLOW = module("while number == number:", "    number += 0", "return number")
BROKEN = "def digit_sum(number: int) -> int:\n    return (\n"


def suite_of(*pairs: tuple[int, int]) -> dict[str, Any]:
    return {"tests": [{"arguments": {"number": number}, "expected": total} for number, total in pairs]}


GOOD = suite_of((123, 6), (0, 0), (-45, 9), (99, 18), (5, 5), (1000, 1))
EDGES = suite_of((7, 7), (10, 1), (-1, 1), (989, 26), (-100, 1), (12345, 15))
WRONG = suite_of((123, 7), (456, 16), (0, 1), (-45, -9), (99, 17), (31, 5))
"""Contradicts the specification."""


def coded(code: str) -> str:
    return json.dumps({"code": code, "packages": []})


@dataclass
class Script:
    """Who answers what; a list is used by draw number and goes round, a function is asked each time."""

    spec: Any = field(default_factory=lambda: SPEC)
    suites: Sequence[Any] = (GOOD, EDGES, GOOD)
    candidates: Sequence[Any] = (PLAIN, PLAIN, LISTED)
    repairs: Callable[[Request], Any] | None = None
    asked: list[tuple[str, Request]] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        kind = kind_of(request)
        self.asked.append((kind, request))
        index = ((request.seed or 1) - 1) // 10 % 100
        if kind == "spec":
            return _said(self.spec)
        if kind == "tests":
            return _said(self.suites[index % len(self.suites)])
        if kind == "repair" and self.repairs is not None:
            return _said(self.repairs(request))
        return _said(self.candidates[index % len(self.candidates)])

    def texts(self, kind: str) -> list[str]:
        return [request.text for asked, request in self.asked if asked == kind]

    def count(self, kind: str) -> int:
        return len(self.texts(kind))


def kind_of(request: Request) -> str:
    text = request.text
    if "It failed:" in text:
        return "repair"
    words = {"Specify a tool": "spec", "Test this tool": "tests"}
    return next((kind for word, kind in words.items() if word in text), "code")


def _said(answer: Any) -> Reply:
    if isinstance(answer, str) and answer.startswith("def "):
        return coded(answer)
    return answer
