"""Edits of TOML: each changes one table of ours and leaves every other byte alone."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import tomlkit


def read(text: bytes) -> dict[str, Any]:
    """The table that a document holds.

    Raises:
        ValueError: it is not TOML; the message says where.
    """
    return tomllib.loads(text.decode())


def put(text: bytes, path: Sequence[str], value: Any) -> bytes:
    """The document with a value at a path; a table of ours that is new comes last.

    Raises:
        ValueError: the value is in no table of ours that has a header.
    """
    if len(path) > 2:
        return _change(text, path, lambda table: table.update({path[-1]: value}))
    nested = value
    for key in reversed(path):
        nested = {key: nested}
    added = tomlkit.dumps(nested)
    gap = "" if not text.strip() else "\n" if text.endswith(b"\n") else "\n\n"
    return text + (gap + added).replace("\n", _newline(text)).encode()


def drop(text: bytes, path: Sequence[str]) -> bytes:
    """The document without what is at a path; comments after its last key stay, for they may be about what follows.

    Raises:
        ValueError: as `put`.
    """
    source, newline = text.decode(), _newline(text)
    tables = [*_tables(source, path)]
    if not tables:
        return _change(text, path, lambda table: table.pop(path[-1]))
    for start, end in reversed(tables):
        head, rest = source[:start], source[end:]
        if head.endswith(newline * 2) and (not rest or rest[0].isspace()):
            head = head.removesuffix(newline)
        source = head + rest
    return source.encode()


def _change(text: bytes, path: Sequence[str], change: Callable[[Any], object]) -> bytes:
    """The document with the innermost table of ours that leads to a path changed."""
    source = text.decode()
    for depth in range(len(path) - 1, 1, -1):
        for start, end in _tables(source, path[:depth], also_below=False):
            document: Any = tomlkit.parse(source[start:end])
            table = document
            for key in path[:-1]:
                table = table[key]
            change(table)
            changed = tomlkit.dumps(document).replace("\r\n", "\n").replace("\n", _newline(text))
            return (source[:start] + changed + source[end:]).encode()
    raise ValueError("it is in no table of its own")


def _tables(source: str, path: Sequence[str], *, also_below: bool = True) -> Iterator[tuple[int, int]]:
    """Where the tables at a path, and below it, begin and end: from the header to the line of the last value."""
    start = end = at = 0
    is_ours = False
    for line in [*source.splitlines(keepends=True), "["]:
        if line.lstrip(" \t").startswith("[") and (is_ours or _header(line)[: len(path)] == [*path]):
            with suppress(tomllib.TOMLDecodeError):
                tomllib.loads(source[:at])  # else the line is inside a value
                if is_ours:
                    yield start, end
                header = _header(line)
                is_ours = header[: len(path)] == [*path] and (also_below or len(header) == len(path))
                start = at
        at += len(line)
        if line.strip() and not line.lstrip().startswith("#"):
            end = at


def _header(line: str) -> list[str]:
    """The keys in a header; none where the line is something else."""
    keys = []
    with suppress(tomllib.TOMLDecodeError):
        table: Any = tomllib.loads(line)
        while isinstance(table, dict) and table:
            (key,) = table
            keys.append(key)
            table = table[key]
    return keys


def _newline(text: bytes) -> str:
    """How the document ends its lines; where it mixes both, a new line of ours ends as Unix does."""
    return "\r\n" if b"\n" in text and text.count(b"\n") == text.count(b"\r\n") else "\n"
