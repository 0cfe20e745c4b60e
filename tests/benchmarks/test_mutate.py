from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.synthesis.mutate import Mutation, drawn, mutations

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


def test_a_return_inside_an_inner_function_does_not_count_for_the_outer_one() -> None:
    code = "def f() -> int:\n    def g() -> str:\n        return x\n    return y"
    assert of_kind("return", code) == [("y", "0"), ("x", '""')]


def test_the_same_seed_draws_the_same_order_and_another_seed_another() -> None:
    assert drawn(SAMPLE, "1 task") == drawn(SAMPLE, "1 task")
    assert drawn(SAMPLE, "1 task") != drawn(SAMPLE, "2 task")
    assert sorted(map(repr, drawn(SAMPLE, "1"))) == sorted(map(repr, mutations(SAMPLE)))


def test_code_without_anything_to_break_has_no_mutants() -> None:
    assert mutations("import math\n") == ()


names = st.sampled_from(["a", "bé", "c"])
atoms = st.one_of(names, st.integers(0, 99).map(str), st.sampled_from(["True", "''", "'ß'", "[]", "0.5"]))
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(
            "({} {} {})".format,
            inner,
            st.sampled_from(
                ["+", "-", "*", "/", "//", "%", "**", "&", "|", "<<", "and", "or", "<", "==", "in"]
            ),
            inner,
        ),
        st.builds("{}({}, {})".format, names, inner, inner),
        st.builds("[{} for c in {} if {}]".format, inner, inner, inner),
        st.builds("{}[{}:{}]".format, names, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("{} \\\n  + {}".format, inner, inner),
    ),
    max_leaves=12,
)


@given(expressions, expressions)
@settings(max_examples=60, deadline=None)
def test_whatever_the_code_every_mutant_parses_and_differs(condition: str, value: str) -> None:
    code = f"def f(a, bé, c) -> int:\n    if {condition}:\n        a += {value}\n    return {value}\n"
    found: tuple[Mutation, ...] = mutations(code)
    assert found
    for each in found:
        assert ast.dump(ast.parse(each.code)) != ast.dump(ast.parse(code))
