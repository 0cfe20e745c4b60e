"""Values of transcripts: programs that were executed, and files that could not be used."""

from __future__ import annotations

from pydantic import Field

from alita_mcp.values import Value


class ExecutedProgram(Value):
    """One Python program that an agent ran, as its transcript shows it, private values taken out."""

    code: str
    arguments: tuple[str, ...] = ()
    """What stood behind the program on the command line."""
    given: str = ""
    """What stood on its standard input."""
    output: str = ""
    """What it printed, if the transcript shows that apart from what other commands printed; its beginning."""
    failed: bool = False
    complete: bool = True
    """False: a part of its arguments or of its input is not in the transcript, so it cannot be run again."""
    redacted: bool = False
    """Whether private values were taken out; then it is no example of anything."""
    agent: str
    """As in `claude-code`."""
    file: str
    session: str
    line: int
    """Of the file, where it was asked for; the first is 1."""
    at: str
    """ISO 8601, as the transcript says; may be empty."""


class Skipped(Value):
    """A file or folder that was not read, or not to its end."""

    path: str
    why: str


class Reading(Value):
    """Programs found in transcripts, and a list of all that could not be used."""

    programs: tuple[ExecutedProgram, ...] = ()
    files: int = 0
    """Files that hold a transcript."""
    size: int = 0
    """Bytes that were read."""
    lines: int = 0
    counts: dict[str, int] = Field(default_factory=dict)
    """What was met and not used, by its name in words, as in `broken lines`."""
    skipped: tuple[Skipped, ...] = ()
    """The first `MOST_SKIPPED` of them."""
