"""Admission check of manifests: finds what would break clients, since one bad definition hides a whole server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Literal

from mcp_types import methods
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from alita_mcp.server.results.building import is_deeper_than
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

_Name = Annotated[str, Field(pattern=r"\A[a-zA-Z0-9_-]{1,64}\z")]
_Count = Annotated[int, Field(ge=0)]
_Number = Annotated[float, Field(gt=-MAX_BOUND, lt=MAX_BOUND, allow_inf_nan=False)]


class _Node(BaseModel):
    """The part of JSON Schema that every client reads: no references, choices, patterns, formats or headers."""

    model_config = ConfigDict(extra="forbid", strict=True)

    type: Literal["string", "integer", "number", "boolean", "array", "object"] | None = None
    title: str = ""
    description: str = ""
    default: str | int | float | bool | None = None
    enum: Annotated[list[str], Field(min_length=1)] | None = None
    properties: Annotated[dict[_Name, _Node], Field(max_length=MAX_PROPERTIES)] | None = None
    required: list[str] = []
    additionalProperties: bool | _Node = True  # noqa: N815 - the keywords of JSON Schema
    items: _Node | None = None
    uniqueItems: bool = False  # noqa: N815
    minLength: _Count = 0  # noqa: N815
    maxLength: _Count = 0  # noqa: N815
    minItems: _Count = 0  # noqa: N815
    maxItems: _Count = 0  # noqa: N815
    minimum: _Number = 0
    maximum: _Number = 0
    exclusiveMinimum: _Number = 0  # noqa: N815
    exclusiveMaximum: _Number = 0  # noqa: N815
    multipleOf: Annotated[_Number, Field(gt=0)] = 1  # noqa: N815

    @model_validator(mode="after")
    def _is_consistent(self) -> _Node:
        if self.type == "array" and self.items is None:
            raise ValueError("an array needs items")
        if self.enum is not None and (self.type != "string" or len({*self.enum}) < len(self.enum)):
            raise ValueError("an enum lists different strings, with type string")
        if not {*self.required} <= (self.properties or {}).keys() or len({*self.required}) < len(
            self.required
        ):
            raise ValueError("required must list properties, each once")
        return self

    def walk(self, where: str, depth: int = 0) -> Iterator[tuple[str, _Node, int]]:
        """Every node, the root first, with its path and its depth."""
        yield where, self, depth
        for name, child in (self.properties or {}).items():
            yield from child.walk(f"{where}.{name}", depth + 1)
        if self.items is not None:
            yield from self.items.walk(f"{where}[]", depth + 1)
        if isinstance(self.additionalProperties, _Node):
            yield from self.additionalProperties.walk(f"{where}{{}}", depth + 1)


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
    problems += _schema_problems("input schema", manifest.input_schema, manifest)
    problems += _schema_problems("output schema", manifest.output_schema, manifest)
    return tuple(problems) or tuple(_wire_problems(manifest))


def _text_problems(where: str, text: str, manifest: Manifest) -> list[str]:
    return [check.message for check in text_checks(where, text, MAX_DESCRIPTION, manifest.grants)]


def _schema_problems(label: str, schema: Schema, manifest: Manifest) -> Iterator[str]:
    is_input = label == "input schema"
    if is_deeper_than(schema, 4 * MAX_DEPTH):
        yield f"{label}: nested too deeply"
        return
    try:
        root = _Node.model_validate(schema)
    except ValidationError as unfit:
        for error in unfit.errors(include_url=False, include_input=False, include_context=False):
            place = ".".join(str(part)[:64] for part in (label, *error["loc"]))
            refused = "clients refuse this keyword" if error["type"] == "extra_forbidden" else error["msg"]
            yield f"{place}: {refused}"
        return
    if root.type != "object" or (is_input and root.properties is None):
        yield f"{label}: the root must be an object with properties, even if there are none"
    for where, node, depth in root.walk(label):
        if depth > MAX_DEPTH:
            yield f"{where}: more than {MAX_DEPTH} levels deep"
        if is_input and node.type is None:
            yield f"{where}: a type is needed"
        texts = {"title": node.title, "description": node.description, "default": node.default}
        for name, text in (*texts.items(), *(("enum", value) for value in node.enum or ())):
            if isinstance(text, str):
                yield from _text_problems(f"the {name} of {where}", text, manifest)


def _wire_problems(manifest: Manifest) -> Iterator[str]:
    """Whether the definition reaches clients of both eras; asked last, of definitions that look right."""
    tool = definition_of(manifest).model_dump(by_alias=True, mode="json", exclude_none=True)
    try:
        size = len(json.dumps(tool, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, RecursionError, TypeError):
        yield "the definition is not JSON"
        return
    if size > MAX_BYTES:
        yield f"the definition has {size:,} bytes; the limit is {MAX_BYTES:,}"
    listed = {"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    for era in ERAS:
        try:
            methods.serialize_server_result("tools/list", era, listed)
        except ValidationError:
            yield f"clients of protocol {era} cannot read the definition"
