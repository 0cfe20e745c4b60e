"""Edits of TOML that keep comments, order and spelling of all that they do not set."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import tomlkit
from tomlkit.container import OutOfOrderTableProxy
from tomlkit.items import Table


def read(text: bytes) -> dict[str, Any]:
    """The table that a document holds.

    Raises:
        ValueError: it is not TOML, or not such that an edit keeps its other bytes; the message says where.
    """
    try:
        value = tomllib.loads(text.decode())
    except tomllib.TOMLDecodeError as broken:
        raise ValueError(str(broken)) from broken
    _parse(text)
    return value


def put(text: bytes, path: Sequence[str], value: Any) -> bytes:
    """The document with a value at a path; a table of ours that is new comes last."""
    newline = _newline(text)
    document = _parse(text)
    table: Any = document
    for key in path[:-1]:
        table = table.get(key, {})
    if path[-1] not in table and isinstance(value, dict):
        nested = value
        for key in reversed(path):
            nested = {key: nested}
        added = tomlkit.dumps(nested).replace("\n", newline)
        gap = "" if not text.strip() else newline if text.endswith(b"\n") else newline * 2
        with suppress(tomllib.TOMLDecodeError):  # the table above is written in one line: not added to below
            tomllib.loads(text.decode() + gap + added)
            return text + (gap + added).encode()
    table = document
    for key in path[:-1]:
        table = table[key]
    if path[-1] in table or not isinstance(table, Table):
        table[path[-1]] = value
        return _dump(document, newline)
    # A new key goes below the last one; tomlkit puts it below the comments that stand before the next table.
    body = table.value.body
    last = max((at for at, (key, item) in enumerate(body) if key and not isinstance(item, Table)), default=-1)
    rest = body[last + 1 :]
    del body[last + 1 :]
    table.append(path[-1], value)
    body.extend(rest)
    return _dump(document, newline)


def drop(text: bytes, path: Sequence[str]) -> bytes:
    """The document without what is at a path; comments after its last key stay, for they may be about what follows.

    Raises:
        ValueError: it is spread over the document.
    """
    newline = _newline(text)
    document = _parse(text)
    table: Any = document
    for key in path[:-1]:
        table = table[key]
    if isinstance(table[path[-1]], OutOfOrderTableProxy):
        raise ValueError("tables of others stand between ours")  # noqa: TRY004 - it is about the text
    is_header = isinstance(table[path[-1]], Table)
    del table[path[-1]]
    shorter = _dump(document, newline)
    if not is_header:
        return shorter
    # tomlkit took everything up to the next header. What it took is one piece, whose last lines go back.
    same = next((at for at, (a, b) in enumerate(zip(text, shorter, strict=False)) if a != b), len(shorter))
    start = text.rfind(b"\n", 0, same) + 1
    head, rest = shorter[:start], shorter[start:]
    taken = text[start : len(text) - len(rest)]
    if head + taken + rest != text:
        raise ValueError("tables of others stand between ours")
    lines = taken.splitlines(keepends=True)
    while lines and (lines[-1].isspace() or lines[-1].startswith(b"#")):
        rest = lines.pop() + rest
    if head.endswith(newline.encode() * 2) and (not rest or rest[:1].isspace()):
        head = head.removesuffix(newline.encode())
    return head + rest


def _parse(text: bytes) -> tomlkit.TOMLDocument:
    try:
        document = tomlkit.parse(text.decode())
    except tomlkit.exceptions.TOMLKitError as broken:
        raise ValueError(str(broken)) from broken
    if tomlkit.dumps(document).encode() != text:
        raise ValueError("it cannot be changed without changing more of it than our entry")
    return document


def _dump(document: tomlkit.TOMLDocument, newline: str) -> bytes:
    text = tomlkit.dumps(document)
    return (text.replace("\r\n", "\n").replace("\n", newline) if newline == "\r\n" else text).encode()


def _newline(text: bytes) -> str:
    """How the document ends its lines; where it mixes both, a new line of ours ends as Unix does."""
    return "\r\n" if b"\n" in text and text.count(b"\n") == text.count(b"\r\n") else "\n"
