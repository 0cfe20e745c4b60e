"""Inputs of a task's programs: examples from other files, and an input schema that fits them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from alita_mcp.values import Example, Schema
from benchmarks.duplicates.pairs import Pair, Program, read_lines
from benchmarks.duplicates.types_from_use import kinds_of

Inputs = Mapping[str, Sequence[tuple[Any, ...]]]
"""Task to example inputs, each in the order of the parameters."""

_NAMED: dict[str, Schema] = {
    "int": {"type": "integer"}, "float": {"type": "number"}, "str": {"type": "string"}, "bool": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "integer"}}, "List": {"type": "array", "items": {"type": "integer"}},
    "dict": {"type": "object", "additionalProperties": {"type": "string"}},
    "Dict": {"type": "object", "additionalProperties": {"type": "string"}},
}  # fmt: skip
MAX_SCHEMAS = 9
"""So many schemas are worth a try."""


def read_inputs(paths: Sequence[Path]) -> Inputs:
    """Example inputs by task: `tests` with arguments, or a `test` that calls `candidate`.

    Raises:
        UsageError: a file cannot be read.
    """
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for path in paths:
        for row in read_lines(path):
            task = row.get("task_id", row.get("task", ""))
            found[task] += [tuple(test["arguments"].values()) for test in row.get("tests", ())]
            found[task] += _called(row.get("test", ""))
    return found


def _called(source: str) -> Iterator[tuple[Any, ...]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "candidate":
            try:
                yield tuple(_as_json(ast.literal_eval(argument)) for argument in node.args)
            except (ValueError, TypeError):
                continue  # computed, not written


def _as_json(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _as_json(each) for name, each in value.items()}
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    raise TypeError(f"{value!r} is not JSON")


def as_examples(program: Program, inputs: Sequence[tuple[Any, ...]]) -> list[Example]:
    """The inputs as arguments by name; results are not known."""
    return [
        Example(arguments=dict(zip(program.parameters, each, strict=True)), expected=None)
        for each in inputs
        if len(each) == len(program.parameters)
    ]


def schemas_of(pair: Pair, examples: Sequence[Example]) -> list[Schema]:
    """Input schemas that may be meant, the likeliest first; one, where the examples or the annotations tell."""
    named, other = pair.a, pair.b
    columns = {name: [each.arguments[name] for each in examples] for name in named.parameters}
    choices: list[list[Schema]] = []
    for at, (name, annotation) in enumerate(zip(named.parameters, named.annotations, strict=True)):
        known = _of_values(columns[name]) or _of_annotation(annotation)
        codes, functions = (named.code, other.code), (named.function, other.function)
        choices.append([known] if known else kinds_of(codes, functions, at, name))
    ways = product(*(list(enumerate(each)) for each in choices))
    likeliest = sorted(ways, key=lambda way: sum(rank for rank, _ in way))[:MAX_SCHEMAS]
    return [
        _object({name: node for name, (_, node) in zip(named.parameters, way, strict=True)})
        for way in likeliest
    ]


def _object(parts: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(parts), "required": list(parts)}


def _of_annotation(annotation: ast.expr | None) -> Schema | None:
    if isinstance(annotation, ast.Name):
        return _NAMED.get(annotation.id)
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name):
        inner = _of_annotation(annotation.slice)
        if annotation.value.id in ("list", "List", "Sequence"):
            return {"type": "array", "items": inner or {}}
        if annotation.value.id == "Optional":
            return inner
        return _NAMED.get(annotation.value.id)
    return None


def _of_values(values: Sequence[Any]) -> Schema | None:
    """One schema for all of them: the type that most have."""
    kinds = [_kind(value) for value in values if value is not None]
    if not kinds:
        return None
    most = "number" if {*kinds} == {"integer", "number"} else max(sorted({*kinds}), key=kinds.count)
    fitting = [value for value in values if _kind(value) == most]
    if most == "array":
        parts = [part for value in fitting for part in value]
        return {"type": "array", "items": _of_values(parts) or {"type": "integer"}}
    if most == "object":
        parts = [part for value in fitting for part in value.values()]
        return {"type": "object", "additionalProperties": _of_values(parts) or {"type": "string"}}
    return {"type": most}


def _kind(value: Any) -> str:
    for kind, types in (
        ("boolean", bool),
        ("integer", int),
        ("number", float),
        ("string", str),
        ("array", list),
    ):
        if isinstance(value, types):
            return kind
    return "object" if isinstance(value, dict) else "null"
