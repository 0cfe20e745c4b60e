"""Reads transcripts of coding agents: the Python that was executed, without private values.

Read as a stream: a line that is too long is passed over in pieces, and what is kept is bounded, so a file of any size
takes the same memory. Whatever a transcript says is text; none of it is followed, opened or run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from alita_mcp.transcripts.claude_code import ClaudeCode
from alita_mcp.transcripts.codex import Codex
from alita_mcp.transcripts.finding import files_below, opened
from alita_mcp.transcripts.interface import TranscriptFormat, text_in
from alita_mcp.transcripts.redaction import public_path, without_private
from alita_mcp.transcripts.session import Session
from alita_mcp.transcripts.values import ExecutedProgram, Reading, Skipped

FORMATS: tuple[TranscriptFormat, ...] = (ClaudeCode(), Codex())
MOST_SKIPPED = 100
_UNKNOWN_LINES = 50
"""A file among whose first lines, so many, none is of a known format is no transcript."""


@dataclass(frozen=True)
class Limits:
    """Limits of reading, in bytes, programs and characters."""

    line: int = 8_000_000
    """Bytes of a line; a longer one is passed over."""
    total: int = 16_000_000_000
    """Bytes of all files; what is behind is not read."""
    programs: int = 10_000
    kept: int = 64_000_000
    """Characters of all programs that are kept."""


def usual_folders(home: Path) -> list[Path]:
    """Existing transcript folders of the agents that are known here."""
    return [folder for each in FORMATS if (folder := home / each.folder).is_dir()]


def read_transcripts(
    paths: Sequence[Path], limits: Limits | None = None, tell: Callable[[str], None] = lambda _: None
) -> Reading:
    """All programs that the files show, in the order of files and lines; `tell` hears the name of each file.

    Raises:
        Nothing: what cannot be read is told in the result.
    """
    reader = _Reader(limits or Limits())
    for path in files_below(paths, reader.skip):
        if reader.left <= 0:
            reader.skip(str(path), f"{reader.limits.total:,} bytes were read before it")
            continue
        tell(public_path(str(path)))
        reader.read(path)
    return reader.result()


class _Reader:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left = limits.total
        self._room = limits.kept
        self._path = ""
        self._files = 0
        self._lines = 0
        self._counts: Counter[str] = Counter()
        self._skipped: list[Skipped] = []
        self._programs: list[ExecutedProgram] = []
        self._told: set[int] = set()

    def skip(self, path: str, why: str) -> None:
        self._counts["files or folders that were not read"] += 1
        if len(self._skipped) < MOST_SKIPPED:
            self._skipped.append(Skipped(path=public_path(path), why=why))

    def result(self) -> Reading:
        return Reading(
            programs=tuple(self._programs),
            files=self._files,
            size=self.limits.total - self.left,
            lines=self._lines,
            counts={what: number for what, number in self._counts.items() if number},
            skipped=tuple(self._skipped),
        )

    def read(self, path: Path) -> None:
        stream = opened(path, self.skip)
        if stream is None:
            return
        self._path = str(path)
        with stream:
            try:
                self._read(path, stream)
            except OSError as failed:
                self.skip(str(path), f"reading ended early: {failed.strerror}")

    def _read(self, path: Path, stream: BinaryIO) -> None:
        form: TranscriptFormat | None = None
        session: Session | None = None
        for number, entry in self._entries(stream):
            if form is None:
                form = next((each for each in FORMATS if each.recognises(entry)), None)
                if form is None and number >= _UNKNOWN_LINES:
                    break
                if form is None:
                    continue
                self._files += 1
                session = Session(form.agent, str(path), self._told, self._counts)
            if session is not None:
                self._take(form, session, entry, number)
        if session is not None:
            session.close()
        else:
            self.skip(str(path), "no transcript of an agent that is known here")

    def _take(self, form: TranscriptFormat, session: Session, entry: dict[str, Any], number: int) -> None:
        if not form.recognises(entry):
            self._counts["lines of an unknown kind"] += 1
        at = text_in(entry.get("timestamp"))
        for step in form.steps(entry):
            for program in session.take(step, number, at):
                self._keep(program)

    def _keep(self, program: ExecutedProgram) -> None:
        size = len(program.code) + len(program.output) + len(program.given) + sum(map(len, program.arguments))
        if size > self._room or len(self._programs) >= self.limits.programs:
            self._counts["programs beyond what is kept"] += 1
            return
        public = without_private(program)
        if public is None:
            self._counts["programs that cannot be told without private values"] += 1
            return
        self._room -= size
        self._programs.append(public)

    def _entries(self, stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
        """Numbers and objects of the lines that are JSON objects; the others are counted."""
        for number, line in enumerate(self._lines_of(stream), start=1):
            self._lines += 1
            if line is None:
                self._counts[f"lines of more than {self.limits.line:,} bytes"] += 1
                continue
            try:
                entry = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError):
                self._counts["broken lines"] += 1
                continue
            if isinstance(entry, dict):
                yield number, entry
            elif line.strip():
                self._counts["broken lines"] += 1

    def _lines_of(self, stream: BinaryIO) -> Iterator[bytes | None]:
        """Lines as they are; None for one that is too long."""
        while self.left > 0 and (piece := stream.readline(self.limits.line + 1)):
            self.left -= len(piece)
            if len(piece) <= self.limits.line:
                yield piece
                continue
            while piece and not piece.endswith(b"\n") and self.left > 0:
                piece = stream.readline(self.limits.line)
                self.left -= len(piece)
            yield None
        if self.left <= 0 and stream.read(1):
            self.skip(self._path, f"only a part: {self.limits.total:,} bytes were read")
