"""Binding of a recipe's parameters to the values in a new task."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from alita_mcp.agent.interface import Recipe
from alita_mcp.agent.memory.wording.likeness import credit, meant
from alita_mcp.agent.memory.wording.literals import Found, literals
from alita_mcp.agent.memory.wording.parameters import MOST_PARAMETERS, PARAMETER, kind_of
from alita_mcp.library.words.everyday_words import everyday
from alita_mcp.library.words.stems import stems

NEAR = 120
"""So many characters on either side are looked at."""
BESIDE = 3
"""So many words on either side of a value say which one it is."""
MOST_VALUES = 60
"""Of a task; the first ones."""
ADJACENT = 1.5
"""What the very next word counts besides."""
LONGEST_VALUE = 80
_FITS = {
    "file": ("file",),
    "url": ("url",),
    "date": ("date", "year"),
    "year": ("year",),
    "number": ("number", "year"),
    "text": ("quote", "name", "number", "year", "date"),
}


class _Place(NamedTuple):
    """Where a parameter stands in a recipe's task."""

    name: str
    before: str
    after: str


def bind(recipe: Recipe, task: str) -> dict[str, str]:
    """Parameter values as the task writes them; parameters without a value are left out."""
    return bind_text(recipe.task, task)


def bind_text(template: str, task: str) -> dict[str, str]:
    """Parameter values as in `bind`, from the recipe's task alone."""
    bound = _framed(template, task)
    said = literals(task)
    for is_text in (False, True):  # what can only be a date is not free for a text any more
        free = [each for each in said if each.text not in bound.values()][:MOST_VALUES]
        pairs = [
            (_beside(place, each, task), -abs(at_place - at_value), place.name, each)
            for at_place, place in enumerate(_places(template))
            for at_value, each in enumerate(free)
            if (kind_of(place.name) == "text") == is_text and each.kind in _FITS[kind_of(place.name)]
        ]
        for score, _, name, each in sorted(pairs, key=lambda pair: (-pair[0], -pair[1], pair[2])):
            is_telling = not is_text or score > 0 or each.kind in ("quote", "name")
            if name not in bound and each.text not in bound.values() and is_telling:
                bound[name] = each.text
    return bound | _last_word(template, task, bound)


def _last_word(template: str, task: str, bound: dict[str, str]) -> dict[str, str]:
    """The one word that only the new task has, for the one parameter that has no value yet."""
    left = [name for name in dict.fromkeys(PARAMETER.findall(template)) if name not in bound]
    if len(left) != 1 or kind_of(left[0]) != "text":
        return {}
    rest = task
    for value in sorted(bound.values(), key=len, reverse=True):
        rest = rest.replace(value, " ")
    known, common = meant(template).weights, everyday(stems)
    words = [
        word
        for word in re.findall(r"[^\W\d][\w-]*", rest)
        if (stem := "".join(stems(word)[:1])) and not credit(stem, known) and stem not in common
    ]
    words = [word for word in words if word.casefold() != left[0]]
    return {left[0]: words[0]} if len(words) == 1 else {}


def _framed(template: str, task: str) -> dict[str, str]:
    """Values of a task that is worded just as the recipe's."""
    names = PARAMETER.findall(template)
    words = [_plain(part) for part in re.split(PARAMETER.pattern.replace("(", "(?:"), template)]
    text = _plain(task)
    if not names or not all(words[1:-1]):
        return {}  # nothing stands between two of them
    if any(len(part.casefold()) != len(part) for part in (text, *words)):
        return {}
    first, *others = words
    if not text.casefold().startswith(first.casefold()):
        return {}
    bound: dict[str, str] = {}
    at = len(first)
    folded = text.casefold()
    for place, (name, part) in enumerate(zip(names, others, strict=True), 1):
        end = _next(folded, part.casefold(), at, is_last=place == len(others))
        value = text[at:end].strip()
        if end < 0 or not value or len(value) > LONGEST_VALUE or bound.setdefault(name, value) != value:
            return {}
        at = end + len(part)
    return bound


def _next(text: str, part: str, at: int, *, is_last: bool) -> int:
    """Where the words behind a value begin; those behind the last one are the end of the text. -1: nowhere."""
    if is_last:
        place = len(text) - len(part)
        return place if place > at and text[place:] == part else -1
    return text.find(part, at + 1)


def _plain(text: str) -> str:
    """One space for several, and no sign at the end."""
    return re.sub(r"\s+", " ", text).rstrip(".?!")


def _places(template: str) -> list[_Place]:
    places: dict[str, _Place] = {}
    for found in PARAMETER.finditer(template):
        if found[1] not in places and len(places) < MOST_PARAMETERS:
            before = template[max(0, found.start() - NEAR) : found.start()]
            after = template[found.end() : found.end() + NEAR]
            places[found[1]] = _Place(found[1], PARAMETER.sub(" ", before), PARAMETER.sub(" ", after))
    return list(places.values())


def _beside(place: _Place, found: Found, task: str) -> float:
    """How many of the words beside a parameter stand beside a value; its own name counts as one of them."""
    before, after = task[max(0, found.start - NEAR) : found.start], task[found.end : found.end + NEAR]
    score = _shared(stems(place.before)[-BESIDE:], stems(before)[-BESIDE:])
    score += _shared(stems(place.after)[:BESIDE], stems(after)[:BESIDE])
    score += ADJACENT * _shared(_words(place.before)[-1:], _words(before)[-1:])  # `from`, `to` are no stems
    score += ADJACENT * _shared(_words(place.after)[:1], _words(after)[:1])
    near = stems(task[max(0, found.start - 40) : found.end + 40])
    return score + 0.5 * _shared(stems(place.name.replace("_", " ")), near)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _shared(some: Iterable[str], others: Iterable[str]) -> float:
    return float(len(set(some) & set(others)))
