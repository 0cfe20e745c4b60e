"""Contract of a tool, read from the syntax tree of its code, which is never imported."""

from __future__ import annotations

import ast
import math

from alita_mcp.texts import clip
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Schema, ToolContract
from alita_mcp.verification.code.docstring import Docstring, read_docstring
from alita_mcp.verification.code.function import (
    Function,
    check_classes,
    check_name,
    check_shape,
    find_function,
)
from alita_mcp.verification.code.names import names_of
from alita_mcp.verification.code.schema import (
    FLATTEN,
    MAX_DEPTH,
    MAX_PROPERTIES,
    Place,
    SchemaReader,
    check_property_name,
    levels_of,
)
from alita_mcp.verification.code.source import excerpt, parse_code
from alita_mcp.verification.findings import refusal
from alita_mcp.verification.images import IMAGE_SCHEMA, IMAGE_TYPES

MAX_SUMMARY = 200
_SAFE_INTEGER = 1 << 53
"""Clients in JavaScript keep integers exact up to here."""


def read_contract(code: str, name: str, description: str) -> ToolContract:
    """The contract that a tool's code declares.

    Raises:
        ContractError: the code does not parse or breaks a rule; its `check` has the line and the fix.
    """
    check_name(name)
    tree = parse_code(code)
    names = names_of(tree)
    function = find_function(tree, name)
    check_shape(function, names)
    docstring = read_docstring(ast.get_docstring(function))
    inputs, outputs = SchemaReader(names, "input"), SchemaReader(names, "output")
    input_schema = _input_schema(function, docstring, inputs)
    output_schema, wraps_result = _output_schema(function, outputs)
    check_classes(names, inputs.used | outputs.used)
    summary = docstring.summary or next((line for line in description.splitlines() if line.strip()), "")
    return ToolContract(
        function=name,
        summary=clip(summary.strip(), MAX_SUMMARY),
        input_schema=input_schema,
        output_schema=output_schema,
        wraps_result=wraps_result,
        is_async=isinstance(function, ast.AsyncFunctionDef),
        raises=docstring.raises,
        imports=top_level_imports(tree),
    )


def top_level_imports(tree: ast.Module) -> tuple[str, ...]:
    """Top-level modules that the code imports anywhere, sorted; `__future__` is a pragma and left out.

    Raises:
        ContractError: a relative import; a tool is one file.
    """
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level or not node.module:
                fix = "A tool is one file: move the code into it, or use a package."
                raise refusal("relative imports do not work in a tool", fix, line=node.lineno)
            found.add(node.module.split(".")[0])
    return tuple(sorted(found - {"__future__"}))


def _input_schema(function: Function, docstring: Docstring, reader: SchemaReader) -> Schema:
    arguments = function.args
    defaults: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults))
    defaults += [*arguments.defaults, *arguments.kw_defaults]
    parameters = [*arguments.args, *arguments.kwonlyargs]
    if len(parameters) > MAX_PROPERTIES:
        message = f"too many parameters: {len(parameters)}, the limit is {MAX_PROPERTIES}"
        raise refusal(message, "Group them in a TypedDict.", line=function.lineno, stage="schema")
    properties: Schema = {}
    required: list[str] = []
    for parameter, default in zip(parameters, defaults, strict=True):
        text = docstring.parameters.get(parameter.arg, "")
        properties[parameter.arg] = _property(parameter, default, text, reader)
        if default is None:
            required.append(parameter.arg)
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def _property(parameter: ast.arg, default: ast.expr | None, text: str, reader: SchemaReader) -> Schema:
    place = Place(f"parameter {parameter.arg!r}", parameter.lineno)
    check_property_name(parameter.arg, place)
    if parameter.annotation is None:
        raise place.refuse("no type", f"Annotate it, as in `{parameter.arg}: str`.")
    found = reader.read_type(parameter.annotation, place)
    if not found.schema:
        raise place.refuse("its type allows only None", "Remove the parameter.")
    if found.nullable and default is None:
        raise place.refuse(
            "may be None but has no default; clients send None by leaving the argument out",
            f"Write `{parameter.arg}: {excerpt(parameter.annotation)} = None`.",
        )
    schema = dict(found.schema)
    if note := found.note or text:
        schema["description"] = note
    if default is None:
        return schema
    # `default` is given for scalars with a literal that JSON carries; callers may leave out the others too
    try:
        value = ast.literal_eval(default)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return schema  # computed at import
    kind = found.schema["type"]
    if value is None or kind in {"array", "object"}:
        return schema
    kinds = {"string": str, "integer": int, "number": int | float, "boolean": bool}
    if "enum" in found.schema:
        fits = value in found.schema["enum"]
    else:
        fits = isinstance(value, kinds[kind]) and isinstance(value, bool) == (kind == "boolean")
    if not fits:
        message = f"the default {excerpt(default)} is not of the declared type"
        raise place.refuse(message, "Change the default or the type.")
    too_large = isinstance(value, int) and abs(value) > _SAFE_INTEGER
    no_number = isinstance(value, float) and not math.isfinite(value)
    hides = isinstance(value, str) and HIDDEN.search(value)
    return schema if too_large or no_number or hides else {**schema, "default": value}


def _output_schema(function: Function, reader: SchemaReader) -> tuple[Schema, bool]:
    place = Place("the result", function.lineno, depth=0)
    if function.returns is None:
        raise place.refuse("no type", f"Annotate it, as in `def {function.name}(...) -> str:`.")
    if reader.full_name(function.returns) in IMAGE_TYPES:
        return IMAGE_SCHEMA, False
    found = reader.read_type(function.returns, place)
    if not found.schema:
        raise place.refuse(
            "the tool returns None, which tells its caller nothing", "Return what was found or done."
        )
    # an object is the result itself, anything else is wrapped as `{"result": …}`
    if found.schema["type"] == "object" and not found.nullable:
        described = {"description": found.note} if found.note else {}
        return {"properties": {}, **found.schema, **described}, False
    result = reader.schema_with_null(found)
    if levels_of(result) >= MAX_DEPTH:
        raise place.refuse(f"nested more than {MAX_DEPTH} levels deep", FLATTEN)
    return {"type": "object", "properties": {"result": result}, "required": ["result"]}, True
