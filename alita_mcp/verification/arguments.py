"""Arguments and results against a tool's schemas: one message that names every problem and where it is."""

from __future__ import annotations

import difflib
import json
import math
import reprlib
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from alita_mcp.errors import InvalidArguments
from alita_mcp.values import Schema
from alita_mcp.verification.findings import encodable, is_unicode

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

MAX_PROBLEMS = 5
MAX_ERRORS = 100
"""An array of a million wrong items is not read to its end."""

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60
_KINDS = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
    "array": "an array", "object": "an object", "null": "null",
}  # fmt: skip


def validate_arguments(schema: Schema, arguments: dict[str, Any]) -> None:
    """Checks arguments against a tool's input schema.

    An integer is an int: 1.0 is refused, because the code that declares int gets what was sent.

    Raises:
        InvalidArguments: they do not fit; the message lists up to five problems, each with its path.
    """
    problems = _problems(schema, arguments, strict_integers=True)
    if not problems and not is_unicode(arguments):
        problems = ["a text holds half of a surrogate pair, which is not Unicode"]
    if problems:
        raise InvalidArguments(encodable("; ".join(problems)) + ".", hint="Look at the tool's input schema.")


def validate_result(schema: Schema, result: Any) -> str | None:
    """What is wrong with a result as delivered (wrapped where the contract wraps); None when it fits.

    2.0 is an integer here, as JSON Schema has it and every client's validator agrees.
    """
    return encodable("; ".join(_problems(schema, result, strict_integers=False))) or None


def delivered(value: Any, *, wraps_result: bool) -> Any:
    """A raw result as clients get it."""
    return {"result": value} if wraps_result else value


def _problems(schema: Schema, instance: Any, *, strict_integers: bool) -> list[str]:
    validator = _validator(json.dumps(schema), strict_integers)
    try:
        errors = list(islice(validator.iter_errors(instance), MAX_ERRORS))
    except (RecursionError, ValueError):  # the library prints what it refuses
        return ["something is nested too deeply, or a number has thousands of digits"]
    errors.sort(key=lambda error: error.json_path)
    problems = [message for error in errors[:MAX_PROBLEMS] for message in _messages(error)]
    if len(errors) > MAX_PROBLEMS:
        problems.append("and more")
    return list(dict.fromkeys(problems))


@lru_cache(maxsize=256)
def _validator(schema_text: str, strict_integers: bool) -> Validator:
    from jsonschema import Draft202012Validator, validators

    def is_integer(_checker: object, value: object) -> bool:
        if isinstance(value, float) and not strict_integers:
            return value.is_integer()
        return isinstance(value, int) and not isinstance(value, bool)

    def is_number(_checker: object, value: object) -> bool:
        if isinstance(value, float):
            return math.isfinite(value)
        return isinstance(value, int) and not isinstance(value, bool)

    checker = Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": is_integer, "number": is_number})
    validator: Validator = validators.extend(Draft202012Validator, type_checker=checker)(
        json.loads(schema_text)
    )
    return validator


def _messages(error: ValidationError) -> Iterable[str]:
    """One error in words; jsonschema's own message repeats the whole instance, however large."""
    path = error.json_path.removeprefix("$").removeprefix(".")
    where = f"{path}: " if path else ""
    got = _shown(error.instance)
    match error.validator:
        case "required":
            missing = sorted(set(error.validator_value) - error.instance.keys())
            return [f"{where}{name!r} is missing" for name in missing[:MAX_PROBLEMS]]
        case "additionalProperties" if error.validator_value is False:
            known = list(error.schema.get("properties", {}))
            unknown = sorted(str(name) for name in error.instance.keys() - set(known))
            return [f"{where}{_unknown(name, known)}" for name in unknown[:MAX_PROBLEMS]]
        case "type":
            kind = _KINDS.get(str(error.validator_value), str(error.validator_value))
            leave_out = "; leave it out instead" if error.instance is None and path else ""
            return [f"{where}{got} is not {kind}{leave_out}"]
        case "enum":
            return [f"{where}{got} is not one of {json.dumps(error.validator_value)[:300]}"]
    return [f"{where}{got} does not fit {error.validator}"]


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name[:64], known, n=1)
    if near:
        return f"there is no {name[:64]!r}, did you mean {near[0]!r}?"
    return f"there is no {name[:64]!r}, only {', '.join(known)}" if known else f"there is no {name[:64]!r}"


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return _REPR.repr(value)
