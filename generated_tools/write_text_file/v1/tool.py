"""A text file in the workspace, made, replaced or appended to."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal, TypedDict

import alita_tool

_MOST_BYTES = 8_000_000


class Written(TypedDict):
    path: str
    created: bool
    bytes: int
    lines: int


def write_text_file(
    path: str, text: str, mode: Literal["create", "overwrite", "append"] = "create", encoding: str = "utf-8"
) -> Written:
    """Writes a text file in the workspace; folders on the way are made.

    Args:
        path: The file, relative to the workspace, as in "notes/today.md".
        text: What to write, as it is; no line break is added.
        mode: "create" refuses a file that exists, "overwrite" replaces it, "append" adds at its end.
        encoding: How to store the text, as in utf-8 or latin-1.

    Returns:
        The path, whether the file is new, and how many bytes and lines it has now.

    Raises:
        ValueError: The path leaves the workspace, the text does not fit the encoding, or the file would be too large.
        FileExistsError: The file exists and mode is "create".
        IsADirectoryError: The path names a folder.
        NotADirectoryError: A part of the path is a file.
        PermissionError: Writing to the workspace was not granted.
    """
    place = _within(path)
    added = _encoded(text, encoding)
    there = _content(place)
    if there is not None and mode == "create":
        raise FileExistsError(f"{place} exists; choose overwrite or append, or another name")
    before = there if there is not None and mode == "append" else b""
    content = before + added
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{place} would have {len(content):,} bytes, the limit is {_MOST_BYTES:,}")
    alita_tool.write_bytes(str(place), content)
    lines = content.decode(encoding, "replace").splitlines()
    return {"path": str(place), "created": there is None, "bytes": len(content), "lines": len(lines)}


def _within(path: str) -> PurePosixPath:
    place = PurePosixPath(path.replace("\\", "/"))
    if not path.strip() or "\x00" in path or len(path) > 1_000:
        raise ValueError("the path is empty, too long or holds a null character")
    if place.is_absolute() or ".." in place.parts or ":" in place.parts[0]:
        raise ValueError(f"{path[:200]!r} leaves the workspace; give a path relative to it")
    return place


def _content(place: PurePosixPath) -> bytes | None:
    """What the file holds; None where there is none."""
    try:
        return alita_tool.read_bytes(str(place))
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise IsADirectoryError(f"{place} is a folder") from None
    except NotADirectoryError:
        raise NotADirectoryError(f"a part of {place} before the last is a file, not a folder") from None


def _encoded(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except LookupError:
        raise ValueError(f"there is no encoding {encoding[:40]!r}") from None
    except UnicodeEncodeError as broken:
        raise ValueError(f"{text[broken.start]!r} has no place in {encoding}") from None
