"""Generalisation of a run: what the task says and a step was given as a whole argument becomes a `{parameter}`.

A parameter's name says of what kind it is: `{file}`, `{url}`, `{date}`, `{year}`, `{number}`; any other is named after
the argument that held it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from alita_mcp.agent.interface import RecipeStep
from alita_mcp.agent.memory.wording.literals import SMALL_WORDS, literals

LONGEST_VALUE = 200
MOST_PARAMETERS = 12
PARAMETER = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
_KINDS = ("file", "url", "date", "year", "number")
_OF_A_KIND = re.compile(rf"({'|'.join(_KINDS)})(?:_\d+)?")


class General(NamedTuple):
    """A task and steps with parameters."""

    task: str
    steps: tuple[RecipeStep, ...]


def kind_of(name: str) -> str:
    """The kind of a literal: `file`, `url`, `date`, `year`, `number`, or `text`."""
    found = _OF_A_KIND.fullmatch(name)
    return found[1] if found else "text"


def generalise(task: str, steps: Sequence[RecipeStep]) -> General:
    """Replaces values that the task and an argument share by parameters, in both."""
    kinds = {each.text.casefold(): each.kind for each in literals(task)}
    taken = set(PARAMETER.findall(task))
    names: dict[str, str] = {}
    for step in steps:
        for argument, value in step.arguments.items():
            text = str(value).casefold()
            if text in names or len(names) >= MOST_PARAMETERS or not _is_said(value, task):
                continue
            kind: str = kinds.get(text, "quote")
            if kind not in _KINDS:  # named after the argument, unless that names a kind
                kind = re.sub(r"[^a-z0-9]+", "_", argument.lower()).strip("_")[:30]
                kind = kind if re.match(r"[a-z]", kind) and kind_of(kind) == "text" else "text"
            names[text] = _free_name(kind, taken)
    if not names:
        return General(task, tuple(steps))
    longest_first = sorted(names, key=len, reverse=True)
    said = re.compile("|".join(map(_as_words, longest_first)), re.IGNORECASE)
    parameters = {text: f"{{{name}}}" for text, name in names.items()}
    general = []
    for step in steps:
        arguments = {
            argument: parameters.get(str(value).casefold(), value)
            if isinstance(value, str | int | float)
            else value
            for argument, value in step.arguments.items()
        }
        general.append(step.model_copy(update={"arguments": arguments}))
    return General(said.sub(lambda found: parameters[found[0].casefold()], task), tuple(general))


def _is_said(value: object, task: str) -> bool:
    """Whether a task says a value in words of its own."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    text = str(value).casefold()
    if not text.strip() or len(text) > LONGEST_VALUE or text in SMALL_WORDS:
        return False
    return re.search(_as_words(text), task, re.IGNORECASE) is not None


def _as_words(text: str) -> str:
    """A pattern of a text that neither begins nor ends within a word."""
    before = r"(?<![\w.])" if re.match(r"\w", text) else ""
    return f"{before}{re.escape(text)}" + (r"(?!\w)" if re.search(r"\w\Z", text) else "")


def _free_name(wanted: str, taken: set[str]) -> str:
    names = (wanted, *(f"{wanted}_{at}" for at in range(2, len(taken) + 3)))
    name = next(each for each in names if each not in taken)
    taken.add(name)
    return name
