"""Infers the tool contract's type annotation that holds all JSON values that were seen."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from alita_mcp.mining.generalisation.refusal import NoFunctionError

MAX_LEVELS = 3
"""Lists and objects within one another: a node more than that is deeper than clients accept."""
MAX_KEYS = 20
_SCALARS = {bool: "bool", int: "int", float: "float", str: "str"}


@dataclass
class Records:
    """The `TypedDict`s that annotations need, by name, as lines of their bodies."""

    taken: frozenset[str] = frozenset()
    """Names that a program uses itself."""
    classes: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, lines: list[str]) -> str:
        """A class with these lines; one that is there already serves twice."""
        known = next((each for each, body in self.classes.items() if body == lines), "")
        while not known and (name in self.taken or name in self.classes):
            name += "_"
        self.classes.setdefault(known or name, lines)
        return known or name


@dataclass(frozen=True)
class Place:
    """Place of a value that is typed, for messages and names of records; nulls may stand inside results alone."""

    what: str
    name: str
    is_result: bool = False
    level: int = 0

    def below(self, name: str = "") -> Place:
        """One container further down."""
        return Place(self.what, f"{self.name}_{name}" if name else self.name, self.is_result, self.level + 1)


def annotation_of(values: Sequence[Any], place: Place, records: Records) -> str:
    """A type that holds all the values, as in `dict[str, list[int]] | None`.

    Raises:
        NoFunctionError: the tool contract has no type for them; the message says what to write instead.
    """
    present = [value for value in values if value is not None]
    if not present:
        if place.is_result and not place.level:
            return "None"
        raise NoFunctionError(f"{place.what}: null is all that was seen, which says nothing about its type")
    text = _present(present, place, records)
    if len(present) == len(values):
        return text
    if place.level and not place.is_result:
        raise NoFunctionError(f"{place.what}: null inside a value has no type; leave such items out")
    return f"{text} | None"


def _present(values: list[Any], place: Place, records: Records) -> str:
    kinds = {type(value) for value in values}
    if kinds <= set(_SCALARS):
        if kinds == {int, float}:
            return "float"
        if len(kinds) == 1:
            return _SCALARS[kinds.pop()]
    elif place.level >= MAX_LEVELS:
        raise NoFunctionError(f"{place.what}: nested too deeply for a tool; pass or return flatter values")
    elif kinds == {list}:
        items = [item for value in values for item in value]
        if items:
            return f"list[{annotation_of(items, place.below(), records)}]"
        raise NoFunctionError(f"{place.what}: only empty lists were seen; run it with a list that has items")
    elif kinds == {dict}:
        return _object(values, place, records)
    mixed = " and ".join(sorted(_SCALARS.get(kind, kind.__name__) for kind in kinds))
    raise NoFunctionError(
        f"{place.what}: {mixed} are mixed, which no type of a tool holds; use one type (str can carry any), "
        "or a list of objects with a key for each part"
    )


def _object(values: list[dict[str, Any]], place: Place, records: Records) -> str:
    items = [item for value in values for item in value.values()]
    if not items:
        raise NoFunctionError(f"{place.what}: only empty objects were seen; run it with one that has keys")
    before = dict(records.classes)
    try:
        return f"dict[str, {annotation_of(items, place.below(), records)}]"
    except NoFunctionError:
        records.classes = before
    keys = list(dict.fromkeys(key for value in values for key in value))
    if len(keys) > MAX_KEYS or not all(_is_field(key) for key in keys):
        raise NoFunctionError(
            f"{place.what}: an object whose values differ in type needs keys that are names"
        )
    lines = []
    for key in keys:
        seen = [value[key] for value in values if key in value]
        text = annotation_of(seen, place.below(key), records)
        lines.append(f"{key}: {text if len(seen) == len(values) else f'NotRequired[{text}]'}")
    return records.add("_" + "".join(word.capitalize() for word in place.name.split("_")), lines)


def _is_field(key: str) -> bool:
    return key.isidentifier() and key.isascii() and not keyword.iskeyword(key) and not key.startswith("__")
