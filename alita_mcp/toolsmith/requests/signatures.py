"""Compatibility of two tools' signatures: parameters matched by name and place, results by type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alita_mcp.values import Schema

Names = Mapping[str, str]
"""A tool's parameter names to those of another tool."""


def parameter_map(wanted: Schema, known: Schema) -> Names | None:
    """How to call the `known` tool with the arguments of the `wanted` one: by name, then by place; None: not at all.

    The known tool must take all that the wanted one takes, and need nothing more.
    """
    parts, known_parts = wanted.get("properties", {}), known.get("properties", {})
    way = by_name_and_place(list(parts), list(known_parts))
    return way if way is not None and _fits(way, wanted, known) else None


def takes(known: Schema, wanted: Schema) -> bool:
    """Whether every value of the `wanted` schema is one of the `known` schema too."""
    kind, asked = str(known.get("type")), str(wanted.get("type"))
    if kind != asked and (kind, asked) != ("number", "integer"):
        return False
    if "enum" in known and not {*wanted.get("enum", (None,))} <= {*known["enum"]}:
        return False
    if kind == "array":
        return takes(known.get("items", {}), wanted.get("items", {}))
    return kind != "object" or _takes_object(known, wanted)


def results_alike(one: Schema, other: Schema) -> bool:
    """Whether two result schemas are of the same shape; whole numbers and others are one kind."""
    return bool(_shape(one) == _shape(other))


def renamed(way: Names) -> str:
    """In words: which parameters have other names there."""
    other = [f"{there} is your {here}" for here, there in way.items() if here != there]
    return f"; its {', '.join(other)}" if other else ""


def _takes_object(known: Schema, wanted: Schema) -> bool:
    values, asked = known.get("additionalProperties"), wanted.get("additionalProperties")
    if isinstance(values, dict) or isinstance(asked, dict):
        return isinstance(values, dict) and isinstance(asked, dict) and takes(values, asked)
    parts, asked_parts = known.get("properties", {}), wanted.get("properties", {})
    same = {name: name for name in asked_parts}
    return asked_parts.keys() <= parts.keys() and _fits(same, wanted, known)


def _fits(way: Names, wanted: Schema, known: Schema) -> bool:
    """Whether each parameter is taken as the other tool's, and none that the other tool needs may be missing."""
    parts, known_parts = wanted.get("properties", {}), known.get("properties", {})
    always = {way[name] for name in wanted.get("required", ())}
    return set(known.get("required", ())) <= always and all(
        takes(known_parts[way[name]], part) for name, part in parts.items()
    )


def by_name_and_place(wanted: Sequence[str], known: Sequence[str]) -> dict[str, str] | None:
    """Parameters of one name are the same; the others in the order in which they stand. None: there are too few."""
    same = {name: name for name in wanted if name in known}
    left = [name for name in wanted if name not in same]
    free = [name for name in known if name not in same]
    return same | dict(zip(left, free, strict=False)) if len(left) <= len(free) else None


def _shape(schema: Schema) -> Any:
    match schema.get("type"):
        case "integer":
            return "number"
        case "array":
            return ["array", _shape(schema.get("items", {}))]
        case "object":
            values = schema.get("additionalProperties")
            parts = {name: _shape(part) for name, part in sorted(schema.get("properties", {}).items())}
            return ["object", parts, _shape(values) if isinstance(values, dict) else None]
        case other:
            return other
