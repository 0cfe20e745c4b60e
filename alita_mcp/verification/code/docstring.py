"""Parser of Google-style docstrings: summary, parameter descriptions and raised errors."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_SECTION = re.compile(
    r"^(args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|attributes|references?)\s*:\s*$",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_RAISED = re.compile(r"^`*([A-Za-z_][\w.]*)`*\s*:\s*(.*)$")
_ARGUMENTS = {"args", "arguments", "parameters", "params"}


@dataclass(frozen=True)
class Docstring:
    """The parts of a docstring."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    raises: tuple[str, ...] = ()


def read_docstring(text: str | None) -> Docstring:
    """The parts of a docstring that clients are shown; a docstring of any other style gives its summary."""
    lines = inspect.cleandoc(text or "").splitlines()
    summary = next((line.strip() for line in lines if line.strip()), "")
    parameters: dict[str, str] = {}
    raises: list[str] = []
    for title, body in _sections(lines):
        if title in _ARGUMENTS:
            parameters.update(_entries(body, _PARAMETER))
        elif title == "raises":
            raises += [name.rsplit(".", 1)[-1] for name in _entries(body, _RAISED)]
    return Docstring("" if _SECTION.match(summary) else summary, parameters, tuple(dict.fromkeys(raises)))


def _sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    sections: list[tuple[str, list[str]]] = []
    for line in lines:
        if title := _SECTION.match(line):
            sections.append((title.group(1).lower(), []))
        elif sections and (not line.strip() or line[0].isspace()):
            sections[-1][1].append(line)
        elif sections:
            sections.append(("", []))
    return sections


def _entries(body: list[str], pattern: re.Pattern[str]) -> dict[str, str]:
    """`name: text` lines of a section at its smallest indentation; deeper lines continue the entry."""
    filled = [line for line in body if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    entries: dict[str, str] = {}
    current = ""
    for line in filled:
        begins = pattern.match(line.strip()) if len(line) - len(line.lstrip()) == indent else None
        if begins:
            current = begins.group(1)
            entries[current] = begins.group(2).strip()
        elif current:
            entries[current] = f"{entries[current]} {line.strip()}".strip()
    return entries
