"""Functions as scripts: the function, and a call of it as the last expression, with several inputs."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[1] / "data" / "functions.jsonl"
"""Every sixth function of the development half of CRUXEval (MIT)."""


def scripts(source: Path = SOURCE) -> Iterator[tuple[str, list[str]]]:
    """Each function's name in the data, and scripts that call it with its input and with others like it."""
    for line in source.read_text().splitlines():
        case = json.loads(line)
        call = ast.parse(f"f({case['input']})", mode="eval").body
        assert isinstance(call, ast.Call)
        try:
            values = [ast.literal_eval(each) for each in call.args]
        except ValueError:
            continue
        rows = [values, *([_changed(value, turn) for value in values] for turn in range(1, 6))]
        yield case["id"], [f"{case['code']}\n\nf({', '.join(map(repr, row))})\n" for row in rows]


def _changed(value: Any, turn: int) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return value + (turn if turn % 2 else -turn)
    if isinstance(value, str):
        return [value + "x", value[::-1], value[1:], value.upper() + " b", value * 2][turn - 1]
    if isinstance(value, dict):
        items = [(key, _changed(item, turn)) for key, item in value.items()]
        return dict(items[::-1] if turn % 2 else items)
    changed = [_changed(item, turn) for item in value]
    return type(value)([changed + changed[:1], changed[::-1], changed[1:], changed * 2, value][turn - 1])
