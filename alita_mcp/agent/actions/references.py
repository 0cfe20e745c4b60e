"""Resolver of references in arguments, such as `{"$ref": "o3/rows"}` and `{"$file": "a.csv"}`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alita_mcp.errors import InvalidArguments

REFERENCE = "$ref"
FILE = "$file"
MAX_DEPTH = 32


def resolve_references(
    value: Any, value_of: Callable[[str], Any], file_of: Callable[[str], Any], depth: int = 0
) -> Any:
    """The value with every reference in it replaced by the value that it names.

    `value_of` and `file_of` raise InvalidArguments for names that they do not know.

    Raises:
        InvalidArguments: a reference names nothing, or the value is nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise InvalidArguments("The arguments are nested too deeply.")
    if isinstance(value, dict):
        if len(value) == 1:
            ((key, name),) = value.items()
            if key == REFERENCE and isinstance(name, str):
                return part_of(name, value_of)
            if key == FILE and isinstance(name, str):
                return file_of(name)
        return {key: resolve_references(item, value_of, file_of, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve_references(item, value_of, file_of, depth + 1) for item in value]
    return value


def part_of(reference: str, value_of: Callable[[str], Any]) -> Any:
    """The value or part that `o3` or `o3/rows/0` names, by JSON pointer (RFC 6901).

    Raises:
        InvalidArguments: there is none; says what there is instead.
    """
    name, *path = reference.strip().removeprefix("#").split("/")
    found = value_of(name)
    for part in path:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            there = f"a value of type {type(found).__name__}"
            if isinstance(found, dict):
                there = f"keys {', '.join(map(repr, list(found)[:20]))}"
            elif isinstance(found, list):
                there = f"a list of {len(found)} items"
            raise InvalidArguments(f"{reference!r} names nothing: there is no {key!r}, but {there}.")
    return found
