"""Interface of transcript formats: a line of a session file as plain steps of the agent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Entry = Mapping[str, Any]
"""A line of a session file as JSON; nothing in it can be relied upon."""
RUNS_PYTHON = re.compile(r"(?i)python|jupyter|notebook|execute_?code|run_?code|execute_?cell")
"""Names of tools that are handed Python."""


@dataclass(frozen=True)
class ShellCommand:
    """A command line that was handed to a shell."""

    text: str


@dataclass(frozen=True)
class RunCell:
    """Python that was handed to a notebook or an interpreter."""

    code: str


@dataclass(frozen=True)
class WriteFile:
    """A file that was written whole."""

    path: str
    text: str


@dataclass(frozen=True)
class EditFile:
    """Pieces of a file that were put in the place of others: (old, new, everywhere)."""

    path: str
    edits: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True)
class EditCell:
    """A cell of a notebook that was written; `mode` is `replace`, `insert` or `delete`."""

    path: str
    cell: str
    source: str
    mode: str = "replace"


@dataclass(frozen=True)
class ApplyPatch:
    """A patch in the form of Codex' `apply_patch`."""

    text: str


Action = ShellCommand | RunCell | WriteFile | EditFile | EditCell | ApplyPatch


@dataclass(frozen=True)
class Called:
    """Call that the agent made; whether it was done, the `Answered` with the same `call` says."""

    call: str
    action: Action
    folder: str = ""
    """Where it was done, if the line says so."""


@dataclass(frozen=True)
class Answered:
    """Result of a call."""

    call: str
    output: str = ""
    failed: bool = False
    refused: bool = False
    """It was never done: the person or the agent's own rules said no."""


@dataclass(frozen=True)
class Began:
    """Beginning of a session, with its id and the folder it works in."""

    session: str
    folder: str


Step = Called | Answered | Began


class TranscriptFormat(Protocol):
    """One agent's session files.

    An implementation never raises, whatever the line holds: what it does not know yields nothing, what has not the
    type it should have is left out. It reads nothing but the line.
    """

    @property
    def agent(self) -> str:
        """Name of the agent, as in `claude-code`."""

    @property
    def folder(self) -> str:
        """Folder of the agent's session files, below the person's home."""

    def recognises(self, entry: Entry) -> bool:
        """Whether a line is one of this format's kinds; the first line that a format knows decides for the file."""

    def steps(self, entry: Entry) -> Iterator[Step]:
        """Steps that the line shows, in order."""


def text_in(value: object) -> str:
    """Text of a value that may be text, blocks of text, or anything; no lone surrogates."""
    if isinstance(value, list):
        return "\n".join(text_in(block.get("text")) for block in value if isinstance(block, dict))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def object_in(value: object) -> dict[str, Any]:
    """A value that should be a JSON object; else an empty one."""
    return value if isinstance(value, dict) else {}
