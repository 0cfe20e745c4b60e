"""Form of a tool's parameters, made from its input schema, and the arguments that a filled-in form stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.search.signature import ALL_CHOICES, type_name
from alita_mcp.values import Schema, Value

PREFIX = "argument."
"""Before a parameter's name in the name of its field."""
_SHOWN = 40


class FormField(Value):
    """Field of one parameter."""

    name: str
    kind: Literal["text", "number", "choice", "json"]
    """How it is typed in: as it is, as a number, as one of its `choices`, as JSON text."""
    type_name: str
    description: str
    required: bool
    default: str
    """What stands in it at first."""
    step: str = "any"
    """Of numbers: 1 for integers."""
    choices: tuple[tuple[str, str], ...] = ()
    """What is sent, and what is shown of it."""


def form_fields(schema: Schema, arguments: Mapping[str, Any] | None = None) -> list[FormField]:
    """A field for each parameter; `arguments` stand in them where given, else the defaults."""
    required = schema.get("required", ())
    fields = []
    for name, node in schema.get("properties", {}).items():
        value = node.get("default") if arguments is None else arguments.get(name, node.get("default"))
        kind, is_required = _kind_of(node), name in required
        choices = [(_json(each), _plain(each)) for each in node.get("enum", ())]
        if node.get("type") == "boolean":
            choices = [("true", "true"), ("false", "false")]
        if choices and not (is_required or "default" in node):
            choices.insert(0, ("", "(left out)"))
        fields.append(
            FormField(
                name=name,
                kind=kind,
                type_name=type_name(node, ALL_CHOICES),
                description=str(node.get("description", "")),
                required=is_required,
                default="" if value is None else _plain(value) if kind == "text" else _json(value),
                step="1" if node.get("type") == "integer" else "any",
                choices=tuple(choices),
            )
        )
    return fields


def read_form(schema: Schema, form: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a filled-in form stands for; an empty field of an optional parameter leaves it out.

    Raises:
        InvalidArguments: a field does not hold what its type wants.
    """
    arguments: dict[str, Any] = {}
    for field in form_fields(schema):
        text = form.get(PREFIX + field.name)
        if not isinstance(text, str):
            continue
        if field.kind == "text":
            # An empty text is one where it is required, or where somebody emptied the field.
            if text or field.required or field.default:
                arguments[field.name] = text.replace("\r\n", "\n")  # browsers send line ends so
        elif text.strip():
            try:
                arguments[field.name] = json.loads(text)
            except (ValueError, RecursionError) as broken:
                raise InvalidArguments(
                    f"{field.name}: {text[:_SHOWN]!r} is not JSON of the type {field.type_name[:_SHOWN]}.",
                    hint='Lists are written as in ["a", "b"], objects as in {"key": 1}.',
                ) from broken
    return arguments


def _kind_of(node: Schema) -> Literal["text", "number", "choice", "json"]:
    if "enum" in node or node.get("type") == "boolean":
        return "choice"
    kinds: dict[str, Literal["text", "number"]] = {"string": "text", "integer": "number", "number": "number"}
    return kinds.get(str(node.get("type")), "json")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
