"""Form of a tool's parameters, made from its input schema, and the arguments that a filled-in form stands for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.search.signature import type_name
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Schema, Value

PREFIX = "argument."
"""Before a parameter's name in the name of its field."""
_SHOWN = 40


class FormField(Value):
    """Field of one parameter."""

    name: str
    type_name: str
    description: str
    is_text: bool
    """Whether what is typed is taken as it is; else it is JSON, as in `12`, `true` and `["a"]`."""
    is_required: bool
    default: str
    """What stands in it at first; nothing where a person would not see what it is: left out, the tool takes it."""
    choices: tuple[str, ...]
    """All that may be typed; none where much may be."""


def form_fields(schema: Schema) -> list[FormField]:
    """A field for each parameter, with its default."""
    fields = []
    for name, node in schema.get("properties", {}).items():
        default, is_text = node.get("default"), node.get("type") == "string"
        shown = str(default or "") if is_text else "" if default is None else json.dumps(default)
        field = FormField(
            name=name,
            type_name=type_name(node),
            description=str(node.get("description", "")),
            is_text=is_text,
            is_required=name in schema.get("required", ()),
            default="" if HIDDEN.search(shown) else shown,
            choices=("true", "false")
            if node.get("type") == "boolean"
            else tuple(map(str, node.get("enum", ()))),
        )
        fields.append(field)
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
        if field.is_text:
            # An empty text is one where it is required, or where somebody emptied the field.
            if text or field.is_required or field.default:
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
