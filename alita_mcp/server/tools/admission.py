"""Admission check of manifests: finds what would break clients, since one bad definition hides a whole server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from mcp_types import methods
from pydantic import ValidationError

from alita_mcp.server.tools.definitions import RESERVED_NAMES, definition_of
from alita_mcp.values import TOOL_NAME, Manifest, Schema
from alita_mcp.verification.static.wording import MAX_DESCRIPTION, text_checks

MAX_BYTES = 16_384
MAX_DEPTH = 4
"""Levels of nodes below the root."""
MAX_PROPERTIES = 20
MAX_BOUND = 2**63
"""Numbers that every client's JSON parser reads."""
ERAS = ("2025-11-25", "2026-07-28")

_PROPERTY = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object"})
_NOTES = {"type", "title", "description", "default", "enum"}
_OBJECTS = {"properties", "required", "additionalProperties"}
_COUNTS = {"minLength", "maxLength", "minItems", "maxItems"}
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
_KEYWORDS = frozenset({"items", "uniqueItems"} | _NOTES | _OBJECTS | _COUNTS | _NUMBERS)
"""What some client refuses or misreads is left out: references, choices, patterns, formats, headers."""


def admit(manifest: Manifest) -> tuple[str, ...]:
    """Why clients should not be shown this tool; empty when nothing speaks against it."""
    problems = []
    if not re.fullmatch(TOOL_NAME.removeprefix("^").removesuffix("$"), manifest.name):
        problems.append(f"the name {manifest.name[:60]!r} does not match {TOOL_NAME}")
    if manifest.name in RESERVED_NAMES:
        problems.append(f"{manifest.name!r} is one of the server's own tools")
    if not manifest.description.strip():
        problems.append("the description is empty")
    problems += _text_problems("the description", manifest.description, manifest)
    for label, schema in (("input schema", manifest.input_schema), ("output schema", manifest.output_schema)):
        problems += _root_problems(schema, label, manifest)
    return tuple(problems) or tuple(_wire_problems(manifest))


def _text_problems(where: str, text: str, manifest: Manifest) -> Iterator[str]:
    for check in text_checks(where, text, MAX_DESCRIPTION, manifest.grants):
        yield check.message


def _root_problems(schema: Schema, label: str, manifest: Manifest) -> Iterator[str]:
    if schema.get("type") != "object" or not isinstance(schema.get("properties", {}), dict):
        yield f"{label}: the root must be an object with properties"
        return
    if label == "input schema" and "properties" not in schema:
        yield f"{label}: the root must have properties, even if there are none"
    for where, node, depth in _nodes(schema, label, 0):
        if depth > MAX_DEPTH:
            yield f"{where}: more than {MAX_DEPTH} levels deep"
            return
        if not isinstance(node, dict):
            yield f"{where}: {json.dumps(node, default=str)[:40]} is no schema"
            continue
        yield from _keyword_problems(where, node, is_input=label == "input schema")
        yield from _value_problems(where, node)
        yield from _words_problems(where, node, manifest)


def _nodes(node: Any, where: str, depth: int) -> Iterator[tuple[str, Any, int]]:
    """Every schema node, the root first, with its path and its depth."""
    yield where, node, depth
    if not isinstance(node, dict) or depth > MAX_DEPTH:
        return
    properties = node.get("properties")
    for name, child in properties.items() if isinstance(properties, dict) else ():
        yield from _nodes(child, f"{where}.{str(name)[:64]}", depth + 1)
    if "items" in node:
        yield from _nodes(node["items"], f"{where}[]", depth + 1)
    if not isinstance(node.get("additionalProperties", True), bool):
        yield from _nodes(node["additionalProperties"], f"{where}{{}}", depth + 1)


def _keyword_problems(where: str, node: Schema, *, is_input: bool) -> Iterator[str]:
    foreign = sorted(str(keyword)[:40] for keyword in node.keys() - _KEYWORDS)
    if foreign:
        yield f"{where}: clients refuse {', '.join(foreign)}"
    kind = node.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        if is_input or "type" in node:
            yield f"{where}: exactly one type of {', '.join(sorted(_TYPES))} is needed"
        return
    if kind == "array" and "items" not in node:
        yield f"{where}: an array needs items"
    if "properties" in node or "required" in node:
        yield from _object_problems(where, node)


def _object_problems(where: str, node: Schema) -> Iterator[str]:
    properties, required = node.get("properties", {}), node.get("required", [])
    if not isinstance(properties, dict):
        yield f"{where}: properties must be an object"
        return
    if len(properties) > MAX_PROPERTIES:
        yield f"{where}: more than {MAX_PROPERTIES} properties"
    for name in properties:
        if not isinstance(name, str) or not _PROPERTY.fullmatch(name):
            yield f"{where}: the property {str(name)[:64]!r} needs 1 to 64 letters, digits, _ or -"
    if not _are_names(required) or not set(required) <= properties.keys():
        yield f"{where}: required must list properties, each once"


def _value_problems(where: str, node: Schema) -> Iterator[str]:
    if "enum" in node and not (_are_names(node["enum"]) and node["enum"] and node.get("type") == "string"):
        yield f"{where}: an enum lists different strings, with type string"
    if isinstance(node.get("default"), list | dict):
        yield f"{where}: only scalars have a default"
    if not isinstance(node.get("uniqueItems", False), bool):
        yield f"{where}: uniqueItems must be true or false"
    for keyword in (_COUNTS | _NUMBERS) & node.keys():
        if not _is_bound(keyword, node[keyword]):
            yield f"{where}: {keyword} has a value that is no bound"


def _is_bound(keyword: str, value: Any) -> bool:
    if keyword in _COUNTS:
        return type(value) is int and value >= 0
    if type(value) not in (int, float) or not abs(value) < MAX_BOUND:
        return False
    return keyword != "multipleOf" or value > 0


def _words_problems(where: str, node: Schema, manifest: Manifest) -> Iterator[str]:
    for keyword in ("title", "description"):
        text = node.get(keyword, "")
        if not isinstance(text, str):
            yield f"{where}: {keyword} must be text"
        else:
            yield from _text_problems(f"the {keyword} of {where}", text, manifest)
    shown = [node.get("default"), *(node["enum"] if isinstance(node.get("enum"), list) else ())]
    for text in shown:
        if isinstance(text, str):
            yield from _text_problems(f"a value of {where}", text, manifest)


def _are_names(value: Any) -> bool:
    """Whether a value is a list of different strings."""
    return (
        isinstance(value, list)
        and all(isinstance(item, str) for item in value)
        and len(set(value)) == len(value)
    )


def _wire_problems(manifest: Manifest) -> Iterator[str]:
    """Whether the definition reaches clients of both eras; asked last, of definitions that look right."""
    tool = definition_of(manifest).model_dump(by_alias=True, mode="json", exclude_none=True)
    try:
        size = len(json.dumps(tool, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, RecursionError, TypeError):
        yield "the definition is not JSON"
        return
    if size > MAX_BYTES:
        yield f"the definition has {size:,} bytes, the limit is {MAX_BYTES:,}"
    listed = {"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    for era in ERAS:
        try:
            methods.serialize_server_result("tools/list", era, listed)
        except ValidationError:
            yield f"clients of protocol {era} cannot read the definition"
