"""How a tool is called, in one line: a manifest in, `slugify(text: str, max_length?: int) -> str` out."""

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


def signature_of(manifest: Manifest) -> str:
    """How the tool is called, as in `slugify(text: str, max_length?: int) -> str`."""
    required = set(manifest.input_schema.get("required", ()))
    parameters = ", ".join(
        f"{name}{'' if name in required else '?'}: {_type(schema)}"
        for name, schema in manifest.input_schema.get("properties", {}).items()
    )
    result = manifest.output_schema
    if manifest.wraps_result:
        result = result.get("properties", {}).get("result", {})
    return f"{manifest.name}({parameters}) -> {_type(result)}"


def _type(schema: Schema) -> str:
    if "enum" in schema:
        return " | ".join(repr(choice) for choice in schema["enum"][:6]) + (
            " | …" if len(schema["enum"]) > 6 else ""
        )
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": one}) for one in kind)
    if kind == "array":
        return f"list[{_type(schema.get('items', {}))}]"
    values = schema.get("additionalProperties")
    if kind == "object" and isinstance(values, dict) and values:
        return f"dict[str, {_type(values)}]"
    return _TYPES.get(kind or "", "any")
