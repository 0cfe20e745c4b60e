"""JSON schemas for models' answers: pydantic's reduced to the few keywords that every provider knows."""

from __future__ import annotations

from typing import Any

MAX_DEPTH = 20
"""A type that holds itself ends here as a value of any kind."""


def plain_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions in place and without limits: the reader holds answers to those, in words."""
    return _plain(schema, schema.get("$defs", {}), 0) | {"title": str(schema.get("title", "answer"))}


def is_closed(schema: dict[str, Any]) -> bool:
    """Whether a schema states the type of every value; some providers make a free-form object an empty one."""
    if "anyOf" in schema:
        return all(is_closed(each) for each in schema["anyOf"])
    match schema.get("type"):
        case "object":
            nodes = schema.get("properties", {}).values()
            return bool(nodes) and all(map(is_closed, nodes)) and not schema.get("additionalProperties")
        case "array":
            return is_closed(schema.get("items", {}))
        case kind:
            return kind is not None or "enum" in schema


def _plain(node: dict[str, Any], known: dict[str, Any], depth: int) -> dict[str, Any]:
    if depth > MAX_DEPTH:
        return {}
    if "$ref" in node:
        return _plain(known.get(str(node["$ref"]).rpartition("/")[2], {}), known, depth + 1)
    kept: dict[str, Any] = {key: node[key] for key in ("type", "enum") if key in node}
    if "anyOf" in node:
        kept["anyOf"] = [_plain(each, known, depth + 1) for each in node["anyOf"]]
    if "items" in node:
        kept["items"] = _plain(node["items"], known, depth + 1)
    if "properties" in node:
        nodes = node["properties"].items()
        kept["properties"] = {name: _plain(each, known, depth + 1) for name, each in nodes}
        kept["required"] = list(node.get("required", ()))
    elif isinstance(node.get("additionalProperties"), dict):
        kept["additionalProperties"] = _plain(node["additionalProperties"], known, depth + 1)
    return kept
