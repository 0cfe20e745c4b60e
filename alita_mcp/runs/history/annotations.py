"""Annotations of the tool contract that hold all JSON values that were seen in one place."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import Any

from alita_mcp.errors import AlitaError

MAX_LEVELS = 3
"""Lists and objects within one another: a node more than that is deeper than clients accept."""
MAX_KEYS = 20
_FIELD = re.compile("(?!__)[A-Za-z_][A-Za-z0-9_]*")
_SCALARS = {bool: "bool", int: "int", float: "float", str: "str"}


class NoFunctionError(AlitaError):
    """Runs that amount to no function; the message says why."""


class Annotations:
    """Writes annotations, and the `TypedDict`s that they need, under names that a program does not use."""

    def __init__(self, taken: frozenset[str]) -> None:
        self._taken = taken
        self._records: dict[str, list[str]] = {}

    @property
    def classes(self) -> str:
        """The `TypedDict`s as code; empty where there are none."""
        texts = [
            "\n".join([f"class {name}(TypedDict):", *(f"    {line}" for line in lines)])
            for name, lines in self._records.items()
        ]
        if not texts:
            return ""
        names = "NotRequired, TypedDict" if "NotRequired[" in "".join(texts) else "TypedDict"
        return "\n\n\n".join([f"from typing import {names}", *texts])

    def annotation_of(self, what: str, values: Sequence[Any], *, nulls: bool = False, level: int = 0) -> str:
        """An annotation that holds all the values, as in `dict[str, list[int]] | None`.

        `what` names the place in messages and records; `nulls` tells whether None may stand inside a value.

        Raises:
            NoFunctionError: the tool contract has no type for them.
        """
        present = [value for value in values if value is not None]
        if not present:
            raise NoFunctionError(f"{what}: None is all that was seen, which says nothing about its type")
        if len(present) < len(values) and level and not nulls:
            raise NoFunctionError(f"{what}: None inside a value has no type; leave such items out")
        text = self._present(what, present, nulls, level)
        return text if len(present) == len(values) else f"{text} | None"

    def _present(self, what: str, values: list[Any], nulls: bool, level: int) -> str:
        kinds = {type(value) for value in values}
        if kinds == {int, float}:
            return "float"
        if len(kinds) == 1 and kinds <= _SCALARS.keys():
            return _SCALARS[kinds.pop()]
        if level >= MAX_LEVELS:
            raise NoFunctionError(f"{what}: nested too deeply for a tool; pass or return flatter values")
        if kinds == {list}:
            items = [item for value in values for item in value]
            if not items:
                raise NoFunctionError(f"{what}: only empty lists were seen; run it with one that has items")
            return f"list[{self.annotation_of(what, items, nulls=nulls, level=level + 1)}]"
        if kinds == {dict}:
            return self._object(what, values, nulls, level)
        mixed = " and ".join(sorted(_SCALARS.get(kind, kind.__name__) for kind in kinds))
        raise NoFunctionError(f"{what}: {mixed} are mixed, which no type of a tool holds")

    def _object(self, what: str, values: list[dict[str, Any]], nulls: bool, level: int) -> str:
        items = [item for value in values for item in value.values()]
        if not items:
            raise NoFunctionError(f"{what}: only empty objects were seen; run it with one that has keys")
        before = dict(self._records)
        try:
            return f"dict[str, {self.annotation_of(what, items, nulls=nulls, level=level + 1)}]"
        except NoFunctionError:  # its values differ in type: a record with a type for each key
            self._records = before
        keys = list(dict.fromkeys(key for value in values for key in value))
        if len(keys) > MAX_KEYS or not all(
            _FIELD.fullmatch(key) and not keyword.iskeyword(key) for key in keys
        ):
            raise NoFunctionError(f"{what}: an object of mixed values needs keys that are names")
        lines = []
        for key in keys:
            seen = [value[key] for value in values if key in value]
            text = self.annotation_of(f"{what}_{key}", seen, nulls=nulls, level=level + 1)
            lines.append(f"{key}: {text if len(seen) == len(values) else f'NotRequired[{text}]'}")
        name = "_" + "".join(word.capitalize() for word in what.split("_"))
        while name in self._taken or self._records.get(name, lines) != lines:
            name += "_"
        self._records[name] = lines
        return name
