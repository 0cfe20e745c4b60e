"""Signature of a tool in one line, as in `slugify(text: str, max_length?: int) -> str`."""

from __future__ import annotations

from alita_mcp.values import Manifest, Schema

_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict",
}
SOME_CHOICES = 6
ALL_CHOICES = 1_000


def signature_of(manifest: Manifest, choices: int = SOME_CHOICES) -> str:
    """Signature as in `slugify(text: str, max_length?: int) -> str`, with so many `choices` of an enum."""
    result = manifest.output_schema
    if manifest.wraps_result:
        result = result.get("properties", {}).get("result", {})
    return f"{parameters_of(manifest.name, manifest.input_schema, choices)} -> {_type(result, choices)}"


def parameters_of(name: str, input_schema: Schema, choices: int = SOME_CHOICES) -> str:
    """The signature without its result, as in `slugify(text: str, max_length?: int)`."""
    required = set(input_schema.get("required", ()))
    parameters = ", ".join(
        f"{field}{'' if field in required else '?'}: {_type(schema, choices)}"
        for field, schema in input_schema.get("properties", {}).items()
    )
    return f"{name}({parameters})"


def _type(schema: Schema, choices: int) -> str:
    if "title" in schema:  # an image's, the one that has a title
        return str(schema["title"])
    if "enum" in schema:
        more = " | …" if len(schema["enum"]) > choices else ""
        return " | ".join(repr(choice) for choice in schema["enum"][:choices]) + more
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": one}, choices) for one in kind)
    if kind == "array":
        return f"list[{_type(schema.get('items', {}), choices)}]"
    values = schema.get("additionalProperties")
    if kind == "object" and isinstance(values, dict) and values:
        return f"dict[str, {_type(values, choices)}]"
    return _TYPES.get(kind or "", "any")
