"""Text of `test_tool.py`, the readable pytest form of a version's examples.

Nothing of the code or of the examples is run here, only parsed.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import Any

from alita_mcp.syntax import expression_tree, module_tree
from alita_mcp.values import Example, Varying

_HEAD = '''"""The examples that {name} was accepted with; run pytest in this folder, beside tool.py."""

{imports}
import pytest

import tool

{support}
def call(**arguments):
    """Calls the tool as its clients do: JSON in, JSON out."""
{call}


def same(expected, got, exact=False):
    """Equal as JSON values; floats within a relative tolerance of 1e-9 unless exact."""
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        if exact or (isinstance(expected, int) and isinstance(got, int)):
            return expected == got
        return expected == got or math.isclose(expected, got, rel_tol=1e-9)
    if isinstance(expected, list) and isinstance(got, (list, tuple)):
        return len(expected) == len(got) and all(same(*pair, exact) for pair in zip(expected, got))
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(same(expected[key], got[key], exact) for key in expected)
    return type(expected) is type(got) and expected == got

'''

DATACLASS_SUPPORT = '''
def build(annotation, value):
    """Makes the dataclasses that the annotation declares out of JSON objects."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if dataclasses.is_dataclass(annotation) or typing.is_typeddict(annotation):
        hints = typing.get_type_hints(annotation)
        return annotation(**{key: build(hints.get(key), item) for key, item in value.items()})
    if origin is list and isinstance(value, list):
        return [build(inner[0], item) for item in value]
    if origin is dict and isinstance(value, dict):
        return {key: build(inner[1], item) for key, item in value.items()}
    if type(None) in inner and value is not None:
        return build(next(kind for kind in inner if kind is not type(None)), value)
    return value


def plain(value):
    """Turns dataclasses back into JSON objects."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value

'''
"""Put into generated files of tools whose parameters or results are dataclasses."""

_ERROR_SUPPORT = '''

def is_kind(error, name):
    """Whether the error is of the class of that name: the one that a module has, or else any."""
    try:
        return isinstance(error, pkgutil.resolve_name(name))
    except AttributeError:
        return False
    except (ImportError, TypeError):
        bare = name.rpartition(".")[2]
        homes = [(kind, sys.modules.get(kind.__module__)) for kind in type(error).__mro__]
        return any(bare == kind.__name__ or getattr(home, bare, None) is kind for kind, home in homes)
'''
"""Put into files whose examples name errors that are no builtins."""


_WORLDS: dict[Varying, tuple[str, ...]] = {
    "clock": ("datetime", "    now = datetime.datetime.now(datetime.timezone.utc)"),
    "random": ("random", "    seed = 0", "    random.seed(seed)"),
}
"""The module and the lines that tell a check of the clock and the seed."""


def render_tests(name: str, code: str, examples: Sequence[Example], varies: Sequence[Varying] = ()) -> str:
    """The text of `test_tool.py`; checks of a tool that varies know `now` and `seed`, as in its rehearsals.

    Raises:
        ValueError: the code does not parse, or a check is not one plain expression.
    """
    try:
        text = _render(name, code, examples, varies)
        module_tree(text)  # nothing of a tool is ever compiled in the server's process
    except (SyntaxError, RecursionError, MemoryError, OverflowError) as broken:
        raise ValueError(f"{name} has an example or code that no test file can hold: {broken}") from broken
    return text


def _render(name: str, code: str, examples: Sequence[Example], varies: Sequence[Varying]) -> str:
    named = any(example.raises is not None and not _is_builtin(example.raises) for example in examples)
    worlds = [_WORLDS[each][0] for each in varies]
    modules = ["math", *call_modules(name, code), *worlds, *(["pkgutil", "sys"] if named else [])]
    head = _HEAD.format(
        name=name,
        imports="".join(f"import {module}\n" for module in sorted(modules)),
        support=DATACLASS_SUPPORT if has_dataclasses(code) else "",
        call=call_lines(name, code),
    )
    head += _ERROR_SUPPORT if named else ""
    world = [line for each in varies for line in _WORLDS[each][1:]]
    return head + "".join(_test(number, each, world) for number, each in enumerate(examples, start=1))


def call_modules(name: str, code: str) -> list[str]:
    """Modules that the lines of `call_lines` need."""
    typed = ["dataclasses", "typing"] if has_dataclasses(code) else []
    return (["asyncio"] if is_async(name, code) else []) + typed


def call_lines(name: str, code: str, module: str = "tool") -> str:
    """The body of a function `call(**arguments)` that reaches the tool, indented once."""
    lines, value = [], f"{module}.{name}(**arguments)"
    if is_async(name, code):
        value = f"asyncio.run({value})"
    if has_dataclasses(code):
        lines = [
            f"    hints = typing.get_type_hints({module}.{name})",
            "    arguments = {key: build(hints.get(key), value) for key, value in arguments.items()}",
        ]
        value = f"plain({value})"
    return "\n".join([*lines, f"    return {value}"])


def is_async(name: str, code: str) -> bool:
    """Whether the tool is a coroutine function."""
    return any(
        isinstance(node, ast.AsyncFunctionDef) and node.name == name for node in module_tree(code).body
    )


def has_dataclasses(code: str) -> bool:
    """Whether the code declares dataclasses, which JSON objects have to be made into."""
    classes = (node for node in ast.walk(module_tree(code)) if isinstance(node, ast.ClassDef))
    return any("dataclass" in ast.unparse(mark) for node in classes for mark in node.decorator_list)


def _test(number: int, example: Example, world: Sequence[str]) -> str:
    outcome = next(iter(example.outcome_fields))
    title = {"raises": f"_raises_{(example.raises or '').rpartition('.')[2]}", "check": "_check"}.get(
        outcome, ""
    )
    lines = ["", "", f"def test_example_{number}{title}():", f"    arguments = {literal(example.arguments)}"]
    if example.raises is not None and _is_builtin(example.raises):
        lines += [f"    with pytest.raises({example.raises}):", "        call(**arguments)"]
    elif example.raises is not None:
        lines += ["    with pytest.raises(BaseException) as caught:", "        call(**arguments)"]
        lines += [f"    assert is_kind(caught.value, {example.raises!r})"]
    elif example.check is not None:
        lines += [*world, "    result = call(**arguments)", f"    assert {_one_expression(example.check)}"]
    else:
        exact = ", exact=True" if example.exact else ""
        lines += [f"    expected = {literal(example.expected)}"]
        lines += [f"    assert same(expected, call(**arguments){exact})"]
    return "\n".join(lines) + "\n"


def _is_builtin(error: str) -> bool:
    known = getattr(builtins, error, None)
    return isinstance(known, type) and issubclass(known, BaseException)


def literal(value: Any) -> str:
    """A JSON value as Python source, indented for the body of a function."""
    from pprint import pformat  # with dataclasses and more, which only publishing needs

    text = pformat(value, width=100, sort_dicts=False) if len(repr(value)) < 2_000 else repr(value)
    return text.replace("\n", "\n    ")


def _one_expression(check: str) -> str:
    """The check on one line, however its author laid it out."""
    tree = expression_tree(check.strip())
    nodes = list(ast.walk(tree))
    waits = any(isinstance(node, ast.comprehension) and node.is_async for node in nodes)
    if waits or any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in nodes):
        raise ValueError(f"the check {check!r} is not a plain expression")
    text = ast.unparse(tree)
    if "\n" in text:
        raise ValueError(f"the check {check!r} does not fit one line")
    return f"bool({text})" if isinstance(tree.body, ast.Tuple) else text
