"""Translator of annotations to JSON Schema, in the small subset that every client accepts.

One scalar `type` per node, arrays with `items`, string enums, objects with fixed or free keys, all inlined.
A result that may be null has a node without `type` whose description says so, because clients accept neither
`["integer", "null"]` nor `anyOf`; an argument that may be null is an optional property instead.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Schema
from alita_mcp.verification.code.names import Names
from alita_mcp.verification.code.source import excerpt, parse_expression
from alita_mcp.verification.findings import ContractError, refusal

GENERAL_ADVICE = (
    'Write one of: str int float bool list[T] dict[str, T] Literal["a", "b"] T | None, '
    "or a TypedDict of these."
)

FLATTEN = "Flatten the type, or carry the inner part as JSON text in a str."

_ADVICE = {
    name: advice
    for names, advice in (
        (
            "list List set Set frozenset FrozenSet tuple Tuple Sequence Iterable Iterator Collection deque ndarray",
            "Write list[str] (or another item type).",
        ),
        (
            "dict Dict Mapping MutableMapping OrderedDict defaultdict Counter",
            "Write dict[str, str] (or another value type), or a TypedDict when the keys are known.",
        ),
        (
            "Any object JSON DataFrame",
            "Write the concrete type; for JSON of any shape take or return its text as a str.",
        ),
        ("datetime date time timedelta tzinfo", "Write str and use ISO 8601 text."),
        ("Decimal Fraction UUID Path PurePath Pattern", "Write str and convert inside the function."),
        (
            "bytes bytearray memoryview",
            "Write str and use base64 text; return an image as `alita_tool.Image`.",
        ),
        ("Enum StrEnum IntEnum Flag Literal", 'Write Literal["a", "b"] of the values.'),
        ("NamedTuple BaseModel namedtuple", "Write a TypedDict with the same keys."),
        ("complex", "Write two floats, or list[float]."),
        (
            "Image Figure",
            "An image can be a whole result, as in `-> alita_tool.Image`; take one as base64 text in a str.",
        ),
        ("Callable", "Functions cannot be sent as JSON: take a str that names the choice."),
    )
    for name in names.split()
}
"""What to write instead of a type, by its name."""


def advice_for(name: str, bases: Sequence[str] = ()) -> str:
    """The advice for a type of that dotted name, or for a class with those bases."""
    for candidate in (name, *bases):
        known = _ADVICE.get(candidate.rsplit(".", 1)[-1])
        if known:
            return known
    return GENERAL_ADVICE


MAX_DEPTH = 4
"""Levels of nodes below the root."""
MAX_PROPERTIES = 20
MAX_ALIASES = 20
MAX_NODES = 500
"""Aliases and unions can double at each level; this many readings are enough for any honest signature."""

PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

Direction = Literal["input", "output"]

_SCALARS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_LISTS = {"list", "typing.List"}
_TUPLES = {"tuple", "typing.Tuple"}
_DICTS = {"dict", "typing.Dict"}
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
    if any(names.full_name(base) == "typing.TypedDict" for each in lineage for base in each.bases):
        return RecordType("TypedDict", _fields(lineage, names), line)
    for decorator in definition.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        if names.full_name(function) == "dataclasses.dataclass":
            return RecordType("dataclass", _fields(lineage, names), line)
    return None


def is_error_class(definition: ast.ClassDef, names: Names) -> bool:
    """Whether a class derives from an exception, as far as its own module shows."""
    for each in _lineage(definition, names):
        for base in each.bases:
            known = getattr(builtins, names.full_name(base), None)
            if isinstance(known, type) and issubclass(known, BaseException):
                return True
            if names.full_name(base).lower().endswith(("error", "exception")):
                return True
    return False


def _lineage(definition: ast.ClassDef, names: Names) -> list[ast.ClassDef]:
    """The class and its ancestors in the same module, ancestors first, each once."""
    pending, seen = [definition], [definition]
    while pending:
        for base in pending.pop().bases:
            parent = names.classes.get(base.id) if isinstance(base, ast.Name) else None
            if parent is not None and parent not in seen:
                seen.append(parent)
                pending.append(parent)
    return seen[::-1]


def _fields(lineage: list[ast.ClassDef], names: Names) -> tuple[RecordField, ...]:
    fields: dict[str, RecordField] = {}
    for definition in lineage:
        total = not _is_false(definition.keywords, "total")
        for statement in definition.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            value, settable, has_default = statement.value, True, statement.value is not None
            if isinstance(value, ast.Call):
                settable = not _is_false(value.keywords, "init")
                if names.full_name(value.func) == "dataclasses.field":
                    has_default = any(word.arg in {"default", "default_factory"} for word in value.keywords)
            annotation, required, wrapper = statement.annotation, total and not has_default, ""
            while isinstance(annotation, ast.Subscript):
                wrapper = names.full_name(annotation.value)
                if wrapper not in _PRESENCE and wrapper != "typing.ReadOnly":
                    break
                required = _PRESENCE.get(wrapper, required)
                annotation = annotation.slice
            if wrapper not in _SKIPPED:
                name = statement.target.id
                fields[name] = RecordField(name, annotation, required, settable)
    return tuple(fields.values())


def _is_false(keywords: list[ast.keyword], name: str) -> bool:
    return any(
        word.arg == name and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in keywords
    )


@dataclass(frozen=True)
class Place:
    """Position of a type, for error messages and for the detection of recursion."""

    what: str
    line: int
    depth: int = 1
    within: tuple[str, ...] = ()

    def below(self, suffix: str) -> Place:
        """The place one level deeper."""
        return replace(self, what=self.what + suffix, depth=self.depth + 1)

    def inside(self, name: str) -> Place:
        """The same place, marked as inside the named class or alias."""
        return replace(self, within=(*self.within, name))

    def refuse(self, message: str, fix: str) -> ContractError:
        """The error for a type that is not allowed in this place."""
        return refusal(f"{self.what}: {message}", fix, line=self.line, stage="schema")


@dataclass(frozen=True)
class TypeNode:
    """A type as read: its schema without null, and whether null is allowed too."""

    schema: Schema = field(default_factory=dict)
    nullable: bool = False
    note: str = ""
    """Description from `Annotated`."""


class SchemaReader:
    """Reads a module's annotations for arguments or for results; `used` are the classes it met."""

    def __init__(self, names: Names, direction: Direction) -> None:
        self.used: set[str] = set()
        self._names = names
        self._direction = direction
        self._readings = 0

    def full_name(self, annotation: ast.expr) -> str:
        """The dotted name that an annotation is, in quotes or not; empty for any other one."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = parse_expression(annotation.value)
        return self._names.full_name(annotation)

    def read_type(self, annotation: ast.expr, place: Place) -> TypeNode:
        """The type of an annotation.

        Raises:
            ContractError: the type has no place in the subset; the fix says what to write instead.
        """
        self._readings += 1
        if self._readings > MAX_NODES:
            raise place.refuse("the types of this signature are too large", "Use fewer and smaller types.")
        if place.depth > MAX_DEPTH or len(place.within) > MAX_ALIASES:
            raise place.refuse(f"nested more than {MAX_DEPTH} levels deep", FLATTEN)
        if isinstance(annotation, ast.Constant):
            return self._constant(annotation, place)
        if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
            members: list[ast.expr] = []  # `A | B | C` nests to the left
            rest: ast.expr = annotation
            while isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.BitOr):
                members.append(rest.right)
                rest = rest.left
            return self._union([rest, *reversed(members)], place)
        if isinstance(annotation, ast.Subscript):
            return self._subscript(annotation, place)
        return self._name(annotation, place)

    def node(self, annotation: ast.expr, place: Place, *, may_leave_out: bool = False) -> Schema:
        """The schema of a nested type, in which null has to be a type of its own."""
        found = self.read_type(annotation, place)
        if self._direction == "input" and found.nullable:
            if not may_leave_out or not found.schema:
                fix = "Leave None out; a key may be NotRequired[T], a dataclass field may have a default."
                raise place.refuse("null cannot stand inside an argument", fix)
            found = replace(found, nullable=False)  # who means None leaves the key out
        return self.schema_with_null(found)

    def schema_with_null(self, found: TypeNode) -> Schema:
        """The schema of a type, with null as a type where it is allowed."""
        if not found.nullable:
            return {**found.schema, "description": found.note} if found.note else found.schema
        words = f"{_in_words(found.schema)} or null" if found.schema else "null"
        return {"description": f"{found.note} ({words})" if found.note else words}

    def _constant(self, annotation: ast.Constant, place: Place) -> TypeNode:
        if annotation.value is None:
            return TypeNode(nullable=True)
        if isinstance(annotation.value, str):
            return self.read_type(parse_expression(annotation.value), place)
        raise place.refuse(f"{excerpt(annotation)} is not a type", GENERAL_ADVICE)

    def _name(self, annotation: ast.expr, place: Place) -> TypeNode:
        # A name is (1) an alias, (2) a class of the module, or (3) a scalar.
        name = self._names.full_name(annotation)
        if name in place.within:
            raise place.refuse(f"{name} refers to itself", FLATTEN)
        local = annotation.id if isinstance(annotation, ast.Name) else ""
        alias = self._names.aliases.get(local)
        if alias is not None:
            return self.read_type(alias, place.inside(name))
        definition = self._names.classes.get(local)
        if definition is not None:
            record = record_type_of(definition, self._names)
            if record is None:
                bases = [self._names.full_name(base) for base in definition.bases]
                raise place.refuse(f"{name} is not a JSON type", advice_for(name, bases))
            self.used.update(record.lineage)
            return TypeNode(self._record(record, place.inside(name)))
        if name in _SCALARS:
            return TypeNode({"type": _SCALARS[name]})
        raise place.refuse(f"{name or excerpt(annotation)} is not a JSON type", advice_for(name))

    def _subscript(self, annotation: ast.Subscript, place: Place) -> TypeNode:
        base = self._names.full_name(annotation.value)
        inner = annotation.slice
        arguments = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        match base:
            case "typing.Optional" if len(arguments) == 1:
                return replace(self.read_type(arguments[0], place), nullable=True)
            case "typing.Union" if arguments:
                return self._union(arguments, place)
            case "typing.Annotated" if len(arguments) > 1:
                found = self.read_type(arguments[0], place)
                texts = [each.value for each in arguments[1:] if isinstance(each, ast.Constant)]
                note = next((text for text in texts if isinstance(text, str)), found.note)
                return replace(found, note=" ".join(note.split()))
            case "typing.Literal" if arguments:
                values = [each.value if isinstance(each, ast.Constant) else None for each in arguments]
                strings = [value for value in values if isinstance(value, str)]
                if len(strings) != len(values):
                    fix = 'Write Literal["a", "b"], or int or bool.'
                    raise place.refuse("Literal holds something other than strings", fix)
                if any(HIDDEN.search(text) for text in strings):
                    raise place.refuse("Literal holds a hidden character", "Use visible characters only.")
                return TypeNode({"type": "string", "enum": list(dict.fromkeys(strings))})
            case _ if base in _LISTS and len(arguments) == 1:
                return TypeNode({"type": "array", "items": self.node(arguments[0], place.below("[]"))})
            case _ if base in _DICTS and len(arguments) == 2:
                if self.read_type(arguments[0], place) != TypeNode({"type": "string"}):
                    raise place.refuse("keys of a JSON object are strings", "Write dict[str, T].")
                values_node = self.node(arguments[1], place.below("{}"))
                return TypeNode({"type": "object", "additionalProperties": values_node})
            case _ if base in _TUPLES and arguments:
                if self._direction == "input":
                    raise place.refuse("JSON has no tuples", "Write list[T]; the items arrive as a list.")
                kept = [
                    each for each in arguments if not (isinstance(each, ast.Constant) and each.value is ...)
                ]
                nodes = [self.node(each, place.below("[]")) for each in kept]
                if not nodes or any(node != nodes[0] for node in nodes):
                    fix = "Return a TypedDict with a key for each."
                    raise place.refuse("a tuple of different types has no schema", fix)
                return TypeNode({"type": "array", "items": nodes[0]})
        raise place.refuse(f"{excerpt(annotation)} is not a JSON type", advice_for(base))

    def _union(self, members: list[ast.expr], place: Place) -> TypeNode:
        # A union is (1) null alone, (2) one choice of strings, (3) a number that may be whole, (4) one type with null,
        # or a choice that no client can express.
        found = [self.read_type(member, place) for member in members]
        nullable = any(each.nullable for each in found)
        note = next((each.note for each in found if each.note), "")
        schemas = [each.schema for each in found if each.schema]
        if not schemas:
            return TypeNode(nullable=True)
        if all("enum" in schema for schema in schemas):
            values = dict.fromkeys(value for schema in schemas for value in schema["enum"])
            return TypeNode({"type": "string", "enum": list(values)}, nullable, note)
        if {"type": "number"} in schemas:
            schemas = [schema for schema in schemas if schema != {"type": "integer"}]
        if any(schema != schemas[0] for schema in schemas):
            words = " | ".join(_in_words(schema) for schema in schemas)
            raise place.refuse(
                f"clients cannot express a choice between types ({words})",
                "Use one type (str can carry any of them), or one optional parameter per type.",
            )
        return TypeNode(schemas[0], nullable, note)

    def _record(self, record: RecordType, place: Place) -> Schema:
        """A fixed set of keys. A result holds all fields of a dataclass, with or without a default."""
        is_input = self._direction == "input"
        fields = [each for each in record.fields if each.settable or not is_input]
        if len(fields) > MAX_PROPERTIES:
            raise place.refuse(f"more than {MAX_PROPERTIES} keys", "Split the type.")
        for each in fields:
            check_property_name(each.name, place)
        properties = {
            each.name: self.node(
                each.annotation, place.below(f".{each.name}"), may_leave_out=not each.required
            )
            for each in fields
        }
        always_there = record.kind == "dataclass" and not is_input
        required = [each.name for each in fields if each.required or always_there]
        schema: Schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        return {**schema, "additionalProperties": False} if is_input else schema


def check_property_name(name: str, place: Place) -> None:
    """Refuses a name that some clients would not take as a property."""
    if not PROPERTY_NAME.fullmatch(name):
        raise place.refuse(f"the name {name[:80]!r} is not portable", "Use at most 64 of a-z A-Z 0-9 and _.")


def levels_of(schema: Schema) -> int:
    """Depth of the nodes below a schema."""
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return max((1 + levels_of(node) for node in inner if isinstance(node, dict)), default=0)


def _in_words(schema: Schema) -> str:
    if "enum" in schema:
        return " or ".join(f'"{value}"' for value in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_in_words(schema['items'])}"
    return str(schema.get("type") or schema.get("description", "any"))
