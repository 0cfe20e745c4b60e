"""Reader of the fields of a TypedDict or dataclass, from the syntax tree."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, replace
from typing import Literal

from alita_mcp.verification.code.names import Names

_PRESENCE = {"typing.Required": True, "typing.NotRequired": False}
_SKIPPED = {"typing.ClassVar", "dataclasses.InitVar"}


@dataclass(frozen=True)
class RecordField:
    """One key of a record; `annotation` is free of Required, NotRequired and ReadOnly."""

    name: str
    annotation: ast.expr
    required: bool
    """Whether a caller must send it: false with a default, or by NotRequired."""
    settable: bool = True
    """False for a dataclass's `field(init=False)`, which no caller can send."""


@dataclass(frozen=True)
class RecordType:
    """A class that describes a JSON object with fixed keys."""

    kind: Literal["TypedDict", "dataclass"]
    fields: tuple[RecordField, ...]
    lineage: tuple[str, ...]
    """Names of the class and of the ancestors that it takes fields from."""


def record_type_of(definition: ast.ClassDef, names: Names) -> RecordType | None:
    """The record that a class defines, inherited fields included; None for any other class."""
    lineage = _lineage(definition, names)
    line = tuple(each.name for each in lineage)
    if any(names.dotted(base) == "typing.TypedDict" for each in lineage for base in each.bases):
        return RecordType("TypedDict", _fields(lineage, names), line)
    if any(_is_dataclass_decorator(each, names) for each in definition.decorator_list):
        return RecordType("dataclass", _fields(lineage, names), line)
    return None


def is_error_class(definition: ast.ClassDef, names: Names) -> bool:
    """Whether a class derives from an exception, as far as its own module shows."""
    for each in _lineage(definition, names):
        for base in each.bases:
            known = getattr(builtins, names.dotted(base), None)
            if isinstance(known, type) and issubclass(known, BaseException):
                return True
            if names.dotted(base).lower().endswith(("error", "exception")):
                return True
    return False


def _lineage(definition: ast.ClassDef, names: Names) -> list[ast.ClassDef]:
    """The class and its ancestors in the same module, ancestors first, each once."""
    pending, seen = [definition], [definition]
    while pending:
        for base in pending.pop().bases:
            parent = names.local_class(base)
            if parent is not None and parent not in seen:
                seen.append(parent)
                pending.append(parent)
    return seen[::-1]


def _is_dataclass_decorator(decorator: ast.expr, names: Names) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return names.dotted(function) == "dataclasses.dataclass"


def _fields(lineage: list[ast.ClassDef], names: Names) -> tuple[RecordField, ...]:
    fields: dict[str, RecordField] = {}
    for each in lineage:
        total = not _is_false(each.keywords, "total")
        for statement in each.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                required = total and not _has_default(statement.value, names)
                found = _field(statement.target.id, statement.annotation, names, required)
                value = statement.value
                settable = not (isinstance(value, ast.Call) and _is_false(value.keywords, "init"))
                if found is not None:
                    fields[found.name] = replace(found, settable=settable)
    return tuple(fields.values())


def _has_default(value: ast.expr | None, names: Names) -> bool:
    """Whether a dataclass field has a default: a plain value, or `field(default=…)`."""
    if isinstance(value, ast.Call) and names.dotted(value.func) == "dataclasses.field":
        return any(word.arg in {"default", "default_factory"} for word in value.keywords)
    return value is not None


def _is_false(keywords: list[ast.keyword], name: str) -> bool:
    return any(
        word.arg == name and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in keywords
    )


def _field(name: str, annotation: ast.expr, names: Names, required: bool) -> RecordField | None:
    while isinstance(annotation, ast.Subscript):
        wrapper = names.dotted(annotation.value)
        if wrapper in _SKIPPED:
            return None
        if wrapper not in _PRESENCE and wrapper != "typing.ReadOnly":
            break
        required = _PRESENCE.get(wrapper, required)
        annotation = annotation.slice
    return RecordField(name, annotation, required)
