"""The literals in which runs differ become parameters; the function does for each run what the run did."""

from __future__ import annotations

import ast
import inspect
import io
import typing
from contextlib import redirect_stdout
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.history.annotations import NoFunctionError
from alita_mcp.runs.history.function import RunFunction, function_of
from tests.runs.runs import ran


def executed(code: str, arguments: dict[str, Any] | None = None) -> RecordedRun:
    """A run of code as `run_code` records it, for plain code."""
    names: dict[str, Any] = {"__name__": "__main__", **(arguments or {})}
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    try:
        with redirect_stdout(printed):
            exec(compile(tree, "code", "exec"), names)  # the tests' own lines
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "code", "eval"), names)
    except ValueError:
        return ran(code, arguments=arguments or {}, status="error", error_type="ValueError")
    value = names.get("result") if value is None else value
    return ran(code, value, arguments=arguments or {}, stdout=printed.getvalue())


def check(found: RunFunction, name: str = "made_tool") -> None:
    """Calls the function with the arguments of each run."""
    names: dict[str, Any] = {}
    exec(found.code, names)
    for call in found.calls:
        if call.raises:
            with pytest.raises(ValueError, match="negative"):
                names[name](**call.arguments)
        else:
            assert names[name](**call.arguments) == call.expected


PROGRAMS = {
    "a list and a number": (
        "prices = {}\nrate = {}\n[round(price * (1 - rate), 2) for price in prices]",
        [([10.0, 20.0], 0.5), ([3.5], 0.1), ([8.0, 1.25], 0.25)],
        "(prices: list[float], rate: float) -> list[float]",
    ),
    "a text twice": (
        "word = {0!r}\nother = {0!r}\n(word + other).upper()",
        [("ab",), ("c",)],
        "(word: str) -> str",
    ),
    "two truths that vary alike": (
        "flags = ({0}, {0})\nlen([flag for flag in flags if flag])",
        [(True,), (False,)],
        "(value_1: bool, value_2: bool) -> int",
    ),
    "None and a number": (
        "limit = {}\n[1, 2, 3][:limit]",
        [(None,), (1,), (2,)],
        "(limit: int | None = None) -> list[int]",
    ),
    "a whole number and a decimal": ("n = {}\nn * 2.0", [(1,), (2.5,)], "(n: float) -> float"),
    "a call of its own function": (
        "def total(numbers, start=0):\n    return sum(numbers) + start\ntotal({}, start={})",
        [([1, 2], 1), ([3], 5)],
        "(numbers: list[int], start: int) -> int",
    ),
    "a variable that is bound again": (
        "count = {}\ncount += 1\ncount",
        [(1,), (5,)],
        "(count_value: int) -> int",
    ),
    "a constant in capitals": ("RATE = {}\nRATE * 2", [(1,), (5,)], "(rate: int) -> int"),
    "a piece of an f-string": (
        "import math\nf'{{math.floor(2.5)}} {} {{1:.{}f}}'",
        [("EUR", 1), ("USD", 2)],
        "(value_1: str, value_2: str) -> str",
    ),
    "a record": (
        "text = {!r}\nresult = {{'text': text, 'size': len(text), 'words': text.split()}}",
        [("a b",), ("c",)],
        "(text: str) -> dict",
    ),
    "a record with a key that may be missing": (
        "n = {}\n{{'n': n, 'word': 'a'}} if n > 1 else {{'n': n, 'word': 'b', 'more': [1]}}",
        [(1,), (2,)],
        "(n: int) -> dict",
    ),
    "nested lists": (
        "rows = {}\n[sum(row) for row in rows]",
        [([[1], [2]],), ([[3, 4]],)],
        "(rows: list[list[int]]) -> list[int]",
    ),
    "a result and a last print": (
        "n = {}\nresult = n * 2\nprint(result)",
        [(1,), (2,)],
        "(n: int) -> int",
    ),
    "a last expression beside a result": (
        "n = {}\nresult = n\nmax(n, 2)",
        [(1,), (5,)],
        "(n: int) -> int",
    ),
    "a global": (
        "seen = 0\ndef look(n):\n    global seen\n    seen += n\nfor n in {}:\n    look(n)\nseen",
        [([1, 2],), ([5],)],
        "(n_values: list[int]) -> int",
    ),
    "a class": (
        "class Item:\n    price = {}\n    def twice(self):\n        return self.price * {}\nItem().twice()",
        [(1, 2), (3, 4)],
        "(price_value: int, value_1: int) -> int",
    ),
}


@pytest.mark.parametrize(("code", "values", "signature"), PROGRAMS.values(), ids=PROGRAMS)
def test_what_varies_is_a_parameter(code: str, values: list[tuple[Any, ...]], signature: str) -> None:
    found = function_of([executed(code.format(*each)) for each in values], "made_tool")
    assert found.signature == signature
    assert len(found.calls) == len(values)
    assert len(found.varied) == signature.partition(") ->")[0].count(":")
    check(found)


def test_what_the_program_prints_is_its_result_where_it_has_none() -> None:
    code = "import json\ndef show(n):\n    print(json.dumps([n]))\nif __name__ == '__main__':\n    show({})"
    found = function_of([executed(code.format(n)) for n in (1, 2)], "made_tool")
    assert found.signature == "(n: int) -> str"
    assert [call.expected for call in found.calls] == ["[1]\n", "[2]\n"]
    check(found)


def test_arguments_are_parameters_and_runs_of_one_code_need_no_literal() -> None:
    runs = [executed("sum(numbers) * 2", {"numbers": each, "unread": 1}) for each in ([1], [2, 3])]
    found = function_of(runs, "made_tool")
    assert (found.signature, found.varied) == ("(numbers: list[int]) -> int", ("numbers",))
    check(found)


def test_an_error_about_the_input_is_an_example_and_other_failures_are_none() -> None:
    code = "n = {}\nif n < 0: raise ValueError('negative')\nn * 2"
    runs = [executed(code.format(n)) for n in (1, -1, 2)]
    lost = ran(code.format(9), status="error", error_type="NameError")
    stopped = ran(code.format(9), status="timeout")
    found = function_of([*runs, lost, stopped], "made_tool")
    assert [call.raises for call in found.calls] == [None, "ValueError", None]
    check(found)


def test_code_that_awaits_becomes_an_asynchronous_function() -> None:
    code = "import asyncio\nawait asyncio.sleep(0, {})"
    found = function_of([ran(code.format(n), n) for n in (1, 2)], "made_tool")
    assert "async def made_tool(value_1: int) -> int:" in found.code


def test_the_description_is_its_docstring() -> None:
    found = function_of(
        [executed(f"n = {n}\nn * 2") for n in (1, 2)], "made_tool", "Doubles a number.\nTwice."
    )
    names: dict[str, Any] = {}
    exec(found.code, names)
    said = inspect.getdoc(names["made_tool"])
    assert said is not None
    assert said.startswith("Doubles a number.\n\nArgs:\n    n: A whole number.")
    assert typing.get_type_hints(names["made_tool"]) == {"n": int, "return": int}


REFUSED = {
    "nothing varies": ([ran("2 * 3", 6), ran("2 * 3", 6)], "nothing varies"),
    "other programs": ([ran("a = 1\na", 1), ran("b = 1\nb", 1)], "in more than literals"),
    "broken": ([ran("a = (", 1)], "does not parse"),
    "types": ([ran("a = 1\na", 1), ran("a = 'x'\na", 1)], "a: int and str are mixed"),
    "types in a list": ([ran("a = [1, 'x']\na", 1), ran("a = [2]\na", 1)], "int and str are mixed"),
    "None in a list": ([ran("a = [1, None]\na", 1), ran("a = [2]\na", 1)], "None inside a value"),
    "empty lists": ([ran("f([])", 1, arguments={"f": []}), ran("f([])", 1, arguments={"f": []})], "empty lists"),
    "an argument of some": ([ran("n", 1, arguments={"n": 1}), ran("n", 1)], "n was given to only some"),
    "input": ([ran("int(input()) + 1", 1), ran("int(input()) + 2", 2)], "it reads input()"),
    "library tools": ([ran("from alita_tools import a\na(1)", 1)], "tools of the library"),
    "no result": ([ran("a = 1"), ran("a = 2")], "printed nothing"),
    "a repr": ([ran("a", "<x>", result_kind="repr", arguments={"a": 1})], "not JSON"),
    "a part": ([ran("a", "<x>", result_kind="cut", arguments={"a": 1})], "too large"),
    "cut output": ([ran("a", None, stdout="x" * 70_000, arguments={"a": 1})], "more than is kept"),
    "two results": ([ran(f"n = {n}\nn", result) for n, result in ((1, 1), (1, 2), (2, 2))], "different results"),
    "many": ([ran(f"({', '.join(str(n + m) for m in range(0, 44, 2))})", 1) for n in (1, 2)], "at most 20"),
}  # fmt: skip


@pytest.mark.parametrize(("runs", "why"), REFUSED.values(), ids=REFUSED)
def test_runs_that_are_no_function_say_why(runs: list[RecordedRun], why: str) -> None:
    with pytest.raises(NoFunctionError, match=why.replace("(", r"\(").replace(")", r"\)")):
        function_of(runs, "made_tool")


LITERALS = st.one_of(st.text(max_size=8), st.integers(-99, 99), st.booleans(), st.floats(-9, 9))


@given(LITERALS.flatmap(lambda one: st.lists(st.from_type(type(one)), min_size=2, max_size=4)))
def test_any_texts_numbers_and_truths_come_out_as_they_went_in(values: list[Any]) -> None:
    code = "thing = {!r}\nalso = [thing, thing]\nresult = also"
    if not all(isinstance(each, str | bool) or abs(each) < 1 << 53 for each in values):  # nor are NaN
        return
    if len(set(map(repr, values))) == 1:
        return
    found = function_of([executed(code.format(each)) for each in values], "made_tool")
    assert found.varied == ("thing",)
    check(found)
