"""Validator of arguments and results against a tool's JSON schemas."""

from __future__ import annotations

import difflib
import json
import reprlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest
from itertools import islice
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails, SchemaValidator, ValidationError, core_schema

from alita_mcp.errors import InvalidArguments
from alita_mcp.event_loop import is_large
from alita_mcp.values import Schema
from alita_mcp.verification.findings import encodable, is_unicode
from alita_mcp.verification.images import decode_image, is_image

MAX_PROBLEMS = 5
SEE_SCHEMA = "Look at the tool's input schema."

_KINDS = {"list_type": "is not an array", "dict_type": "is not an object"}
_IN_PYTHON: dict[str, type | tuple[type, ...]] = {
    "array": list, "object": dict, "integer": (int, float), "number": (int, float), "boolean": bool,
}  # fmt: skip
"""What JSON text has to be parsed to where a schema wants one of these."""
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60
_KEYWORDS = frozenset({
    "type", "description", "default", "title", "properties", "required", "additionalProperties", "items", "enum",
    "minimum", "maximum", "minLength", "maxLength",
})  # fmt: skip


def validate_arguments(schema: Schema, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments as they were meant, checked against a tool's input schema.

    Models send (1) JSON text where an array, an object, a number or a boolean is wanted, and (2) null for what they
    leave out, or an empty text or "null" where no text is wanted. 2.0 is an integer, as JSON Schema has it.

    Raises:
        InvalidArguments: they do not fit; the message lists up to five problems, each with its path.
    """
    try:
        check_arguments(schema, arguments)
    except InvalidArguments:
        arguments = _as_meant(schema, arguments)
        check_arguments(schema, arguments)
    return arguments


def check_arguments(schema: Schema, arguments: dict[str, Any]) -> None:
    """Checks arguments as a tool's code gets them.

    Raises:
        InvalidArguments: as `validate_arguments`.
    """
    problems = _problems(schema, arguments, strict_integers=True)
    if not problems and not is_unicode(arguments):
        problems = ["a text holds half of a surrogate pair, which is not Unicode"]
    if problems:
        raise InvalidArguments(encodable("; ".join(problems)) + ".", hint=SEE_SCHEMA)


def _as_meant(schema: Schema, value: Any) -> Any:
    """A value in the form that the schema wants, as far as it can only be meant so; no deeper than the schema goes."""
    kind = schema.get("type")
    if isinstance(value, str) and kind in _IN_PYTHON:
        text = value.strip()
        try:
            parsed = json.loads(text.lower() if kind == "boolean" else text)
        except (ValueError, RecursionError):
            return value
        if not isinstance(parsed, _IN_PYTHON[kind]) or isinstance(parsed, bool) != (kind == "boolean"):
            return value
        value = parsed
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "array" and isinstance(value, list):
        return [_as_meant(schema.get("items", {}), each) for each in value]
    if kind != "object" or not isinstance(value, dict):
        return value
    nodes, required, free = schema.get("properties", {}), schema.get("required", ()), _free_values(schema)
    meant = {}
    for name, part in value.items():
        wanted = nodes.get(name, free).get("type")
        empty = part is None or (
            wanted in _IN_PYTHON and isinstance(part, str) and part.strip() in ("", "null")
        )
        if not empty or name in required or name not in nodes or wanted is None:
            meant[name] = _as_meant(nodes.get(name, free), part)
    return meant


def _free_values(schema: Schema) -> Schema:
    """The schema of the values of an object whose keys are free."""
    more = schema.get("additionalProperties")
    return more if isinstance(more, dict) else {}


def validate_result(schema: Schema, result: Any) -> str | None:
    """The misfit of a result as delivered (wrapped where the contract wraps); None when it fits.

    2.0 is an integer here, as JSON Schema has it and every client's validator agrees.
    """
    problems = _problems(schema, result, strict_integers=False)
    if is_image(schema):
        try:
            decode_image(result)
        except ValueError as wrong:
            return str(wrong)
    return encodable("; ".join(problems)) if problems else None


def wrap_result(value: Any, *, wraps_result: bool) -> Any:
    """A result in the form that clients receive."""
    return {"result": value} if wraps_result else value


def _problems(schema: Schema, instance: Any, *, strict_integers: bool) -> list[str]:
    """Problems in words; of a large value only the first in each list, for a million would be written down."""
    # unknown names first, with the name that may be meant; then what the compiled validator refuses
    problems = list(islice(_unknown_names(schema, instance, []), MAX_PROBLEMS + 1))
    validator = _validator(json.dumps(schema), strict_integers, is_large(instance))
    try:
        validator.validate_python(instance)
    except ValidationError as refused:
        try:
            errors = refused.errors(include_url=False)
            problems += sorted(_describe(error) for error in errors)
        except (RecursionError, ValueError):  # Python does not print every number
            return ["something is nested too deeply, or a number has thousands of digits"]
    return problems[:MAX_PROBLEMS] + ["and more"] * (len(problems) > MAX_PROBLEMS)


def _unknown_names(schema: Schema, value: Any, path: list[int | str]) -> Iterator[str]:
    """Problems with names that no object of the schema has, one after the other: there may be a hundred thousand."""
    if isinstance(value, list):
        items = schema.get("items", {})
        if "properties" in items or "items" in items or _free_values(items):
            for number, each in enumerate(value):
                yield from _unknown_names(items, each, [*path, number])
    if not isinstance(value, dict):
        return
    nodes, free = schema.get("properties", {}), _free_values(schema)
    if schema.get("additionalProperties") is False:
        for name in map(str, nsmallest(MAX_PROBLEMS + 1, value.keys() - nodes)):
            near = difflib.get_close_matches(name[:64], nodes, n=1)
            only = f", only {', '.join(nodes)}" if nodes else ""
            instead = f" (did you mean {near[0]!r}?)" if near else only
            yield f"{_where(path)}there is no {name[:64]!r}{instead}"
    for name in value if free else nodes:
        if name in value:
            yield from _unknown_names(nodes.get(name, free), value[name], [*path, name])


@lru_cache(maxsize=512)
def _validator(schema_text: str, strict_integers: bool, fail_fast: bool) -> SchemaValidator:
    return SchemaValidator(_Reader(strict_integers, fail_fast).validator_of(json.loads(schema_text)))


class _Reader(NamedTuple):
    """Maker of validators of the part of JSON Schema that tools are described in."""

    strict_integers: bool
    fail_fast: bool

    def validator_of(self, schema: Schema) -> core_schema.CoreSchema:
        """The validator of one node; a node without `type` takes anything.

        Raises:
            ValueError: a keyword that no tool's schema has.
        """
        if unknown := schema.keys() - _KEYWORDS:
            raise ValueError(f"no schema of a tool has {', '.join(sorted(unknown))}")
        if "enum" in schema:
            values = schema["enum"]
            return _with_message(core_schema.literal_schema(values), f"one of {json.dumps(values)[:300]}")
        match schema.get("type"):
            case "string":
                shortest, longest = schema.get("minLength"), schema.get("maxLength")
                bounds = f" of {shortest or 0} to {longest} characters" if longest is not None else ""
                text = core_schema.str_schema(strict=True, min_length=shortest, max_length=longest)
                return _with_message(text, f"a string{bounds}")
            case "boolean":
                return _with_message(core_schema.bool_schema(strict=True), "true or false")
            case "integer":
                least, most = schema.get("minimum"), schema.get("maximum")
                bounds = (f" from {least}" * (least is not None)) + (f" to {most}" * (most is not None))
                whole: core_schema.CoreSchema = core_schema.int_schema(strict=True, ge=least, le=most)
                if not self.strict_integers:
                    real = _real(ge=least, le=most)
                    integral = core_schema.no_info_after_validator_function(_integral, real)
                    whole = core_schema.union_schema([whole, integral], mode="left_to_right")
                return _with_message(whole, f"an integer{bounds}")
            case "number":
                either = core_schema.union_schema(
                    [_real(), core_schema.int_schema(strict=True)], mode="left_to_right"
                )
                return _with_message(either, "a number")
            case "array":
                items = self.validator_of(schema.get("items", {}))
                return core_schema.list_schema(items, strict=True, fail_fast=self.fail_fast)
            case "object":
                return self._object(schema)
            case None:
                return core_schema.any_schema()
            case other:
                raise ValueError(f"no schema of a tool has the type {other!r}")

    def _object(self, schema: Schema) -> core_schema.CoreSchema:
        nodes, required = schema.get("properties", {}), schema.get("required", [])
        fields = {
            name: core_schema.typed_dict_field(
                self.validator_of(nodes.get(name, {})), required=name in required
            )
            for name in dict.fromkeys([*nodes, *required])
        }
        more = schema.get("additionalProperties", True)
        if isinstance(more, dict) and not fields:
            keys = core_schema.str_schema(strict=True)
            return core_schema.dict_schema(
                keys, self.validator_of(more), strict=True, fail_fast=self.fail_fast
            )
        extras = self.validator_of(more) if isinstance(more, dict) else None
        return core_schema.typed_dict_schema(
            fields, strict=True, extra_behavior="allow", extras_schema=extras
        )


def _real(**bounds: Any) -> core_schema.CoreSchema:
    return core_schema.float_schema(strict=True, allow_inf_nan=False, **bounds)


def _integral(value: float) -> float:
    if value.is_integer():
        return value
    raise ValueError


def _with_message(schema: core_schema.CoreSchema, what: str) -> core_schema.CoreSchema:
    return core_schema.custom_error_schema(
        schema, custom_error_type="kind", custom_error_message=f"is not {what}"
    )


def _describe(error: ErrorDetails) -> str:
    """One problem in words; the library's own repeats the whole value, however large."""
    if error["type"] == "missing":
        *parents, name = error["loc"]
        return f"{_where(parents)}{name!r} is missing"
    value = error["input"]
    problem = _KINDS.get(error["type"], error["msg"])
    if isinstance(value, str) and error["type"] in _KINDS:
        try:
            json.loads(value)
        except (ValueError, RecursionError) as unreadable:
            problem += f", nor the text of one: {unreadable}"
    shown = json.dumps(value) if value is None or isinstance(value, bool) else _REPR.repr(value)
    return f"{_where(error['loc'])}{shown} {problem}"


def _where(path: Sequence[int | str]) -> str:
    """A place as `rows[1].id: `; the root has no name."""
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step[:100]}" for step in path)
    return f"{steps.removeprefix('.')}: " if steps else ""
