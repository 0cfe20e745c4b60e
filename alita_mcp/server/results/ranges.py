"""Ranges of a kept text: as many of its bytes as a result may hold, cut between characters."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import mcp_types as types

from alita_mcp.errors import InvalidArguments

MOST_BYTES_OF_A_CHARACTER = 4


class Part(NamedTuple):
    """Bytes `start` to `end` (exclusive) of `total`, as text."""

    text: str
    start: int
    end: int
    total: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return self.end - self.start == self.total


def part_of(document: bytes, room: int, offset: int = 0, length: int | None = None) -> Part:
    """The part of a UTF-8 text that begins at `offset` and is as long as asked for and as there is room for.

    `room` counts bytes of the JSON text that carries it; at least one character is given. A bound within a
    character is moved to its beginning, so that parts which follow one another make up the whole.

    Raises:
        InvalidArguments: it begins behind the end.
    """
    total = len(document)
    if offset >= total:
        raise InvalidArguments(
            f"offset {offset} is behind the end.", hint=f"The result has {total} bytes, counted from 0."
        )
    length = total if length is None else max(length, MOST_BYTES_OF_A_CHARACTER)
    start = _boundary(document, offset)
    end = _boundary(document, min(total, offset + length, start + max(room, MOST_BYTES_OF_A_CHARACTER)))
    text = document[start:end].decode()
    fitting = (
        bisect_right(range(len(text) + 1), room, key=lambda count: len(json_document(text[:count])) - 2) - 1
    )
    text = text[: max(1, fitting)]
    return Part(text, start, start + len(text.encode()), total)


def json_document(value: Any) -> bytes:
    """JSON text of a value in UTF-8; raises `ValueError` where it is no JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def asked_range(asked: re.Match[str]) -> dict[str, int]:
    """`offset` and `length`, where the query of a URI names them."""
    return {key: int(value) for key, value in parse_qsl(asked["range"] or "")}


def part_contents(asked: re.Match[str], document: bytes, mime: str, limit: int) -> types.ReadResourceResult:
    """A kept text, whole where it may be sent so; else a part of it behind a note on where it stands."""
    uri = asked["uri"]

    def read(part: Part) -> types.ReadResourceResult:
        if part.is_whole:
            return contents(asked[0], mime, part.text)
        ends = f"it goes on at {uri}?offset={part.end}" if part.end < part.total else "it ends here"
        place = f"{uri}?offset={part.start}&length={part.end - part.start}"
        note = f"Part of a result: bytes {part.start} to {part.end - 1}, counted from 0, of {part.total}; {ends}."
        both = [contents(asked[0], "text/plain", note), contents(place, mime, part.text)]
        return types.ReadResourceResult(contents=[text for each in both for text in each.contents])

    longest = read(Part("", len(document), 2 * len(document), 3 * len(document)))
    beside = len(json_document(longest.model_dump(by_alias=True, mode="json", exclude_none=True)["contents"]))
    return read(part_of(document, limit - beside, **asked_range(asked)))


def contents(uri: str, mime: str, text: str) -> types.ReadResourceResult:
    """One text as what a read gives."""
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=text)])


def _boundary(document: bytes, place: int) -> int:
    """Where the character begins that a place is within."""
    while place < len(document) and document[place] & 0xC0 == 0x80:
        place -= 1
    return place
