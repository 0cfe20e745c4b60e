"""What a tool's code says about itself, and everything it may not say."""

from __future__ import annotations

import pytest

from alita_mcp.values import ToolContract
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.code.source import MAX_CODE_BYTES, MAX_WORDS
from alita_mcp.verification.findings import ContractError
from tests.verification.drafts import SHOUT


def read(code: str, name: str = "probe", description: str = "Probes.") -> ToolContract:
    return read_contract(code, name, description)


def refused(code: str, name: str = "probe") -> ContractError:
    with pytest.raises(ContractError) as caught:
        read(code, name)
    check = caught.value.check
    assert not check.passed
    assert check.hard
    assert check.fix
    assert caught.value.message == check.message
    return caught.value


def test_the_contract_holds_all_that_clients_are_shown() -> None:
    contract = read(SHOUT, "shout")
    assert contract.function == "shout"
    assert contract.summary == "Upper case with exclamation marks."
    assert contract.input_schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to shout."},
            "times": {"type": "integer", "description": "How many marks.", "default": 1},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    assert contract.output_schema == {
        "type": "object",
        "properties": {"result": {"type": "string"}},
        "required": ["result"],
    }
    assert contract.wraps_result
    assert not contract.is_async
    assert contract.raises == ("ValueError",)
    assert contract.imports == ()


def test_async_tools_keyword_only_parameters_and_imports_are_seen() -> None:
    contract = read(
        "from __future__ import annotations\nimport os.path, json as j\nfrom collections import Counter\n"
        "async def probe(a: int, *, b: str = 'x', c: bool) -> int:\n    import zlib\n    return a\n"
    )
    assert contract.is_async
    assert contract.imports == ("collections", "json", "os", "zlib")
    assert contract.input_schema["required"] == ["a", "c"]
    assert contract.input_schema["properties"]["b"] == {"type": "string", "default": "x"}


GOOGLE = """Looks.

    Arguments:
        path (str): Where to look,
            in any form: short or long.
        *deep (default: no): One of:
            - True: all folders
            - False: this one
        unknown: Nobody.

    Returns:
        text: What was found.

    Raises:
        ValueError: Bad.
        json.JSONDecodeError: Worse.
        ValueError: Again.

    Example:
        path: no
    Done: yes
    """
NUMPY = """Looks.

    Parameters
    ----------
    path : {'a', 'b'}
        Where to look,
        in any form: short or long.

    *deep, unknown : bool, optional
        One of: - True: all folders
        - False: this one

    Returns
    -------
    path : str
        No.

    Raises
    ------
    ValueError
        Bad.
    json.JSONDecodeError : Worse.

    Examples
    --------
    >>> path : str
    """
REST = """Looks.

    :param str path: Where to look,
        in any form: short or long.
    :type path: str
    :arg deep: One of: - True: all folders

        - False: this one
    :returns: path: no
    :raises ValueError, json.JSONDecodeError: Bad.
    Done: yes
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST])
def test_a_docstring_of_any_style_gives_parameters_and_errors(docstring: str) -> None:
    contract = read(
        f"def probe(path: str, deep: bool = False) -> str:\n    '''{docstring}'''\n    return path"
    )
    properties = contract.input_schema["properties"]
    assert contract.summary == "Looks."
    assert properties["path"]["description"] == "Where to look, in any form: short or long."
    assert properties["deep"]["description"] == "One of: - True: all folders - False: this one"
    assert contract.raises == ("ValueError", "JSONDecodeError")


def test_a_docstring_that_is_only_a_section_has_no_summary() -> None:
    for docstring in ("Args:\n        a: It.\n", ":param a: It.", "Parameters\n    ----\n    a\n        It."):
        contract = read(f'def probe(a: str) -> str:\n    """{docstring}"""\n    return a')
        assert contract.summary == "Probes."


def test_cached_tools_helpers_errors_and_constants_are_fine() -> None:
    read(
        "import functools, re\nfrom enum import Enum\nWORD = re.compile('x')\nclass TooMany(ValueError): pass\n"
        "class Odd(TooMany): ...\nclass _Kind(Enum):\n    A = 1\nclass LibError(re.error): ...\n"
        "def _helper(*args, **kwargs):\n    yield 1\n"
        "@functools.lru_cache(maxsize=8)\ndef probe(x: int) -> int:\n"
        "    def inner():\n        yield 1\n    return sum(inner())\n"
    )


@pytest.mark.parametrize(
    ("code", "message", "fix"),
    [
        ("x = 1", "no function probe()", "Define `def probe"),
        ("def other() -> int: return 1", "no function probe()", "Rename other() to probe()"),
        ("if True:\n    def probe() -> int: return 1", "top level", "not inside if"),
        (
            "def probe() -> int: return 1\ndef helper(): ...",
            "line 2: probe() and helper() are public",
            "Rename the helper helper() to _helper()",
        ),
        ("def one() -> int: ...\ndef two() -> int: ...", "probe(), but one() and two()", "_name()"),
        (
            "def probe() -> int: return a() + b()\ndef a() -> int: ...\nasync def b() -> int: ...",
            "probe() and a() and b() are public",
            "Rename the helpers a() to _a(), b() to _b()",
        ),
        (
            "def probe() -> int: return 1\ndef probe() -> str: return ''",
            "line 2: probe() is defined twice",
            "one",
        ),
        ("def probe() -> int: return 1\nprobe = len", "line 2: the name probe is bound again", "def only"),
        ("def probe() -> int: return 1\nfor probe in []: pass", "is bound again", "def only"),
        ("def probe() -> int: return 1\nimport x as probe", "is bound again", "def only"),
        ("def probe() -> int: return 1\nfrom os import *", "star import", "names that are used"),
        ("def probe() -> int: return 1\nclass probe: ...", "is bound again", "def only"),
        ("def probe() -> int: return 1\ndef _f():\n    global probe", "is bound again", "def only"),
        ("def probe(*xs: int) -> int: return 1", "*xs has no schema", "list[T]"),
        ("def probe(**xs: int) -> int: return 1", "**xs has no schema", "Name each"),
        ("def probe(a: int, /) -> int: return 1", "positional-only", "`/`"),
        ("def probe() -> int:\n    yield 1", "generator", "Return a list"),
        ("def probe() -> int:\n    if 1:\n        yield from ()", "generator", "Return a list"),
        ("import x\n@x.y(1)\ndef probe() -> int: return 1", "line 2: the decorator @x.y(1)", "Remove it"),
        ("class Shape: ...\ndef probe() -> int: return 1", "class Shape is public", "_Shape"),
        ("from . import x\ndef probe() -> int: return 1", "relative imports", "one file"),
        ("def probe(a) -> int: return 1", "parameter 'a': no type", "`a: str`"),
        ("def probe(a: int): return 1", "the result: no type", "-> str"),
        ("def probe() -> None: pass", "tells its caller nothing", "Return"),
        ("def probe(a: None) -> int: return 1", "its type allows only None", "Remove"),
        ("def probe(a: int | None) -> int: return 1", "has no default", "`a: int | None = None`"),
        ("def probe(a: int = 'x') -> int: return 1", "default 'x' is not of the declared type", "Change"),
        ("def probe(a: int = True) -> int: return 1", "default True", "Change"),
        ("def probe(a: bool = 0) -> int: return 1", "default 0", "Change"),
        ("def probe(ä: int) -> int: return 1", "not portable", "a-z"),
        (f"def probe({'a' * 65}: int) -> int: return 1", "not portable", "64"),
        (
            f"def probe({', '.join(f'p{n}: int' for n in range(21))}) -> int: return 1",
            "too many parameters: 21",
            "Group",
        ),
    ],
)
def test_a_broken_rule_is_named_with_its_fix(code: str, message: str, fix: str) -> None:
    error = refused(code)
    assert message in error.message
    assert fix in error.hint


@pytest.mark.parametrize(
    "name",
    [
        "",
        "ab",
        "Probe",
        "a" * 41,
        "../etc/passwd",
        "a/b",
        "probe\n",
        "pro be",
        "search_capabilities",
        "solve_task",
        "lambda",
        "\ud800abc",
        "próbe",
    ],
)
def test_names_that_no_tool_may_have_are_refused(name: str) -> None:
    with pytest.raises(ContractError):
        read_contract(f"def {name}() -> int: return 1", name, "x")


HOSTILE = [
    "def probe(",
    "\x00",
    "def probe() -> int:\n    return 1\x00",
    "(" * 60_000,
    "(" * 1_000_000,
    "[" * 150 + "]" * 150,
    "-" * 60_000 + "1",
    "x = " + "1+" * 30_000 + "1",
    "x" + ".y" * 30_000,
    "x = " + "not " * 15_000 + "1",
    "x = " + "lambda: " * 5_000 + "1",
    "f(" * 90 + ")" * 90,
    "if 1:\n" + "".join(" " * n + "if 1:\n" for n in range(1, 90)) + " " * 90 + "pass",
    "x = " + "9" * 5_000,
    "\ud800",
    "# \udfff\ndef probe() -> int: return 1",
    "# -*- coding: latin-1 -*-\ndef probe() -> int: return 1",
    "# coding: utf-7\ndef probe() -> int: return 1",
    "# coding: nonsense\ndef probe() -> int: return 1",
    "\n# vim: set fileencoding=cp1252 :\ndef probe() -> int: return 1",
    "\ufeffdef probe() -> int: return 1",
    "def probe() -> int:\n    return 1 # \u202e",
    "def probe() -> int:\n    return '\u200b'",
    "x = 1\n" * MAX_CODE_BYTES,
    "x = [" + "1," * MAX_WORDS + "]",
    "\t\x0c\x1a",
    "def probe() -> int:\n    return 1  # see\x0c",
    "def probe() -> int:\n    return 1  # see\r    steal()",
    "class A(A): ...\ndef probe(a: A) -> A: return a",
    "A = A\ndef probe(a: A) -> A: return a",
    "A = B\nB = A\ndef probe(a: A) -> A: return a",
    "A = list['A']\ndef probe(a: A) -> A: return a",
    "".join(f"A{n} = A{n + 1} | A{n + 1}\n" for n in range(15))
    + "A15 = int\ndef probe(a: A0) -> A0: return a",
    "".join(f"A{n} = A{n + 1}\n" for n in range(900)) + "A900 = int\ndef probe(a: A0) -> A0: return a",
    "def probe(a: '(' ) -> int: return 1",
    "def probe(a: '\\x00' ) -> int: return 1",
    "def probe(a: '\\ud800' ) -> int: return 1",
    "def probe(a: '" + "-" * 50_000 + "1') -> int: return 1",
    "def probe(a: " + "list[" * 80 + "int" + "]" * 80 + ") -> int: return 1",
    "def probe(a: 'list[" + "list[" * 60 + "int" + "]" * 60 + "]') -> int: return 1",
    "def probe(a: f'{1}') -> int: return 1",
    "def probe(a: [int]) -> int: return 1",
    "def probe(a: int[()]) -> int: return 1",
    "def probe(a: list[()]) -> int: return 1",
    "def probe(a: lambda: 1) -> int: return 1",
    "def probe(a: 5) -> int: return 1",
    "def probe(a: ...) -> int: return 1",
    "def probe(a: (yield)) -> int: return 1",
    "def probe(a: int = 1, a: int = 2) -> int: return 1",
    "def probe() -> int:\n    nonlocal x",
    "def probe(a: str = 0x" + "f" * 5_000 + ") -> int: return 1",
    "def probe(a: 0x" + "f" * 5_000 + ") -> int: return 1",
    "from typing import Literal\ndef probe(a: Literal[0x" + "f" * 5_000 + "]) -> int: return 1",
    "@(0x" + "f" * 5_000 + ")\ndef probe() -> int: return 1",
]


@pytest.mark.parametrize("code", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_code_is_refused_and_never_anything_else(code: str) -> None:
    refused(code)


def test_code_that_would_take_a_compiler_for_ever_is_read_at_once() -> None:
    body = "".join(f"{' ' * n}try: pass\n{' ' * n}finally:\n" for n in range(1, 60))
    read(f"def probe() -> int:\n{body}{' ' * 60}return 1")


def test_only_nesting_that_nobody_writes_is_too_deep() -> None:
    for deep in ("-" * 250 + "1", "1" + "+1" * 250, "a" + ".b" * 250):
        assert "nested too deeply" in refused(f"def probe() -> int:\n    return {deep}").message
    chain = "".join(f"    elif x == {n}:\n        return {n}\n" for n in range(150))
    read(f"def probe(x: int) -> int:\n    if x < 0:\n        return 0\n{chain}    return 1{' + 1' * 150}\n")
    read(f"def probe(x: {' | '.join(['int'] * 150)}) -> int:\n    return 1\n")
