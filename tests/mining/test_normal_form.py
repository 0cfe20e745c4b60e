from __future__ import annotations

import ast
import builtins
import keyword
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.errors import UsageError
from alita_mcp.mining.comparison.normal_form import MAX_FEATURES, normal_form
from alita_mcp.mining.comparison.program_tree import MAX_DEPTH
from tests.mining.drawn_programs import FUNCTIONS, METHODS, NAMES, NUMBERS, Parts, programs, replaced

_TAKEN = {*dir(builtins), *keyword.kwlist, *NAMES, *FUNCTIONS, *METHODS, "math", "text", "k"}
OTHER_NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name not in _TAKEN)
SEVERAL = settings(deadline=None, max_examples=40)


def digest(code: str) -> str:
    return normal_form(code).digest


@SEVERAL
@given(programs(), st.lists(OTHER_NAMES, min_size=13, max_size=13, unique=True))
def test_names_of_variables_and_functions_do_not_count(parts: Parts, names: list[str]) -> None:
    new = dict(zip((*NAMES, *FUNCTIONS), names, strict=True))
    assert normal_form(replaced(parts.text(), new)) == normal_form(parts.text())


@SEVERAL
@given(programs(), st.permutations((0, 1, 2)))
def test_the_order_of_functions_does_not_count(parts: Parts, order: list[int]) -> None:
    assert digest(parts.text(order)) == digest(parts.text())


@given(
    programs(),
    st.lists(st.integers(0, 10**9) | st.floats(0, 9, allow_subnormal=False), min_size=10, max_size=10),
)
def test_constants_do_not_count(parts: Parts, numbers: list[float]) -> None:
    new = dict(zip(NUMBERS, map(str, numbers), strict=True)) | {"text": "quite another text"}
    assert normal_form(replaced(parts.text(), new)) == normal_form(parts.text())


@SEVERAL
@given(programs())
def test_the_layout_does_not_count(parts: Parts) -> None:
    written = "\n# a note\n".join(ast.unparse(ast.parse(parts.text())).split("\n\n"))
    assert normal_form(written) == normal_form(parts.text())


@SEVERAL
@given(programs())
def test_another_method_is_another_program(parts: Parts) -> None:
    code = f"{parts.text()}\nprint((n1).m0())"
    assert digest(code.replace(".m0(", ".other(")) != digest(code)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = [1, 2]\nprint(x)", "y = [4, 5, 6, 7]\nprint(y)"),
        ("x = {'a': [1, (2, 3)]}\nx", "x = {}\nx"),
        ("x = -1\nx", "x = 60 * 60\nx"),
        ("print(f'{x} of 3')", "print(f'total {x}')"),
        ("print(f'{x:>8}')", "print(f'{x:.2f}')"),
        ("print(f'nothing')", "print('else')"),
        ("x[0]", "x[-1]"),
        ("print(a)", "print(somebody_else_sets_it)"),
        ("import numpy as np\nnp.sum(x)", "import numpy\nnumpy.sum(x)"),
        ("import math\nmath.sqrt(x)", "from math import sqrt as root\nimport os\nroot(x)"),
        ("import a.b\na.b.c()", "import a.b as ab\nab.c()"),
        ("open(p, mode='r', newline='')", "open(p, newline='', mode='r')"),
        ("def f(x: int) -> str:\n    'Says.'\n    return x", "def f(x):\n    return x"),
        ("x: list[int] = []\ny: int\nx", "x = []\nx"),
        ("if __name__ == '__main__':\n    print(x)", "print(x)"),
        ("def main():\n    global y\n    y = open(x)\n    return y.read()\nmain()", "y = open(x)\ny.read()"),
        ("def main():\n    print(x)\n    return\nif __name__ == '__main__':\n    main()", "print(x)"),
        ("def f(a, b=1):\n    return a\nf(x, b=2)", "def g(c, d=1):\n    return c\ng(x, d=2)"),
        ("x += 1", "x = x + 1"),
        ("class A:\n    x = 1\n    def f(me): return x", "class A:\n    x = 1\n    def f(me): return y"),
        ("x = 1\npass\nx", "x = 1\nx"),
        ("async def f(x):\n    async for y in x:\n        await y\nawait f(z)",
         "async def g(a):\n    async for b in a:\n        await b\nawait g(c)"),
        ("def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n    return g",
         "def a():\n    m = 0\n    def b():\n        nonlocal m\n        m += 1\n    return b"),
        ("try:\n    f()\nexcept OSError as e:\n    print(e)", "try:\n    f()\nexcept OSError as no:\n    print(no)"),
        ("match x:\n    case {'a': y, **z}:\n        print(y, z)",
         "match a:\n    case {'q': b, **c}:\n        print(b, c)"),
        ("[(y := f(x)) for x in z]\ny", "[(b := f(a)) for a in c]\nb"),
        ("%matplotlib inline\n!pip install x\nprint(x)", "print(x)"),
        ("class A:\n    x: int\n    def f(self):\n        return self.x",
         "class B:\n    x: str\n    def f(me):\n        return me.x"),
    ],
)  # fmt: skip
def test_the_same_program_in_other_words(one: str, other: str) -> None:
    assert normal_form(one).digest == normal_form(other).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x.upper()", "x.lower()"),
        ("len(x)", "sum(x)"),
        ("a - b\na", "b - a\na"),
        ("x = 1", "x = 'a'"),
        ("f(x, y=1)", "f(x, z=1)"),
        ("x[1:]", "x[:1]"),
        ("x is None", "x is 1"),
        ("x[...]", "x[1]"),
        ("x < y", "x <= y"),
        ("{**x}", "{x: x}"),
        ("print(f'{x!r}')", "print(f'{x}')"),
        ("print(f'{x:{y}}')", "print(f'{x:8}')"),
        ("import a\na.x()", "import b\nb.x()"),
        ("def f(*x): return x", "def f(x): return x"),
        ("@f\ndef g(x): return x", "def g(x=f): return x"),
        (
            "def f(x): return x\ndef g(x): return f(x)\ng(1)",
            "def f(x): return x\ndef g(x): return f(x)\nf(1)",
        ),
        ("def f(): return a\nprint(a, b)", "def f(): return b\nprint(a, b)"),
        ("def main(): return x\nmain()\nmain()", "x\nmain()"),
        ("def f(x):\n    global n\n    n = x\nf(1)\nprint(n)", "def f(x):\n    n = x\nf(1)\nprint(n)"),
        (
            "def a(x): return x\ndef b(x): return not x\ndef c(x): return a(b(b(x)))\nc(1)",
            "def a(x): return not x\ndef b(x): return x\ndef c(x): return a(b(b(x)))\nc(1)",
        ),
        ("def main(y): return x\nmain()", "x"),
        ("if __name__ == '__main__':\n    print(x)\nelse:\n    f()", "print(x)"),
        ("class A:\n    def f(self): return 1", "class A:\n    def g(self): return 1"),
        ("class A:\n    x: int", "class A:\n    y: int"),
        ("for x in y:\n    f()\n    break", "for x in y:\n    f()"),
        ("match x:\n    case A(b=c): c", "match x:\n    case A(d=c): c"),
    ],
)
def test_other_programs_have_other_digests(one: str, other: str) -> None:
    assert normal_form(one).digest != normal_form(other).digest


@pytest.mark.parametrize(
    "code",
    [
        "def f(:", "%%bash\nfor x in *; do echo; done", "a\0b", "x = '\ud800'", "x = " + "9" * 5000, "(" * 300,
        "-" * 50_000 + "1", "lambda:" * 9_000 + "1",
        "a" + ".b" * 20_000, "a+" * (MAX_DEPTH + 1) + "a", "if a: b\n" + "elif a: b\n" * 500,
    ],
)  # fmt: skip
def test_what_is_no_program_or_too_deep_is_refused(code: str) -> None:
    with pytest.raises(UsageError):
        normal_form(code)


def test_where_the_caller_stands_deep_already_it_is_refused_too() -> None:
    def descend(levels: int) -> None:
        if levels:
            descend(levels - 1)
        else:
            normal_form("a+" * (MAX_DEPTH - 10) + "a")

    descend(0)
    with pytest.raises(UsageError, match="too deeply"):
        descend(sys.getrecursionlimit() - 250)


@pytest.mark.parametrize(
    "code",
    [
        "x=1\n" * 10_000,
        "def main():\n pass\n" + "main()\n" * 10_000,
        f"x = ({','.join(f'a{index}' for index in range(3000))})\n" + "f(x)\n" * 5_000,
        "\n".join(f"a{index + 1}=a{index}" for index in range(5_000)),
        "\n".join(f"def f{index}(): return f{index - 1}()" for index in range(3000)),
    ],
    ids=["lines", "main", "wide", "aliases", "functions"],
)
def test_large_programs_have_bounded_forms(code: str) -> None:
    assert len(normal_form(code).features) <= MAX_FEATURES


@SEVERAL
@given(programs())
def test_a_form_holds_no_word_of_the_program(parts: Parts) -> None:
    form = normal_form(parts.text() + "\nprint('secret', 4711, private_name.method())")
    assert all(len(feature) == 16 and set(feature) <= set("0123456789abcdef") for feature in form.features)
    assert len(form.digest) == 32


def test_constants_do_not_enter_even_as_hashes() -> None:
    one = normal_form("connect('host', password='hunter2', port=1)")
    assert one == normal_form("connect('else', password='', port=99999)")


def test_an_empty_program_has_a_form() -> None:
    assert normal_form("# nothing\nimport os\n").size == 0
