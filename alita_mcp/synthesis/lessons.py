"""Lessons from failures: what went wrong with which kind of request, kept in a bounded file in the library's home.

Several processes may write at once. A file that cannot be read is as good as none: lessons are a help, not a truth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import anyio
from pydantic import Field, ValidationError

from alita_mcp.errors import LibraryError
from alita_mcp.file_locks import held
from alita_mcp.library.words.text import likeness
from alita_mcp.values import Value

MAX_LESSONS = 500
MAX_BYTES = 1 << 20
LOCK_S = 5.0
SHOWN = 3
_NEAR = 0.2
"""Share of words that two descriptions must have in common for one's lesson to be shown to the other."""
_WORD = re.compile(r"[a-z]{3,}")
_SMALL = frozenset({
    "the", "and", "for", "with", "from", "that", "this", "into", "are", "its", "not", "one", "all", "any", "each",
    "given", "tool", "returns",
})  # fmt: skip


class Lesson(Value):
    """Lesson of one failed attempt; untrusted text, like everything that a model is shown."""

    description: str = Field(max_length=500)
    kind: str = Field(max_length=40)
    text: str = Field(max_length=500)


class LessonsFile:
    """Store of lessons as JSON Lines, the newest last, for later attempts at similar requests."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def learn(self, lesson: Lesson) -> None:
        """Keeps a lesson, a known one once; the oldest make room. What cannot be kept is dropped."""
        await anyio.to_thread.run_sync(self._append, lesson)

    async def recall(self, description: str) -> tuple[Lesson, ...]:
        """The few lessons whose descriptions share most words with this one, best first."""
        lessons = await anyio.to_thread.run_sync(self._read)
        return nearest(description, lessons)

    def _append(self, lesson: Lesson) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with held(self._path.with_suffix(".lock"), LOCK_S):
                kept = [known for known in self._read() if known != lesson][1 - MAX_LESSONS :]
                lines = "".join(f"{known.model_dump_json()}\n" for known in [*kept, lesson])
                unfinished = self._path.with_suffix(".part")
                unfinished.write_text(lines, encoding="utf-8")
                unfinished.replace(self._path)
        except (OSError, LibraryError):
            return

    def _read(self) -> list[Lesson]:
        try:
            if not self._path.is_file() or self._path.stat().st_size > MAX_BYTES:
                return []
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            return []
        return list(_readable(lines))


def nearest(description: str, lessons: Iterable[Lesson]) -> tuple[Lesson, ...]:
    """Lessons for descriptions that share words with this one, the newest of equals first."""
    wanted = _words(description)
    scored = [(likeness(wanted, _words(lesson.description)), lesson) for lesson in lessons]
    near = [(score, lesson) for score, lesson in reversed(scored) if score >= _NEAR]
    near.sort(key=lambda pair: -pair[0])
    return tuple(lesson for _, lesson in near[:SHOWN])


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _SMALL


def _readable(lines: Iterable[str]) -> Iterable[Lesson]:
    for line in lines:
        try:
            yield Lesson.model_validate(json.loads(line))
        except (ValueError, ValidationError, RecursionError):
            continue
