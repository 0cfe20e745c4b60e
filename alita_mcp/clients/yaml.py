"""Edits of YAML: each splices the lines, or the flow collection, of one member and leaves all others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml
from yaml.nodes import CollectionNode, MappingNode


def read(text: bytes) -> dict[str, Any]:
    """The mapping that a document holds; an empty one where there is nothing but comments.

    Raises:
        ValueError: it is not one mapping; the message says where.
    """
    try:
        value = yaml.safe_load(text.decode())
    except yaml.YAMLError as broken:
        raise ValueError(" ".join(str(broken).split())) from broken
    if value is not None and not isinstance(value, dict):
        raise ValueError("its top level is not a mapping")
    return value or {}


def put(text: bytes, path: Sequence[str], value: Any) -> bytes:
    """The document with a value at a path; the mappings that lead there are made where they are missing.

    A new member comes first in its mapping.
    """
    source = text.decode()
    newline = "\r\n" if "\r\n" in source else "\n"
    node: Any = yaml.compose(source, Loader=yaml.SafeLoader)
    owner: Any = None
    keys = [*path]
    while keys and (found := _member(node, keys[0])):
        owner, node = found
        keys.pop(0)
    if not keys:
        end = _end(source, node, owner)
        return (
            source[: owner.end_mark.index] + ": " + json.dumps(value, ensure_ascii=False) + source[end:]
        ).encode()
    for name in reversed(keys[1:]):
        value = {name: value}
    if isinstance(node, CollectionNode) and node.flow_style:
        at = node.start_mark.index + 1
        added = f"{json.dumps(keys[0])}: {json.dumps(value, ensure_ascii=False)}{', ' if node.value else ''}"
    else:
        # Below the line of the key; a whole document has no key, so there ours comes last.
        column = node.start_mark.column if owner and isinstance(node, CollectionNode) else 2 * bool(owner)
        at = _after_line(source, owner.end_mark.index, column) if owner else len(source)
        lines = yaml.safe_dump(
            {keys[0]: value}, sort_keys=False, allow_unicode=True, width=2**20
        ).splitlines()
        added = "".join(" " * column + line + newline for line in lines)
        if source[:at] and not source[:at].endswith("\n"):
            added = newline + added
    return (source[:at] + added + source[at:]).encode()


def drop(text: bytes, path: Sequence[str]) -> bytes:
    """The document without the member at a path, which is there, and without the comments inside it."""
    source = text.decode()
    node: Any = yaml.compose(source, Loader=yaml.SafeLoader)
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
    start, end = source.rfind("\n", 0, start) + 1, _after_line(source, end, around.start_mark.column)
    if len(around.value) == 1 and owner is not None:
        colon = source.index(":", owner.end_mark.index) + 1
        return (source[:colon] + " {}" + source[colon:start] + source[end:]).encode()
    return (source[:start] + source[end:]).encode()


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


def _after_line(source: str, index: int, column: int) -> int:
    """The start of the next line that is not a comment indented by more than `column`."""
    end = (source.find("\n", index) + 1) or len(source)
    while source[end:].startswith(" " * (column + 1)) and source[end:].lstrip(" ").startswith("#"):
        end = (source.find("\n", end) + 1) or len(source)
    return end
