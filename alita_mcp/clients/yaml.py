"""Edits of YAML: each splices the lines, or the flow collection, of one member and leaves all others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node


def read(text: bytes) -> dict[str, Any]:
    """The mapping that a document holds; an empty one where there is nothing but comments.

    Raises:
        ValueError: it is not one mapping; the message says where.
    """
    try:
        value = yaml.safe_load(text.decode())
    except yaml.MarkedYAMLError as broken:
        mark = broken.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{where}{broken.problem}") from broken
    except yaml.YAMLError as broken:
        raise ValueError(" ".join(str(broken).split())) from broken
    if value is not None and not isinstance(value, dict):
        raise ValueError("its top level is not a mapping")
    return value or {}


def put(text: bytes, path: Sequence[str], value: Any) -> bytes:
    """The document with a value at a path; the mappings that lead there are made where they are missing."""
    source = text.decode()
    newline = "\r\n" if "\r\n" in source else "\n"
    node: Any = _compose(source)
    owner: Any = None
    for place, key in enumerate(path):
        found = _member(node, key)
        if found is None:
            for name in reversed(path[place + 1 :]):
                value = {name: value}
            return _insert(source, node, owner, key, value, newline).encode()
        owner, node = found
    # The value of a member, in one line.
    end = _end(source, node, owner)
    return (source[: owner.end_mark.index] + ": " + _flow(value) + source[end:]).encode()


def drop(text: bytes, path: Sequence[str]) -> bytes:
    """The document without the member at a path, which is there, and without the comments inside it."""
    source = text.decode()
    node: Any = _compose(source)
    key: Any = None
    around, owner = node, None
    for word in path:
        found: Any = _member(node, word)
        if found is None:
            raise ValueError("it is merged from elsewhere")
        around, owner, (key, node) = node, key, found
    start, end = key.start_mark.index, _end(source, node, key)
    if around.flow_style:
        before, after = source[:start], source[end:].lstrip()
        if after.startswith(","):
            return (before + after[1:].lstrip()).encode()
        return (before.rstrip().removesuffix(",") + source[end:]).encode()
    start = source.rfind("\n", 0, start) + 1
    end = _after_comments(source, end, around.start_mark.column)
    if len(around.value) == 1 and owner is not None:
        colon = source.index(":", owner.end_mark.index) + 1
        return (source[:colon] + " {}" + source[colon:start] + source[end:]).encode()
    return (source[:start] + source[end:]).encode()


def _insert(source: str, node: Any, owner: Any, key: str, value: Any, newline: str) -> str:
    """The document with a new member of a collection; `owner` is the key that the collection is the value of.

    1. The collection is in flow style: ours comes first in it.
    2. It is written in lines: ours comes last, indented as the others.
    3. There is no value yet: ours makes it one, below its key.
    """
    if isinstance(node, CollectionNode) and node.flow_style:
        member = f"{json.dumps(key)}: {_flow(value)}"
        at = node.start_mark.index + 1
        return source[:at] + member + (", " if node.value else "") + source[at:]
    if isinstance(node, CollectionNode):
        column = node.start_mark.column
        at = _after_comments(source, _end(source, node, owner), column)
    else:
        column = owner.start_mark.column + 2 if owner else 0
        at = _line_end(source, owner.end_mark.index) if owner else len(source)
    lines = yaml.safe_dump({key: value}, sort_keys=False, allow_unicode=True, width=2**20).splitlines()
    added = "".join(" " * column + line + newline for line in lines)
    gap = newline if source[:at] and not source[:at].endswith("\n") else ""
    return source[:at] + gap + added + source[at:]


def _compose(source: str) -> Node | None:
    return yaml.compose(source, Loader=yaml.SafeLoader)


def _member(node: Any, key: str) -> tuple[Any, Any] | None:
    """The nodes of a member's key and value."""
    pairs = node.value if isinstance(node, MappingNode) else ()
    return next((pair for pair in reversed(pairs) if pair[0].value == key), None)


def _end(source: str, node: Any, key: Any) -> int:
    """Where a node's own text ends. Marks of collections in lines, and of block scalars, stand before what follows."""
    start = key.end_mark.index if key else 0
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        pair = last if isinstance(node, MappingNode) else (None, last)
        return max(start, _end(source, pair[1], pair[0]))
    return max(start, len(source[: node.end_mark.index].rstrip()))  # the marks of an alias are its anchor's


def _line_end(source: str, index: int) -> int:
    at = source.find("\n", index)
    return len(source) if at < 0 else at + 1


def _after_comments(source: str, index: int, column: int) -> int:
    """The start of the first line after a position that is not a comment indented by more than `column`."""
    at = _line_end(source, index)
    while source[at:].startswith(" " * (column + 1)) and source[at:].lstrip(" ").startswith("#"):
        at = _line_end(source, at)
    return at


def _flow(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
