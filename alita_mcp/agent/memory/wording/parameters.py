"""Generalisation of a run's steps: literals become `{parameter}`s.

A parameter's name says of what kind it is: `{file}`, `{url}`, `{date}`; `{year}` and `{number}`, which stand for JSON
numbers where they are a whole argument; any other is a text, named after the argument that held it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from alita_mcp.agent.interface import RecipeStep
from alita_mcp.agent.memory.wording.literals import FILE, Found, literals, number_in

IN_PROGRAM_FROM = 3
"""A shorter text is replaced only where it is a whole argument."""
LONGEST_WHOLE = 200
MOST_PARAMETERS = 12
PARAMETER = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
_KINDS = ("file", "url", "date", "year", "number")
_OF_A_KIND = re.compile(rf"({'|'.join(_KINDS)})(?:_\d+)?")
_TINY = frozenset(
    ("a", "i", "an", "the", "of", "in", "is", "to", "and", "or", "for", "on", "by", "at", "it", "as")
)

Values = dict[str, str | int | float]


class General(NamedTuple):
    """A task and steps with parameters, and the values that they replace."""

    task: str
    steps: tuple[RecipeStep, ...]
    values: Values


class _Parameter(NamedTuple):
    name: str
    value: str | int | float
    literal: Found | None
    """Where the task says it, if it does."""


def kind_of(name: str) -> str:
    """The kind of a literal: `file`, `url`, `date`, `year`, `number`, or `text`."""
    found = _OF_A_KIND.fullmatch(name)
    return found[1] if found else "text"


def generalise(task: str, steps: Sequence[RecipeStep]) -> General:
    """Replaces argument values that the task mentions, and file names, by parameters."""
    said = literals(task)
    reserved = set(PARAMETER.findall(task)) | {
        name for step in steps for leaf in _texts(step.arguments) for name in PARAMETER.findall(leaf)
    }
    pulled: dict[tuple[bool, str], _Parameter] = {}
    for step in steps:
        for argument, leaf in _leaves(step.arguments):
            key = (isinstance(leaf, str), str(leaf))
            if key in pulled or len(pulled) >= MOST_PARAMETERS:
                continue
            if (found := _whole(argument, leaf, task, said)) is not None:
                name = _free_name(found[0], reserved)
                pulled[key] = _Parameter(name, leaf, found[1])
    _from_programs(said, steps, pulled, reserved)
    parameters = list(pulled.values())
    general = tuple(
        step.model_copy(update={"arguments": _replaced(step.arguments, parameters)}) for step in steps
    )
    return General(_template(task, parameters), general, {each.name: each.value for each in parameters})


def _whole(
    argument: str, leaf: str | int | float, task: str, said: Sequence[Found]
) -> tuple[str, Found | None] | None:
    """The name that a whole argument gets, and where the task says it; None: it is no parameter."""
    if not isinstance(leaf, str):
        for each in said:
            if each.kind in ("year", "number") and number_in(each.text) == leaf:
                return each.kind, each
        return None
    plain = leaf.strip()
    if not plain or len(leaf) > LONGEST_WHOLE or plain.casefold() in _TINY:
        return None
    found = next((each for each in said if each.text.casefold() == leaf.casefold()), None)
    if found is None and (place := _spoken(leaf, task)) is not None:
        found = Found("quote", task[place : place + len(leaf)], place, place + len(leaf))
    if found is not None:
        return (found.kind if found.kind in ("file", "url", "date") else _text_name(argument)), found
    return ("file", None) if FILE.fullmatch(leaf) else None


def _spoken(leaf: str, task: str) -> int | None:
    """Where a task says a text, as words of its own."""
    if len(leaf) < 2 or len(leaf.casefold()) != len(leaf) or len(task.casefold()) != len(task):
        return None
    found = _bounded(leaf.casefold()).search(task.casefold())
    return found.start() if found else None


def _from_programs(
    said: Sequence[Found],
    steps: Sequence[RecipeStep],
    pulled: dict[tuple[bool, str], _Parameter],
    reserved: set[str],
) -> None:
    """Takes in what a task says and a program or another long text holds."""
    texts = [leaf for step in steps for leaf in _texts(step.arguments)]
    for each in said:
        number = number_in(each.text) if each.kind in ("year", "number") else None
        plain = each.text if number is None else str(number)
        known = (True, plain) in pulled or (False, plain) in pulled
        if known or len(plain) < IN_PROGRAM_FROM or len(pulled) >= MOST_PARAMETERS:
            continue
        pattern = _inside(each.kind, plain)
        if any(pattern.search(text) for text in texts):
            name = _free_name(each.kind if each.kind in _KINDS else "text", reserved)
            pulled[(number is None, plain)] = _Parameter(name, plain if number is None else number, each)


def _replaced(arguments: Any, parameters: Sequence[_Parameter]) -> Any:
    whole = {(isinstance(each.value, str), str(each.value)): each.name for each in parameters}
    longest_first = sorted(
        (each for each in parameters if len(str(each.value)) >= IN_PROGRAM_FROM),
        key=lambda each: -len(str(each.value)),
    )
    inside = [(each.name, _inside(kind_of(each.name), str(each.value))) for each in longest_first]

    def replace(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: replace(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [replace(part) for part in value]
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        if (name := whole.get((isinstance(value, str), str(value)))) is not None:
            return f"{{{name}}}"
        return _within(value, inside) if isinstance(value, str) else value

    return replace(arguments)


def _within(text: str, inside: Sequence[tuple[str, re.Pattern[str]]]) -> str:
    """The text with parameters, none of which is sought in what was put there for another."""
    parts: list[tuple[str, bool]] = [(text, False)]
    for name, pattern in inside:
        split: list[tuple[str, bool]] = []
        for part, done in parts:
            if done:
                split.append((part, True))
                continue
            at = 0
            for found in pattern.finditer(part):
                split += [(part[at : found.start()], False), (f"{{{name}}}", True)]
                at = found.end()
            split.append((part[at:], False))
        parts = split
    replaced = "".join(part for part, _ in parts)
    return text if PARAMETER.fullmatch(replaced) else replaced  # a whole one would be a number when filled


def _inside(kind: str, plain: str) -> re.Pattern[str]:
    """Finds a text within a longer one: a text that could be a variable's name only in quotation marks."""
    if kind in ("file", "url", "date", "year", "number") or not re.fullmatch(r"\w+", plain):
        return _bounded(plain)
    return re.compile(rf"(?<=[\"']){re.escape(plain)}(?=[\"'])")


def _bounded(plain: str) -> re.Pattern[str]:
    before = r"(?<![\w.])" if re.match(r"\w", plain) else ""
    return re.compile(rf"{before}{re.escape(plain)}" + (r"(?!\w)" if re.search(r"\w\Z", plain) else ""))


def _template(task: str, parameters: Sequence[_Parameter]) -> str:
    """The task with `{parameter}` wherever it says one of them."""
    places: list[tuple[int, int, str]] = []
    for each in sorted(parameters, key=lambda each: -len(each.literal.text if each.literal else "")):
        if each.literal is None:
            continue
        own = (each.literal.start, each.literal.end)
        others = [found.span() for found in _bounded(each.literal.text).finditer(task)]
        for start, end in dict.fromkeys((own, *others)):
            if all(end <= one or other <= start for one, other, _ in places):
                places.append((start, end, each.name))
    parts, at = [], 0
    for start, end, name in sorted(places):
        parts += [task[at:start], f"{{{name}}}"]
        at = end
    return "".join((*parts, task[at:]))


def _text_name(argument: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", argument.lower()).strip("_")[:30]
    if not re.match(r"[a-z]", name):
        return "text"
    return f"{name}_text" if kind_of(name) != "text" else name


def _free_name(wanted: str, reserved: set[str]) -> str:
    names = (wanted, *(f"{wanted}_{at}" for at in range(2, len(reserved) + 2)))
    name = next(each for each in names if each not in reserved)
    reserved.add(name)
    return name


def _leaves(value: Any, argument: str = "") -> list[tuple[str, str | int | float]]:
    """Texts and numbers of arguments, each with the name next above it."""
    if isinstance(value, dict):
        return [leaf for name, part in value.items() for leaf in _leaves(part, str(name))]
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in _leaves(part, argument)]
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return [(argument, value)]
    return []


def _texts(arguments: Any) -> list[str]:
    return [leaf for _, leaf in _leaves(arguments) if isinstance(leaf, str)]
