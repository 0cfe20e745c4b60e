"""Reader of docstrings in the styles of Google, NumPy and reST, for what clients are shown of them."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_TITLES = {
    **dict.fromkeys(("args", "arguments", "parameters", "params", "keyword args", "other parameters"), "parameters"),
    "raises": "raises",
    **dict.fromkeys((
        "return", "returns", "yield", "yields", "example", "examples", "note", "notes", "attributes", "reference",
        "references", "warns", "warnings", "see also",
    ), "other"),
}  # fmt: skip
"""Titles of sections, and what is read from them."""
_FIELDS = {
    **dict.fromkeys(("param", "parameter", "arg", "argument", "key", "keyword"), "parameters"),
    **dict.fromkeys(("raise", "raises", "except", "exception"), "raises"),
}
"""Fields of reST, as in `:param name: text`."""
_UNDERLINE = re.compile(r"-{3,}\s*+")
_ENTRY = re.compile(r"[*`]*([\w.]+)`*\s*+(?:\([^)]*\)\s*+)?:\s*(.*)")
"""An entry of Google's style: `name (type): text`."""


@dataclass(frozen=True)
class Docstring:
    """The parts of a docstring."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    raises: tuple[str, ...] = ()


def read_docstring(text: str | None) -> Docstring:
    """The parts of a docstring that clients are shown; one of any other style gives its summary."""
    lines = inspect.cleandoc(text or "").splitlines()
    summary, section, style = "", "", ""
    entries: list[tuple[str, list[str], list[str]]] = []  # section, names and the lines that describe them
    indent = 0  # of the entries of the section
    for number, (line, below) in enumerate(zip(lines, [*lines[1:], ""], strict=False)):
        words, depth = line.strip(), len(line) - len(line.lstrip())
        title = words.removesuffix(":").rstrip().lower()
        is_underlined = _UNDERLINE.fullmatch(below) is not None
        # A line (1) is empty or underlines a title, (2) is a title, (3) is a field of reST, (4) ends the section,
        # (5) begins an entry, (6) continues one, or (7) is text.
        if not words or _UNDERLINE.fullmatch(words):
            continue
        if not depth and (is_underlined or (words.endswith(":") and title in _TITLES)):
            section, style, indent = _TITLES.get(title, "other"), "numpy" if is_underlined else "google", -1
            entries.append((section, [], []))
        elif not depth and words[0] in ":@":
            head, _, words = words[1:].partition(":")
            kind, *names = head.replace(",", " ").split() or [""]
            section, style = _FIELDS.get(kind, "other"), "rest"
            entries.append((section, names if section == "raises" else names[-1:], [words.strip()]))
        elif section and not depth and style != "numpy":
            section = ""
        elif section:
            indent = depth if indent < 0 else indent
            names, described = [], ""
            if depth <= indent and style == "google" and (entry := _ENTRY.fullmatch(words)):
                names, described = [entry[1]], entry[2]
            elif depth <= indent and style == "numpy":
                names = [name.strip(" *`") for name in words.partition(":")[0].split(",")]
                names = names if all(name.replace(".", "_").isidentifier() for name in names) else []
            if names:
                entries.append((section, names, [described]))
            else:
                entries[-1][2].append(words)
        elif not number:
            summary = words
    found: dict[str, dict[str, str]] = {"parameters": {}, "raises": {}, "other": {}}
    for section, names, texts in entries:
        found[section].update(dict.fromkeys(names, " ".join(filter(None, texts))))
    errors = dict.fromkeys(name.rpartition(".")[2] for name in found["raises"])
    return Docstring(summary, found["parameters"], tuple(errors))
