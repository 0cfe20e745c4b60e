"""The program that calls a tool inside the embedded interpreter: a function's name in, its source text out.

The interpreter hands some values over as something else than they are (a function as text, a cycle as `...`), so
the result is judged inside by its exact types and crosses as JSON text, which the host checks once more.
"""

from __future__ import annotations

from collections.abc import Iterable

from alita_mcp.sandbox.strict_json import MAX_DEPTH, MAX_DIGITS, MAX_NODES

ARGUMENTS = "_alita_arguments"
"""Name of the input that holds the call's arguments."""
SHAPES = "_alita_shapes"
"""Name of the input that holds the shape of each parameter that takes a dataclass."""
FIELDS = "_alita_fields"
"""Name of the input that holds each dataclass's fields with their shapes."""

_PROGRAM = f"""
import json as _alita_json

_alita_classes = {{classes}}
_alita_problems = []
_alita_count = [0]

def _alita_shaped(value, shape):
    kind = type(value)
    if shape is None:
        return value
    if kind is dict and "class" in shape:
        fields = {FIELDS}[shape["class"]]
        return _alita_classes[shape["class"]](**{{{{k: _alita_shaped(v, fields.get(k)) for k, v in value.items()}}}})
    if kind is list and "items" in shape:
        return [_alita_shaped(v, shape["items"]) for v in value]
    if kind is dict and "values" in shape:
        return {{{{k: _alita_shaped(v, shape["values"]) for k, v in value.items()}}}}
    return value

def _alita_refuse(problem):
    if not _alita_problems:
        _alita_problems.append(problem)

def _alita_plain(value, depth):
    kind = type(value)
    if value is None or kind is str or kind is bool or kind is int or _alita_problems:
        return value
    if kind is float:
        if value != value or value in (1e999, -1e999):
            _alita_refuse("NaN and Infinity are not JSON")
        return value
    if depth > {MAX_DEPTH}:
        return _alita_refuse("the result is nested deeper than {MAX_DEPTH}")
    if kind is list or kind is tuple:
        _alita_weigh(len(value))
        return [_alita_plain(part, depth + 1) for part in value]
    for name, known in _alita_classes.items():
        if kind is known:
            value = {{{{field: getattr(value, field) for field in {FIELDS}[name]}}}}
            kind = dict
    if kind is not dict:
        return _alita_refuse("a value of type '" + kind.__name__ + "' is not JSON")
    _alita_weigh(len(value))
    for key in value:
        if type(key) is not str:
            return _alita_refuse("an object's key is a " + type(key).__name__ + ", not a string")
    return {{{{key: _alita_plain(part, depth + 1) for key, part in value.items()}}}}

def _alita_weigh(count):
    _alita_count[0] += count
    if _alita_count[0] > {MAX_NODES}:
        _alita_refuse("the result has more than {MAX_NODES} parts")

def _alita_encoded(value):
    value = _alita_plain(value, 0)
    if _alita_problems:
        return ["problem", _alita_problems[0]]
    try:
        text = _alita_json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return ["problem", "an integer has more than {MAX_DIGITS} digits"]
    size = len(text.encode())
    if size > {{limit}}:
        return ["problem", f"the result has {{{{size}}}} bytes, more than the limit of {{limit}} (result_bytes)"]
    return ["value", text]

_alita_encoded({{wait}}{{function}}(
    **{{{{k: _alita_shaped(v, {SHAPES}.get(k)) for k, v in {ARGUMENTS}.items()}}}}
))
"""


def call_program(function: str, dataclasses: Iterable[str], limit: int, *, is_async: bool) -> str:
    """Source that calls the function and ends in `["value", JSON text]` or `["problem", why]`.

    All names must be identifiers; they become part of the program. Data never does: it comes as inputs.
    """
    classes = "{" + ", ".join(f"{name!r}: {name}" for name in dataclasses) + "}"
    wait = "await " if is_async else ""
    return _PROGRAM.format(classes=classes, function=function, limit=limit, wait=wait)
