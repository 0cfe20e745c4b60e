"""Programs are the same when they differ in literals alone."""

from __future__ import annotations

import pytest

from alita_mcp.runs.history.program import MAX_CODE, program_of
from tests.runs.runs import key_of

SAME = [
    ("a = 1", "a = 2.5"),
    ("a = 'x'", "a = None"),
    ("a = [1, 2]", "a = []"),
    ("f(1, key='a')", "f(2, key='b')"),
    ("print(f'{a} EUR')", "print(f'{a} USD')"),
    ("a = {'x': 1}", "a = {'y': 'z'}"),
    ("def f(a=1):\n    return a\nf()", "def f(a=2):\n    return a\nf()"),
    ("a = 1  # one\n\n\nb = a", "'a comment'\na = 2\nb = (a)"),
    ("def f():\n    'text'\n    return 1", "def f():\n    return 1"),
]
OTHER = [
    ("a = 1", "b = 1"),
    ("a = 1", "a = [b]"),
    ("a = (1,)", "a = (1, 2)"),
    ("a = {'x': 1}", "a = {'x': 1, 'y': 2}"),
    ("a = 1", "a = b'1'"),
    ("a + 1", "a - 1"),
    ("f(1)", "f(a=1)"),
    ("a: int = 1", "a: str = 1"),
    ("match a:\n    case 1:\n        b = 1", "match a:\n    case 2:\n        b = 1"),
    ("import json", "import re"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_programs_that_differ_in_literals_are_the_same(one: str, other: str) -> None:
    assert key_of(one) == key_of(other) != ""


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_programs_that_differ_in_more_are_not(one: str, other: str) -> None:
    assert key_of(one) != key_of(other)


def test_literals_come_in_the_order_of_the_text_with_what_the_program_calls_them() -> None:
    program = program_of(
        "prices = [1, -2.5]\n"
        "def f(rate, places=2):\n    return round(rate, 3)\n"
        "f(0.5, places=1)\n"
        "{'unit': 'EUR'}\n"
        "for n in [7, 8]:\n    pass\n"
    )
    assert program is not None
    told = [(slot.value, slot.hint, slot.at_top) for slot in program.slots]
    assert told == [
        ([1, -2.5], "prices", True),
        (2, "places", False),
        (3, "", False),
        (0.5, "rate", True),
        (1, "places", True),
        ("unit", "", True),
        ("EUR", "unit", True),
        ([7, 8], "n_values", True),
    ]


@pytest.mark.parametrize(
    "code",
    ["a = (", "a" * (MAX_CODE + 1), "a = " + "(" * 5_000 + ")" * 5_000, "-" * 9_000 + "1", "a\0b"],
    ids=["broken", "long", "deep", "signs", "zero"],
)
def test_what_cannot_be_compared_has_no_program(code: str) -> None:
    assert program_of(code) is None
