"""Applies patches in Codex' form (`*** Begin Patch`) to files whose text is known."""

from __future__ import annotations

import re
from collections.abc import Callable

_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVED = re.compile(r"\*\*\* Move to: (.+)")


def patched(patch: str, known: Callable[[str], str | None]) -> list[tuple[str, str | None]]:
    """Paths that the patch names, with their new text; None where the file is gone or its text cannot be told."""
    done: list[tuple[str, str | None]] = []
    kind, path, lines = "", "", list[str]()
    for line in [*patch.splitlines(), "*** End Patch"]:
        begins = _FILE.fullmatch(line.rstrip())
        if (begins or line.startswith("*** End Patch")) and kind:
            done += _one_file(kind, path, lines, known)
            kind = ""
        if begins:
            kind, path, lines = begins[1], begins[2].strip(), []
        else:
            lines.append(line)
    return done


def _one_file(
    kind: str, path: str, lines: list[str], known: Callable[[str], str | None]
) -> list[tuple[str, str | None]]:
    if kind == "Add":
        return [(path, "".join(line[1:] + "\n" for line in lines if line.startswith("+")))]
    text = known(path) if kind == "Update" else None
    if text is not None:
        text = _updated(text, lines)
    moved = _MOVED.fullmatch(lines[0].rstrip()) if lines else None
    return [(path, None), (moved[1].strip(), text)] if moved else [(path, text)]


def _updated(text: str, lines: list[str]) -> str | None:
    """The text with each hunk's old lines replaced where they first stand behind the hunk before."""
    at, done = 0, list[str]()
    for hunk in _hunks(lines):
        old = "".join(line[1:] + "\n" for line in hunk if line[:1] in (" ", "-"))
        new = "".join(line[1:] + "\n" for line in hunk if line[:1] in (" ", "+"))
        found = text.find(old, at) if old else len(text)
        if found < 0:
            return None
        done += (text[at:found], new)
        at = found + len(old)
    return "".join([*done, text[at:]])


def _hunks(lines: list[str]) -> list[list[str]]:
    hunks: list[list[str]] = [[]]
    for line in lines:
        if line.startswith("@@"):
            hunks.append([])
        elif line[:1] in (" ", "+", "-"):
            hunks[-1].append(line)
        elif not line:
            hunks[-1].append(" ")
    return [hunk for hunk in hunks if hunk]
