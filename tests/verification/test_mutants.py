"""Mutants of a tool's code: each is one small mistake that an example could notice, the same ones every time."""

from __future__ import annotations

import ast
import time

import pytest

from alita_mcp.verification.findings import ContractError
from alita_mcp.verification.mutation.mutants import MAX_MUTANTS, MAX_TABLE_MUTANTS, mutants_of


def changes(code: str, function: str = "f", limit: int = 1_000) -> set[tuple[str, str]]:
    return {(mutant.was, mutant.now) for mutant in mutants_of(code, function, limit)}


def body(*lines: str, head: str = "def f(a: int, b: int) -> int:") -> str:
    return "\n".join([head, *(f"    {line}" for line in lines)]) + "\n"


@pytest.mark.parametrize(
    ("line", "was", "now"),
    [
        ("return a + b", "a + b", "a - b"),
        ("return a // b", "a // b", "a / b"),
        ("return a % b", "a % b", "a // b"),
        ("return a < b", "a < b", "a <= b"),
        ("return a < b", "a < b", "a >= b"),
        ("return a == b", "a == b", "a != b"),
        ("return a in b", "a in b", "a not in b"),
        ("return a and b", "a and b", "a or b"),
        ("return a and b", "a and b", "a"),
        ("return not a", "not a", "a"),
        ("return -a", "-a", "a"),
        ("return a + 7", "7", "8"),
        ("return a + 7", "7", "6"),
        ("return a * 0", "0", "-1"),
        ("return a * 1.5", "1.5", "2.5"),
        ("return a > 4_000", "4000", "0"),
        ("return 'x' * a", "'x'", "''"),
        ("return g(a, True)", "True", "False"),
        ("return a + 'px'", "a + 'px'", "a"),
        ("return a if b else 3", "a if b else 3", "a"),
        ("return a if b else 3", "a if b else 3", "3"),
        ("return a", "return a", "return 0"),
        ("return max(a, b)", "max(a, b)", "min(a, b)"),
        ("return pow(a, b)", "pow(a, b)", "pow(b, a)"),
        ("return abs(a)", "abs(a)", "a"),
        ("return a.strip()", "a.strip()", "a"),
        ("return sum(range(a))", "range(a)", "range(a - 1)"),
        ("return a[1:b]", "1:b", ":b"),
        ("return a[1:b]", "1:b", "1:"),
        ("return a[1:b]", "1:b", "1:b + 1"),
        ("return a[::2]", "::2", ":"),
        ("return [x for x in a if x]", "for x in a if x", "for x in a"),
    ],
)
def test_each_kind_of_mistake_is_made(line: str, was: str, now: str) -> None:
    assert (was, now) in changes(body(line))


@pytest.mark.parametrize(
    ("lines", "was", "now"),
    [
        (["if a > b:", "    a = 2", "return a"], "if a > b", "if True"),
        (["if a > b:", "    a = 2", "return a"], "if a > b", "if False"),
        (["a = 1", "a = b", "return a"], "a = b", "pass"),
        (["a += b", "return a"], "a += b", "a -= b"),
        (["a += b", "return a"], "a += b", "a = b"),
        (["a += b", "return a"], "a += b", "pass"),
        (["b.sort()", "return b"], "b.sort()", "pass"),
        (["while a:", "    a -= 1", "return a"], "while a", "pass"),
        (["for x in a:", "    b += x", "return b"], "for x in a", "pass"),
        (["for x in a:", "    if x:", "        break", "    b += 1", "return b"], "break", "pass"),
        (["for x in a:", "    if x:", "        continue", "    b += 1", "return b"], "continue", "break"),
        (["if a:", "    raise ValueError(a)", "return b"], "raise ValueError(a)", "pass"),
        (["assert a", "return b"], "assert a", "pass"),
        (["del b[0]", "return b"], "del b[0]", "pass"),
    ],
)
def test_statements_are_removed_and_conditions_decided(lines: list[str], was: str, now: str) -> None:
    assert (was, now) in changes(body(*lines))


def test_what_no_example_can_notice_is_left_alone() -> None:
    code = '''
from __future__ import annotations
import math as m
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from x import y
__all__ = ["f", "g"]
def f(a: "Literal[1, 2]") -> int:
    """Text with 1 + 1."""
    print("heard", 1 + 2)
    "bare"
    if a < 0:
        raise ValueError(f"{a + 5} is below " + "zero")
    return a
def never(a: int) -> int:
    return a + 99
if __name__ == "__main__":
    f(77)
'''
    lines = {mutant.line for mutant in mutants_of(code, "f")}
    assert lines == {12, 13, 14}
    shown = [f"{mutant.was} {mutant.now}" for mutant in mutants_of(code, "f") if "raise" not in mutant.was]
    texts = " ".join(shown)
    assert not any(word in texts for word in ("heard", "zero", "99", "77", "Literal", "bare"))


def test_every_mutant_parses_is_another_program_and_there_is_none_twice() -> None:
    code = body("if a > 1 and b:", "    return a + 2 * b", "return sorted([a, b])[0] - 1")
    mutants = mutants_of(code, "f", 1_000)
    assert len(mutants) > 15
    assert len({ast.dump(ast.parse(mutant.code)) for mutant in mutants}) == len(mutants)
    assert ast.unparse(ast.parse(code)) not in {mutant.code for mutant in mutants}


def test_conditions_and_results_that_are_the_same_are_one() -> None:
    plain = body("while True:", "    a += 1", "    if a > b:", "        return a")
    assert not any("2:" in mutant.code for mutant in mutants_of(plain, "f"))
    assert ("return None", "return 0") not in changes(body("a + b", "return None", head="def f(a, b):"))


def test_the_same_code_gives_the_same_mutants_in_the_same_order() -> None:
    code = body(*[f"a += {n} * b" for n in range(60)], "return a")
    first = mutants_of(code, "f")
    assert first == mutants_of(code, "f")
    assert len(first) == MAX_MUTANTS
    assert len({mutant.line for mutant in first}) > 55  # each line has its turn before one has its second


def test_a_table_of_constants_does_not_outweigh_the_code() -> None:
    table = ", ".join(f"'k{n}': {n}" for n in range(2, 400))
    code = f"TABLE = {{{table}}}\n" + body("return TABLE[a] + b")
    mutants = mutants_of(code, "f", 1_000)
    assert sum(mutant.line == 1 for mutant in mutants) == MAX_TABLE_MUTANTS
    assert any(mutant.line == 3 for mutant in mutants)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "return " + " or ".join(["a"] * 7_000),
        "return a" + " < b" * 7_000,
        "return g(" + ", ".join(["a"] * 7_000) + ")",
        "return [" + "1," * 7_000 + "]",
        "return " + "9" * 4_000 + " + a",
        "x = " + "(" * 80 + "a" + ")" * 80,
    ],
    ids=["or", "compare", "arguments", "table", "digits", "nested"],
)
@pytest.mark.sample(3)
def test_hostile_code_costs_little(line: str) -> None:
    started = time.process_time()
    assert len(mutants_of(body(line), "f")) <= MAX_MUTANTS
    assert time.process_time() - started < 60


def test_blocks_that_the_compiler_would_double_again_and_again_are_not_compiled() -> None:
    code, indent = "def f(a):\n", "    "
    for depth in range(18):
        pad = indent * (depth + 1)
        code += f"{pad}try:\n{pad}    a += 1\n{pad}finally:\n"
    code += f"{indent * 19}a += 2\n    return a\n"
    assert mutants_of(code, "f", 10)


def test_code_that_does_not_parse_is_refused() -> None:
    with pytest.raises(ContractError):
        mutants_of("def f(:", "f")
