"""Name and description for the tool that is made of a program."""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from alita_mcp.mining.generalisation.script import BUILTINS, Script
from alita_mcp.values import META_TOOLS, TOOL_NAME

_SAYS_NOTHING = {
    "main", "run", "test", "solve", "solution", "func", "function", "res", "result", "output", "out", "ans", "answer",
    "data", "temp", "tmp", "value", "values", "foo", "bar", "solve_task", "research_web", "text", "lines",
    "append", "join",
}  # fmt: skip
_SAFE_TEXT = re.compile(r"(?!.*\d{5})[A-Za-z0-9_.:,;/ +-]{0,12}")
_KINDS = {"str": "A text", "int": "A whole number", "float": "A number", "bool": "True or false"}


def tool_name(wanted: str, script: Script, parameters: Sequence[str]) -> str:
    """The wanted name where a tool can have it, else one of the program's own words."""
    if allowed(wanted) and wanted not in BUILTINS:
        return wanted
    candidates = [_slug(wanted), *map(_slug, _own_words(script))]
    modules = {name for name, (first, *_) in script.definitions.items() if isinstance(first, ast.Import)}
    refused = _SAYS_NOTHING | BUILTINS | modules | set(parameters)
    return next((name for name in candidates if allowed(name) and name not in refused), "computed_value")


def allowed(name: str) -> bool:
    """Whether a tool may have the name."""
    return bool(re.fullmatch(TOOL_NAME, name)) and name not in META_TOOLS and not keyword.iskeyword(name)


def _slug(words: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words)
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")[:40].strip("_")


def _own_words(script: Script) -> list[str]:
    """The function it calls last, the variable it ends with, other functions, and what it calls most."""
    ends = [each for each in script.rest if not isinstance(each, ast.Pass)][-1:]
    called = [
        node.func.id
        for last in ends
        for node in ast.walk(last)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    functions = [
        name for name, (first, *_) in script.definitions.items() if isinstance(first, ast.FunctionDef)
    ]
    words = [name for name in called if name in functions]
    for last in ends:
        match last:
            case ast.Expr(
                value=ast.Name(id=name) | ast.Call(func=ast.Name(id="print"), args=[ast.Name(id=name)])
            ):
                words.append(name)
    words += reversed(functions)
    methods = Counter(
        node.func.attr
        for node in ast.walk(script.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    return [*words, "_".join(name for name, _ in methods.most_common(2))]


def docstring(name: str, description: str, parameters: Sequence[tuple[str, str, Any]]) -> str:
    """The text of a docstring, indented as in a function; each parameter with its annotation and a value it had."""
    lines = [line.rstrip() for line in description.strip().splitlines()]
    summary = lines[0] if lines else f"{name.replace('_', ' ').capitalize()}."
    text = f"{summary}\n\n    Args:"
    for parameter, annotation, value in parameters:
        text += f"\n        {parameter}: {_described(annotation, value)}"
    return f"{text}\n    "


def _described(annotation: str, value: Any) -> str:
    kind = annotation.removesuffix(" | None")
    words = _KINDS.get(kind, "A list" if kind.startswith("list") else "An object")
    optional = ", or nothing" if kind != annotation else ""
    return f"{words}{optional}, as in `{value!r}`." if _may_be_shown(value) else f"{words}{optional}."


def _may_be_shown(value: Any) -> bool:
    """Whether a value is short and looks like nobody's own."""
    if isinstance(value, str):
        return bool(_SAFE_TEXT.fullmatch(value))
    if isinstance(value, list):
        return len(value) <= 4 and all(map(_may_be_shown, value)) and len(repr(value)) <= 40
    return value is not None and not isinstance(value, dict) and abs(value) < 100_000
