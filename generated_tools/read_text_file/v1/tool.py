"""Lines of a text file in the workspace."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TypedDict

import alita_tool

_MOST_BYTES = 8_000_000
_MOST_CHARACTERS = 400_000


class Excerpt(TypedDict):
    path: str
    text: str
    first_line: int
    last_line: int
    lines: int
    truncated: bool


def read_text_file(path: str, first_line: int = 1, max_lines: int = 2000, encoding: str = "utf-8") -> Excerpt:
    """Reads a text file of the workspace, or the lines of it that are asked for.

    Args:
        path: The file, relative to the workspace, as in "notes/today.md".
        first_line: The line to begin with; a negative number counts from the end, -1 being the last line.
        max_lines: How many lines to give at most, 1 to 10,000.
        encoding: How the text is stored, as in utf-8, utf-16 or latin-1.

    Returns:
        The text, which lines it is, how many lines the file has, and whether more follow.

    Raises:
        ValueError: The path leaves the workspace, the file is too large or is no text in this encoding, or a number
            does not fit.
        FileNotFoundError: There is no such file.
        IsADirectoryError: The path names a folder.
        PermissionError: No workspace was granted.
    """
    if first_line == 0 or not 1 <= max_lines <= 10_000:
        raise ValueError("first_line must not be 0, and max_lines must be between 1 and 10,000")
    place = _within(path)
    content = _content(place)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{place} has {len(content):,} bytes, the limit is {_MOST_BYTES:,}")
    lines = _decoded(content, encoding, str(place)).splitlines(keepends=True)
    start = first_line - 1 if first_line > 0 else max(0, len(lines) + first_line)
    wanted = _fitting(lines[start : start + max_lines])
    return {
        "path": str(place),
        "text": "".join(wanted),
        "first_line": start + 1 if wanted else 0,
        "last_line": start + len(wanted) if wanted else 0,
        "lines": len(lines),
        "truncated": bool(wanted) and start + len(wanted) < len(lines),
    }


def _within(path: str) -> PurePosixPath:
    place = PurePosixPath(path.replace("\\", "/"))
    if not path.strip() or "\x00" in path or len(path) > 1_000:
        raise ValueError("the path is empty, too long or holds a null character")
    if place.is_absolute() or ".." in place.parts or ":" in place.parts[0]:
        raise ValueError(f"{path[:200]!r} leaves the workspace; give a path relative to it")
    return place


def _content(place: PurePosixPath) -> bytes:
    try:
        return alita_tool.read_bytes(str(place))
    except IsADirectoryError:
        raise IsADirectoryError(f"{place} is a folder") from None
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"there is no file {place} in the workspace") from None


def _decoded(content: bytes, encoding: str, name: str) -> str:
    try:
        text = content.decode(encoding)
    except LookupError:
        raise ValueError(f"there is no encoding {encoding[:40]!r}") from None
    except UnicodeDecodeError as broken:
        raise ValueError(f"{name} is no {encoding} text: byte {broken.start} does not fit") from None
    return text.removeprefix("\ufeff")


def _fitting(lines: list[str]) -> list[str]:
    """As many lines as an answer can carry."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line)
        if size > _MOST_CHARACTERS:
            if number == 0:
                raise ValueError(f"one line has {len(line):,} characters, the limit is {_MOST_CHARACTERS:,}")
            return lines[:number]
    return lines
