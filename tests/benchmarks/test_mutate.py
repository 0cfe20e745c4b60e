from __future__ import annotations

import pytest

from benchmarks.synthesis.mutate import mutations

SAMPLE = '''
"""Ünïcödé before the code: places are counted in bytes."""

import math  # a comment that stays


def clamp(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """Keeps a value between two others; the text 'low' < 'high' is no code."""
    words = "größer", f"{value + 1}"
    if value < low and words:
        return low  # too small
    total = 0
    for step in range(1, len(words)):
        total += -step
    return min(high, max(low, value + math.floor(total * 0)))
'''


def of_kind(kind: str, code: str) -> list[tuple[str, str]]:
    return [(each.before, each.after) for each in mutations(code) if each.kind == kind]


@pytest.mark.parametrize(
    ("kind", "code", "before", "after"),
    [
        ("operator", "x = a + b", "a + b", "(a - b)"),
        ("operator", "x = a // b", "a // b", "(a * b)"),
        ("operator", "x += y", "x += y", "x -= y"),
        ("operator", "x = -y", "-y", "(y)"),
        ("comparison", "x = a < b", "a < b", "(a >= b)"),
        ("comparison", "x = a in b", "a in b", "(a not in b)"),
        ("comparison", "x = a < b == c", "a < b == c", "(a < b != c)"),
        ("boundary", "x = a < b", "a < b", "(a <= b)"),
        ("boundary", "x = a[i:]", "i", "(i + 1)"),
        ("boundary", "x = range(n)", "n", "(n - 1)"),
        ("constant", "x = 7", "7", "8"),
        ("constant", "x = 7", "7", "(6)"),
        ("constant", "x = 0.5", "0.5", "1.5"),
        ("constant", "x = True", "True", "False"),
        ("constant", "x = 'yes'", "'yes'", '""'),
        ("constant", "x = ''", "''", '"x"'),
        ("boolean operator", "x = a and b", "a and b", "(a or b)"),
        ("boolean operator", "x = a or b", "a or b", "(b)"),
        ("boolean operator", "x = a or b or c", "a or b or c", "(a or c)"),
        ("boolean operator", "x = not a", "not a", "(a)"),
        ("negated condition", "if a:\n    pass", "a", "(not (a))"),
        ("negated condition", "while a:\n    pass", "a", "(not (a))"),
        ("negated condition", "x = b if a else c", "a", "(not (a))"),
        ("negated condition", "x = [b for b in c if a]", "a", "(not (a))"),
        ("return", "def f() -> int:\n    return x", "x", "0"),
        ("return", "def f() -> list[int]:\n    return x", "x", "[]"),
        ("return", "def f() -> bool:\n    return x", "x", "(not (x))"),
        ("return", "async def f():\n    return x", "x", "None"),
        ("removed statement", "def f():\n    x = [\n        1]\n", "x = [\n        1]", "pass"),
        ("removed statement", "while a: break", "break", "pass"),
        ("swapped arguments", "x = f(a, b, c)", "f(a, b, c)", "f(a, c, b)"),
    ],
)
def test_each_kind_of_mistake_is_made(kind: str, code: str, before: str, after: str) -> None:
    assert (before, after) in of_kind(kind, code)


def test_a_mutant_differs_in_one_place_and_keeps_all_the_rest() -> None:
    lines = SAMPLE.splitlines()
    for each in mutations(SAMPLE):
        changed = [new for old, new in zip(lines, each.code.splitlines(), strict=True) if old != new]
        assert len(changed) == 1
        assert lines[each.line - 1] not in changed
        assert each.before in lines[each.line - 1]


def test_docstrings_annotations_imports_f_strings_and_decorators_are_left_alone() -> None:
    code = (
        '"""Doc 1."""\nimport math\n\n@cached(size=3)\ndef f(a: "x" = None) -> "list[1]":\n'
        '    """Doc 2."""\n    b: Literal[4] = a\n    return f"{b + 5}"\n'
    )
    assert {each.kind for each in mutations(code)} == {"return", "removed statement"}
