# ruff: noqa: E501 - tables of programs read best a line each
from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.mining.generalisation.generalise import generalise
from alita_mcp.mining.values import GeneralFunction, NotGeneral
from alita_mcp.runs.recorded_run import RecordedRun
from tests.mining.recording import called, recorded


def made(*codes: str, name: str = "", description: str = "") -> GeneralFunction:
    function = generalise([recorded(code) for code in codes], name, description)
    assert isinstance(function, GeneralFunction), function.why
    for call in function.calls:
        wanted = ("raises", call.raises) if call.raises else ("expected", call.expected)
        assert called(function.code, function.name, call.arguments) == wanted
    return function


def refused(*codes: str, **arguments: Any) -> str:
    verdict = generalise([recorded(code, **arguments) for code in codes])
    assert isinstance(verdict, NotGeneral), verdict.code
    return verdict.why


def signature(function: GeneralFunction) -> str:
    return function.signature.partition("(")[2]


class TestOneRun:
    def test_arguments_are_parameters_and_unused_ones_are_dropped(self) -> None:
        run = recorded("sorted(xs)[:k]", xs=[3, 1], k=1, other=[])
        function = generalise([run], "smallest")
        assert isinstance(function, GeneralFunction)
        assert function.signature == "smallest(xs: list[int], k: int) -> list[int]"
        assert function.calls[0].as_json() == {"arguments": {"xs": [3, 1], "k": 1}, "expected": [1]}

    def test_constants_of_the_top_level_are_parameters_each_its_own(self) -> None:
        function = made("LIMIT = 5\nwidth = 5\ntotal = 0\ntotal += LIMIT * width\ntotal")
        assert signature(function) == "LIMIT: int, width: int) -> int"

    def test_a_constant_wins_over_an_argument_of_its_name(self) -> None:
        function = generalise([recorded("n = 2\nn * k", n=9, k=3)])
        assert isinstance(function, GeneralFunction)
        assert function.calls[0].arguments == {"n": 2, "k": 3}

    @pytest.mark.parametrize(
        "unfit", ["x = None", "x = [1, 'a']", "x = []", "x = {}", "x = b'a'", "x = 1e999", "x = {1: 2}"]
    )
    def test_constants_without_a_type_stay_in_the_code(self, unfit: str) -> None:
        function = made(f"{unfit}\nn = 3\nstr(x) + str(n)")
        assert signature(function) == "n: int) -> str"

    def test_input_is_a_text_named_after_its_variable(self) -> None:
        run = recorded("name = input('Who? ')\nn = int(input())\nprint(name * n)", input=["ab", "2"])
        function = generalise([run])
        assert isinstance(function, GeneralFunction)
        assert signature(function) == "name: str, n: str) -> str"
        assert called(function.code, function.name, {"name": "x", "n": "3"}) == ("expected", "xxx\n")

    def test_input_without_a_variable_of_its_own_is_a_line(self) -> None:
        run = recorded("a, b = input(), input()\nx = input() + a\nx = x + b + input()\nx", input="1\n2\n3\n4")
        function = generalise([run])
        assert isinstance(function, GeneralFunction)
        assert signature(function) == "line_1: str, line_2: str, x: str, line_4: str) -> str"
        assert called(function.code, function.name, function.calls[0].arguments) == ("expected", "3124")

    @pytest.mark.parametrize(
        "code",
        [
            "rows = [input() for _ in range(2)]\nrows",
            "def ask():\n    return input('?')\n[ask(), ask()]",
            "lines = list(iter(input, 'b'))\n[*lines, 'b']",
        ],
    )
    def test_input_that_is_read_many_times_is_a_list_of_lines(self, code: str) -> None:
        function = generalise([recorded(code, input=["a", "b"])])
        assert isinstance(function, GeneralFunction)
        [parameter] = function.parameters
        assert parameter.annotation == "list[str]"
        assert called(function.code, function.name, {parameter.name: ["a", "b"]}) == ("expected", ["a", "b"])
        assert called(function.code, function.name, {parameter.name: []}) == ("raises", "EOFError")

    def test_nothing_that_varies_is_no_function(self) -> None:
        verdict = generalise([recorded("1 + 1")])
        assert isinstance(verdict, NotGeneral)
        assert not verdict.writable
        assert "nothing in it varies" in verdict.why


class TestSeveralRuns:
    def test_names_imports_helpers_comments_docstrings_and_annotations_may_differ(self) -> None:
        function = made(
            "import re\nimport json\n\ndef first(text):\n    '''Doc.'''\n    return re.findall('a', text)\n"
            "def second(x: str) -> str:\n    return json.dumps(first(x))\nword = 'aab'\nsecond(word)\n",
            "import json, re\ndef b(y):\n    return json.dumps(a(y))\nunused = lambda: 1\n".replace(
                "unused = lambda: 1\n", ""
            )
            + "def never():\n    return 0\ndef a(t: str):\n    # comment\n    return re.findall('a', t)\nw: str = 'xa'\nb(w)\n",
        )
        assert signature(function) == "word: str) -> str"
        assert "_first" in function.code
        assert "_second" in function.code

    def test_equal_constants_stay_and_the_same_difference_is_one_parameter(self) -> None:
        function = made("n = 3\n[n * 10, 3, 7]", "n = 4\n[n * 10, 4, 7]")
        assert signature(function) == "n: int) -> list[int]"
        assert "[n * 10, n, 7]" in function.code

    @pytest.mark.parametrize(
        ("one", "other", "expected"),
        [
            ("open_ = dict(sep=',')\nopen_['sep']", "open_ = dict(sep=';')\nopen_['sep']", "sep: str) -> str"),
            ("x = {'a b': 1, 'k': [2].copy()}\nx['a b']", "x = {'a b': 3, 'k': [2].copy()}\nx['a b']", "a_b: int) -> int"),
            ("sum(x for x in [1, 2])", "sum(x for x in [4])", "x_values: list[int]) -> int"),
            ("def f(a, n=1, *, k=2):\n    return a + n + k\nf(1)", "def f(a, n=3, *, k=4):\n    return a + n + k\nf(1)", "n: int, k: int) -> int"),
            ("len('a') + abs(-3)", "len('bb') + abs(4)", "value_1: str, value_2: int) -> int"),
            ("print(max=3) if 0 else 'a'", "print(max=4) if 0 else 'b'", "max_value: int, value_1: str) -> str"),
            ("x = None\nx is None", "x = 5\nx is None", "x: int | None) -> bool"),
        ],
    )  # fmt: skip
    def test_parameters_have_the_names_that_the_program_uses(
        self, one: str, other: str, expected: str
    ) -> None:
        assert signature(made(one, other)) == expected

    def test_none_is_an_argument_left_out(self) -> None:
        function = made(
            "x = None\ny = 'a'\n[x is None, len(y) > 1]", "x = 5\ny = 'bb'\n[x is None, len(y) > 1]"
        )
        assert signature(function) == "y: str, x: int | None) -> list[bool]"
        assert function.calls[0].arguments == {"y": "a"}

    @pytest.mark.parametrize(
        ("one", "other", "why"),
        [
            ("x = 1\ny = 2\nx - y", "x = 1\ny = 3\ny - x", "not the same name"),
            ("a = 1\nb = 2\na - b", "a = 1\na = 3\na - a", "not the same name"),
            ("def f(a, b):\n    return a - b\nf(a=1, b=2)", "def f(b, a):\n    return b - a\nf(a=1, b=3)", "not the same name"),
            ("x = 1\nx", "x = 1\nprint(2)\nx", "more statements"),
            ("x = 1\nx + 1", "x = 2\nx - 1", "Add and Sub"),
            ("import math\nmath.floor(1.5)", "import math\nmath.ceil(2.5)", "ceil and floor"),
            ("from math import floor as f\nf(1.5)", "from math import ceil as f\nf(2.5)", "not imported from the same"),
            ("def f(): return 1\nf() + 1", "f = lambda: 1\nf() + 2", "statements"),
            ("def f(a): return 1\nf(1) + 1", "def f(*a): return 1\nf(1) + 2", "different parameters"),
            ("match 3:\n    case 3: result = 1", "match 4:\n    case 4: result = 1", "patterns"),
            ("class P:\n    x: 'int' = 1\nP.x + 1", "class P:\n    x: 'str' = 1\nP.x + 2", "annotations"),
            ("x = b'a'\nlen(x)", "x = b'bb'\nlen(x)", "stand at the same place"),
            ("x = 1\nx", "x = 'a'\nx", "int and str are mixed"),
            ("x = [1]\nlen(x)", "x = [None, 2]\nlen(x)", "null inside a value"),
            ("x = {'a': 1, 1: 2}\nlen(x)", "x = {'a': 1, 2: 2, 3: 4}\nlen(x)", "more statements or parts"),
            ("x = {**{'a': 1}}\nlen(x)", "x = {'b': {'a': 1}}\nlen(x)", "dicts are made of other parts"),
            ("def f():\n    return\nx = f()\n3", "def f():\n    return 1\nx = f()\n4", "missing in another"),
            ("def f():\n    global a\n    a = 1\nf()\na", "def f():\n    global a, b\n    a = 2\nf()\na", "different names"),
            ("x = (1, 'a')\nlen(x)", "x = (2, 'b', 3)\nlen(x)", "are mixed"),
            ("match [1]:\n    case list(): result = 1\nresult", "match [1]:\n    case [*_]: result = 2\nresult", "MatchClass"),
            ("x = 1\nx + y", "x = 2\nx + y", "it reads y"),
            ("; ".join(f"a{n} = {n}" for n in range(30)) + "\na1", "; ".join(f"a{n} = {n + 1}" for n in range(30)) + "\na1", "30 values vary"),
        ],
    )  # fmt: skip
    def test_other_differences_are_refused_with_the_reason(self, one: str, other: str, why: str) -> None:
        runs = [recorded(code, y=1) if why == "never" else recorded(code) for code in (one, other)]
        runs = [run.model_copy(update={"status": "ok", "result": 1, "result_kind": "json"}) for run in runs]
        verdict = generalise(runs)
        assert isinstance(verdict, NotGeneral), verdict.code
        assert why in verdict.why

    def test_an_argument_that_some_runs_lack_is_refused(self) -> None:
        runs = [recorded("k + 1", k=1), recorded("k + 1", k=1).model_copy(update={"arguments": {}})]
        verdict = generalise(runs)
        assert isinstance(verdict, NotGeneral)

    def test_the_same_call_is_kept_once_and_other_results_for_it_are_refused(self) -> None:
        runs = [recorded("k + 1", k=k) for k in (1, 2, 1)]
        function = generalise(runs)
        assert isinstance(function, GeneralFunction)
        assert [call.expected for call in function.calls] == [2, 3]
        verdict = generalise([*runs, runs[0].model_copy(update={"result": 9})])
        assert isinstance(verdict, NotGeneral)
        assert "chance, the clock" in verdict.why

    def test_errors_of_the_script_are_examples_and_broken_or_timed_out_runs_are_not(self) -> None:
        code = "10 // k"
        runs = [recorded(code, k=0), recorded(code, k=5)]
        late = runs[1].model_copy(
            update={"status": "timeout", "error_type": "TimeoutError", "arguments": {"k": 7}}
        )
        typo = recorded("10 // q", k=3)
        function = generalise([*runs, late, typo])
        assert isinstance(function, GeneralFunction)
        assert [call.as_json() for call in function.calls] == [
            {"arguments": {"k": 5}, "expected": 2},
            {"arguments": {"k": 0}, "raises": "ZeroDivisionError"},
        ]
        assert isinstance(generalise([late]), NotGeneral)

    def test_a_failed_run_of_another_program_does_not_stand_in_the_way(self) -> None:
        function = generalise([recorded("[1][k + 5]", k=3), recorded("[1][k]", k=0)])
        assert isinstance(function, GeneralFunction)
        assert len(function.calls) == 1


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("n = 3\neval('n')", "eval"),
        ("n = 3\nglobals()['n']", "globals"),
        ("n = 3\nlen(dir())", "dir()"),
        ("n = 3\nfrom math import *\nfloor(n)", "import *"),
        ("n = 3\nimport sys\nlen(sys.argv) + n", "sys.argv"),
        ("n = 3\nimport sys as s\nlen(s.argv) + n", "from sys"),
        ("n = 3\nimport argparse\nargparse.ArgumentParser()\nn", "command line"),
        ("n = 3\ndef f(): pass\nimport pickle\nf()\npickle.loads(pickle.dumps(n))", "by name"),
        ("n = 3\nfrom . import x\nx\nn", "own folder"),
        ("n = 3\nfrom alita_tools import convert\nconvert(n)", "tools of the library"),
        ("n = 3\ndisplay(n)", "figures"),
        ("n = 3\nclass A:\n    n = n\nA.n", "reads and binds"),
        (
            "n = 3\ndef f(n):\n    def g():\n        global n\n        n = 4\n    g()\nf(n)\nn",
            "local around it",
        ),
        ("n = 3\nclass A: pass\nA.__qualname__ * n", "__qualname__"),
        (
            "n = 3\nclass F:\n    def query(self, text): return text\nF().query('x > @n') * n",
            "a text names variables",
        ),
        ("n = 3\nfrom __future__ import annotations\nannotations = n\nn", "__future__"),
        ("n = 3\n__file__\nn", "__file__"),
        (
            "n = 3\nimport logging, sys\nlogging.basicConfig(stream=sys.stdout)\nn",
            "logs of the whole process",
        ),
        ("n = (", "does not parse"),
        ("n = 3\nx = n", "no variable named result"),
        ("copy = 3\nx = []\nfor i in range(copy):\n    x.append(i)\nio = 1\nprint(io)", "binds the name io"),
    ],
)
def test_programs_that_would_do_otherwise_in_a_function_are_refused(code: str, why: str) -> None:
    run = recorded("1").model_copy(update={"code": code, "result": 1, "result_kind": "json"})
    if "print" in code:
        run = recorded(code)
    verdict = generalise([run])
    assert isinstance(verdict, NotGeneral), verdict.code
    assert why in verdict.why


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        ({"result": "{1, 2}", "result_kind": "repr"}, "no JSON"),
        ({}, "printed nothing"),
        ({"stdout": "<object at 0x7f00aa>"}, "as Python does"),
        ({"result": [1, "a"], "result_kind": "json"}, "mixed"),
        ({"result": [], "result_kind": "json"}, "only empty lists"),
        ({"result": {}, "result_kind": "json"}, "only empty objects"),
        ({"result": [[[[1]]]], "result_kind": "json"}, "too deeply"),
        ({"result": {"a b": 1, "c": "x"}, "result_kind": "json"}, "keys that are names"),
    ],
)
def test_results_that_no_tool_returns_are_refused(seen: dict[str, Any], why: str) -> None:
    run = RecordedRun(id="0" * 32, at="2026-01-01T00:00:00Z", code="n = 3\nn", **seen)
    verdict = generalise([run])
    assert isinstance(verdict, NotGeneral)
    assert why in verdict.why


def test_what_input_gave_must_be_known_and_prompts_not_part_of_the_output() -> None:
    assert "not known" in refused("n = 1\nx = 2 if n else input()\nx")
    run = recorded("x = input('Name? ')\nprint(x)", input=["a"])
    assert isinstance(generalise([run.model_copy(update={"stdout": "Name? a\n"})]), NotGeneral)
    short = run.model_copy(update={"arguments": {"input": []}})
    assert isinstance(generalise([short]), NotGeneral)


@pytest.mark.parametrize("name", ["class", "max", "k", "_x", "x"])
def test_arguments_that_python_would_read_otherwise_are_refused_or_kept(name: str) -> None:
    code = f"[{name}, {name}]" if name != "class" else "n = 1\nn"
    verdict = generalise([recorded(code, **{name: 1})])
    assert isinstance(verdict, NotGeneral) == (name == "max")


@pytest.mark.parametrize(
    ("code", "wanted", "expected"),
    [
        ("n = 3\nn", "double_it", "double_it"),
        ("n = 3\nn", "Double It!", "double_it"),
        ("n = 3\nn", "sorted", "computed_value"),
        ("n = 3\nn", "run_tool", "computed_value"),
        ("n = 3\ndef area_of(x):\n    return x\narea_of(n)", "", "area_of"),
        ("n = 3\nrow_count = n + 1\nrow_count", "", "row_count"),
        ("n = 3\nrow_count = n + 1\nprint(row_count)", "", "row_count"),
        ("n = 'a b'\nn.upper().split()", "", "split_upper"),
    ],
)
def test_the_name_is_the_wanted_one_or_a_word_of_the_program(code: str, wanted: str, expected: str) -> None:
    assert made(code, name=wanted).name == expected


def test_the_docstring_shows_short_values_and_none_that_look_private() -> None:
    function = made(
        "path = 'a.csv'\nmail = 'ann@example.org'\nphone = '5551234567'\nn = 3\nsizes = [1, 2]\non = True\n"
        "rate = 0.5\nrows = [{'a': 1, 'b': 'x'}]\n[path, mail, phone, str(n), str(sizes), str(on), str(rate), str(rows)]",
        description='Joins "all" \\ of it.\nMore.',
    )
    docstring = ast.get_docstring(ast.parse(function.code).body[-1])  # type: ignore[arg-type]
    assert docstring is not None
    assert docstring.startswith("Joins \"all\" \\ of it.\n\nArgs:\n    path: A text, as in `'a.csv'`.")
    assert "example.org" not in function.code
    assert "5551234567" not in function.code
    assert "sizes: A list, as in `[1, 2]`." in docstring


def test_helpers_that_need_variables_stay_inside_and_others_become_private_functions() -> None:
    function = made(
        "UNIT = 'km'\ndef plain(x):\n    return x + 1\ndef label(x):\n    return f'{plain(x)} {UNIT}'\nlabel(2)"
    )
    tree = ast.parse(function.code)
    assert [each.name for each in tree.body if isinstance(each, ast.FunctionDef)] == ["_plain", function.name]


def test_what_a_function_keeps_on_itself_is_forgotten_between_calls() -> None:
    function = made("n = 3\ndef f():\n    f.k = getattr(f, 'k', 0) + 1\n    return f.k\nf()\nf() + n")
    namespace: dict[str, Any] = {}
    exec(function.code, namespace)
    assert [namespace[function.name](3) for _ in range(2)] == [5, 5]


def test_a_variable_that_a_function_sets_before_its_assignment_is_no_parameter() -> None:
    code = "def setup():\n    global n\n    n = 9\nsetup()\nn = {n}\nn + 1"
    assert signature(made(code.format(n=5), code.format(n=6))) == "n_value: int) -> int"


def test_constants_that_helpers_use_stand_at_the_top_when_they_do_not_vary() -> None:
    function = made(
        "RATE = 2\nOTHER = 1\ndef f(x):\n    return x * RATE\nf(3) + OTHER",
        "RATE = 2\nOTHER = 1\ndef f(x):\n    return x * RATE\nf(4) + OTHER",
    )
    assert function.code.startswith("RATE = 2\n\n\ndef _f(x):")


@pytest.mark.parametrize(
    "code",
    [
        "x = 3\nresult = x\nprint('hi', x)",
        "x = 3\nresult = x\n{}.get(x)",
        "import random, os.path, os\nn = 3\ndef f(x):\n    return f.__name__ * x\nf(n) + os.path.join('a', os.sep)",
        "_printed = 3\nprint(_printed)",
        "from __future__ import annotations\nn = 3\nn",
        "import io\nn = 'x'\nprint(io.StringIO(n).read())",
        "n = 3\nasync def f():\n    return n\nasync def g():\n    yield await f()\n[x async for x in g()]",
        "n = 3\nimport contextlib\nasync def f():\n    return n\nx = [await f() for _ in range(2)]\nx",
        "n = 3\ntry:\n    x\nexcept NameError:\n    x = n\nx",
        "n = 3\nfor result in range(n): pass",
        "n = 3\nimport math\nmath = n\nmath",
        "größe = 3\ngröße + 1",
        "n = 3\ndef f(x, /, y=2, *a, k=1, **o) -> int:\n    v: int = x\n    w: int\n    return v + y + k\nf(n)",
        "n = 3\nclass E(ValueError): 'Doc.'\nclass F(E):\n    'Doc.'\n    code = 1\ndef f(x):\n    if x > 2: raise F('a')\ntry:\n    f(n)\nexcept F as e:\n    y = str(e)\ny",
        "n = [1]\nx = lambda: n\nm: list[int]\nx()",
        "n = 3\nmatch {'a': [1, 2], 'b': n}:\n    case {'a': [first, *others], **rest} as whole:\n        pass\n[first, *others, *rest.values(), len(whole)]",
        "n = 3\nglobal q\nq = n\nq",
        "n = 3\ndef f():\n    global result\n    result = n\nf()",
    ],
)  # fmt: skip
def test_one_run_of_each_kind_of_program_gives_a_function_that_does_the_same(code: str) -> None:
    assert made(code).parameters


def test_results_that_are_sometimes_missing_and_keys_that_are_optional_have_types() -> None:
    runs = [recorded(f"k = {k}\n[None, {{'n': 1, 's': 'a'}}, [{{'n': 2}}]][k]") for k in (1, 0)]
    function = generalise(runs)
    assert isinstance(function, GeneralFunction)
    assert function.returns == "_Result | None"
    code = "rows = {rows}\nlen(rows)"
    texts = [
        code.format(rows=rows)
        for rows in ([{"n": 1, "s": "a"}, {"n": 2}], [{"n": 1, "s": "b", "t": [1.5, 2]}])
    ]
    function = made(*texts)
    assert "NotRequired[list[float]]" in function.code
    assert signature(function) == "rows: list[_Rows]) -> int"


def test_code_that_is_nested_too_deeply_is_refused_and_not_a_crash() -> None:
    run = recorded("1").model_copy(update={"code": "x = 1\n" + "-" * 3000 + "x"})
    assert isinstance(generalise([run]), NotGeneral)
    run = recorded("1").model_copy(update={"code": "n = 1\nx = " + "+".join(["n"] * 3000) + "\nx"})
    assert isinstance(generalise([run]), NotGeneral)


def test_tuples_and_sets_inside_lists_and_dicts_are_made_anew() -> None:
    code = "x = {one}\ny = {two}\nz = {three}\nprint(x, y, z)"
    one, two = (
        ("[(1, 2)]", "{'a': (1, {2})}", "((1,), (2,))"),
        ("[(3,), (4, 5)]", "{'b': (7, {8}), 'c': (0, {1})}", "((5, 6),)"),
    )
    verdict = generalise([recorded(code.format(one=a, two="0", three=c)) for a, _, c in (one, two)])
    assert isinstance(verdict, GeneralFunction)
    assert "[tuple(each) for each in x]" in verdict.code
    assert "tuple((tuple(each) for each in z))" in verdict.code
    function = made("x = {'a': (1, 2)}\nprint(x)", "x = {'b': (3,)}\nprint(x)")
    assert "{key: tuple(each) for key, each in x.items()}" in function.code
    assert "mixed" in refused(*(code.format(one="1", two=text, three="1") for text in (one[1], two[1])))
    assert signature(made("n = 1\nx = -True\nx + n")) == "n: int) -> int"


_LITERALS = st.recursive(
    st.one_of(
        st.integers(-999, 999),
        st.text(max_size=3),
        st.booleans(),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.frozensets(st.integers(0, 9), min_size=1, max_size=3).map(set),
        st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(one=_LITERALS, other=_LITERALS)
def test_whatever_two_literals_are_the_function_gives_what_the_programs_gave(
    one: object, other: object
) -> None:
    codes = [f"x = {value!r}\nprint(type(x).__name__, x)\n" for value in (one, other)]
    runs = [recorded(code) for code in codes]
    function = generalise(runs)
    if isinstance(function, GeneralFunction):
        json.dumps([call.as_json() for call in function.calls])
        for call in function.calls:
            assert called(function.code, function.name, call.arguments) == ("expected", call.expected)
