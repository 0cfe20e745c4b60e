"""Parts of a long text: so many of its characters, at an offset in bytes."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import mcp_types as types

from alita_mcp.errors import InvalidArguments

MOST_BYTES_OF_A_CHARACTER = 4


class Part(NamedTuple):
    """Bytes `start` to `end` (exclusive) of `total`, as text."""

    text: str
    start: int
    end: int
    total: int


def part_of(document: bytes, characters: int, offset: int = 0) -> Part:
    """The part of a UTF-8 text that begins at byte `offset`, of so many characters.

    At least one character is given. A bound within a character is moved to its beginning, so that parts which follow
    one another make up the whole.

    Raises:
        InvalidArguments: it begins past the end.
    """
    total = len(document)
    if offset >= total:
        raise InvalidArguments(f"offset {offset} is past the end.", hint=f"The result has {total} bytes.")
    characters, start = max(characters, 1), _character_start(document, offset)
    end = _character_start(document, min(total, offset + MOST_BYTES_OF_A_CHARACTER * characters))
    text = document[start:end].decode()[:characters]
    return Part(text, start, start + len(text.encode()), total)


def _character_start(document: bytes, place: int) -> int:
    while place < len(document) and document[place] & 0xC0 == 0x80:
        place -= 1
    return place


def json_document(value: Any) -> bytes:
    """JSON text of a value in UTF-8; raises `ValueError` where it cannot be JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def text_in_parts(
    uri: str, mime: str, document: bytes, limit: int, offset: int = 0
) -> types.ReadResourceResult:
    """A text, whole where it may be sent so; else a part of it behind a note on where it stands."""
    part = part_of(document, limit, offset)
    if part.end - part.start == part.total:
        return text_resource(uri, mime, part.text)
    base = uri.partition("?")[0]
    ends = f"it goes on at {base}?offset={part.end}" if part.end < part.total else "it ends here"
    note = f"Part of a result: bytes {part.start} to {part.end - 1}, counted from 0, of {part.total}; {ends}."
    return types.ReadResourceResult(
        contents=[
            types.TextResourceContents(uri=uri, mime_type="text/plain", text=note),
            types.TextResourceContents(uri=f"{base}?offset={part.start}", mime_type=mime, text=part.text),
        ]
    )


def text_resource(uri: str, mime: str, text: str) -> types.ReadResourceResult:
    """One text as the result of a read."""
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=text)])
