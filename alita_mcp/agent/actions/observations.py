"""Store of a run's observations: whole values, their names, and excerpts for the model.

Megabytes stay here: the model gets a view within a budget and passes the rest on by reference, such as
`{"$ref": "o3/rows"}` and `{"$file": "a.csv"}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from alita_mcp.agent.actions.abilities import ActionResult
from alita_mcp.agent.interface import Program
from alita_mcp.errors import InvalidArguments
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.research.values import Source

SHOWN_CHARACTERS = 4_000
"""Of one observation in the conversation."""
MAX_KEPT_BYTES = 128 << 20
"""Of one run together; a value beyond it is refused, not cut."""
REFERENCE = "$ref"
FILE = "$file"
MAX_DEPTH = 32
_SHORT_LIST, _SHORT_TEXT = 10, 80
"""Lists of fewer items are not cut where each is at most so many characters long."""


@dataclass(frozen=True)
class Observation:
    """A value that a step produced."""

    reference: str
    value: Any
    text: str
    """The value as JSON, or a text as it is."""
    sources: tuple[Source, ...] = ()
    is_data: bool = True
    """Whether an answer may rest on it; an error or a list of tools says nothing about the task."""
    program: Program | None = None
    """What computed it."""


class Observations:
    """All observed values of one run; `o0` is the task itself."""

    def __init__(self, task: str) -> None:
        self._kept: dict[str, Observation] = {"o0": Observation("o0", task, task)}
        self._bytes = 0

    def __iter__(self) -> Iterator[Observation]:
        return iter(tuple(self._kept.values()))

    async def keep_value(self, number: int, result: ActionResult) -> Observation:
        """Keeps the value that the step of that number gave.

        Raises:
            InvalidArguments: the run holds too much already, or the value is no JSON.
        """
        value = result.value
        text = await off_loop(lambda: as_text(value), large=is_large(value))
        data = await off_loop(lambda: json.dumps(value, ensure_ascii=False).encode(), large=is_large(value))
        if self._bytes + len(data) > MAX_KEPT_BYTES:
            raise InvalidArguments(
                f"The value has {len(data):,} bytes; the run holds {self._bytes:,} of at most {MAX_KEPT_BYTES:,}.",
                hint="Ask for less at once.",
            )
        self._bytes += len(data)
        is_data = result.ok and result.is_data
        observation = Observation(f"o{number}", value, text, result.sources, is_data, result.program)
        self._kept[observation.reference] = observation
        return observation

    def adopt(self, observation: Observation) -> None:
        """Takes over a value of an earlier run under its own name."""
        self._kept[observation.reference] = observation

    def find(self, name: str) -> Observation:
        """The observation of that name.

        Raises:
            InvalidArguments: there is none.
        """
        if name not in self._kept:
            known = ", ".join(list(self._kept)[-10:])
            raise InvalidArguments(f"There is no observation {name[:40]!r}. The last ones are {known}.")
        return self._kept[name]


def as_text(value: Any) -> str:
    """A value as text, for search, display and quotation."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def excerpt(observation: Observation, room: int = SHOWN_CHARACTERS) -> str:
    """The part of an observation that the model sees: all of it, or its head and tail and how to get the rest."""
    value, name = observation.value, observation.reference
    if len(observation.text) <= room:
        return observation.text
    part = ""
    if isinstance(value, dict):
        longest = max(value, key=lambda key: len(as_text(value[key])))
        if len(longest) <= _SHORT_TEXT:
            part = f', a part {{"$ref": "{name}/{longest.replace("~", "~0").replace("/", "~1")}"}}'
    elif isinstance(value, list):
        part = f', an item {{"$ref": "{name}/0"}}'
    how = (
        f'\n[{len(observation.text):,} characters. In any argument, {{"$ref": "{name}"}} is the whole{part}; '
        "read_value pages through it]"
    )
    room -= len(how)
    shown = ""
    # The largest sample that fits; none fits where keys alone are too long.
    size = 1
    while (
        not isinstance(value, str)
        and len(sample := json.dumps(_sample(value, size), ensure_ascii=False)) <= room
    ):
        shown, size = sample, size + 1 + size // 8
    return (shown or cut_middle(observation.text, room)) + how


def cut_middle(text: str, room: int) -> str:
    """A text with its middle left out where it is too long."""
    if len(text) <= room:
        return text
    mark = f" … {len(text) - room:,} characters left out … "
    left = max(0, room - len(mark))
    head = left - left // 3
    return f"{text[:head]}{mark}{text[len(text) - left // 3 :]}"


def _sample(value: Any, size: int, depth: int = 0) -> Any:
    """A value with the middle of its long texts, lists and dictionaries left out, larger for a larger `size`."""
    if isinstance(value, str):
        return cut_middle(value, _SHORT_TEXT + 8 * size)
    if not isinstance(value, list | dict):
        return value
    most = max(1, size // (1 + depth))
    if isinstance(value, dict):
        most = max(most, _SHORT_LIST)
        keys = list(value)
        head, tail = (
            (keys[: most - most // 3], keys[len(keys) - most // 3 :]) if len(keys) > most else (keys, [])
        )
        middle = {"…": f"{len(keys) - most:,} more keys"} if tail else {}
        return {
            **{key: _sample(value[key], size, depth + 1) for key in head}, **middle,
            **{key: _sample(value[key], size, depth + 1) for key in tail},
        }  # fmt: skip
    if len(value) <= most or (
        len(value) < _SHORT_LIST and all(len(as_text(item)) <= _SHORT_TEXT for item in value)
    ):
        return [_sample(item, size, depth + 1) for item in value]
    last = value[len(value) - most // 3 :]
    return [
        *(_sample(item, size, depth + 1) for item in value[: most - most // 3]),
        f"… {len(value) - most:,} more of {len(value):,} items",
        *(_sample(item, size, depth + 1) for item in last),
    ]


def resolve_references(
    value: Any, value_of: Callable[[str], Any], file_of: Callable[[str], Any], depth: int = 0
) -> Any:
    """The value with every reference in it replaced by the value that it names.

    `value_of` and `file_of` raise InvalidArguments for names that they do not know.

    Raises:
        InvalidArguments: a reference names nothing, or the value is nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise InvalidArguments("The arguments are nested too deeply.")
    if isinstance(value, dict):
        if len(value) == 1:
            ((key, name),) = value.items()
            if key == REFERENCE and isinstance(name, str):
                return part_of(name, value_of)
            if key == FILE and isinstance(name, str):
                return file_of(name)
        return {key: resolve_references(item, value_of, file_of, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve_references(item, value_of, file_of, depth + 1) for item in value]
    return value


def part_of(reference: str, value_of: Callable[[str], Any]) -> Any:
    """The value or part that `o3` or `o3/rows/0` names, by JSON pointer (RFC 6901).

    Raises:
        InvalidArguments: there is none; says what there is instead.
    """
    name, *path = reference.strip().removeprefix("#").split("/")
    found = value_of(name)
    for part in path:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and len(key) < 10 and int(key) < len(found):
            found = found[int(key)]
        else:
            there = f"a value of type {type(found).__name__}"
            if isinstance(found, dict):
                there = f"keys {', '.join(map(repr, list(found)[:20]))}"
            elif isinstance(found, list):
                there = f"a list of {len(found)} items"
            raise InvalidArguments(f"{reference!r} names nothing: there is no {key!r}, but {there}.")
    return found
