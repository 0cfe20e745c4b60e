"""Edits of JSON with comments and trailing commas: each splices the bytes of one member and leaves all others.

It is parsed as JavaScript, whose grammar has both: a document in brackets is an expression.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import tree_sitter_javascript
from tree_sitter import Language, Parser, Query, QueryCursor

COMMENTS = "(comment) @blank"
TRAILING_COMMAS = '[(object "," @blank . "}") (array "," @blank . "]")]'


def read(text: bytes) -> dict[str, Any]:
    """The object that a document holds; an empty one where there is nothing but blanks and comments.

    Raises:
        ValueError: the document is not one object; the message says where.
    """
    plain = bytearray(_in_brackets(text))
    for query in (COMMENTS, TRAILING_COMMAS):
        tree = Parser(_language()).parse(bytes(plain))
        for node in QueryCursor(Query(_language(), query)).captures(tree.root_node).get("blank", ()):
            if node.type == "," and node.prev_sibling and node.prev_sibling.type == ",":
                continue
            here = slice(node.start_byte, node.end_byte)
            plain[here] = bytes(each if each in b"\r\n" else 32 for each in plain[here])
    document = plain[1:-2].removeprefix(b"\xef\xbb\xbf")
    try:
        value = json.loads(document if document.strip() else b"{}")
    except json.JSONDecodeError as broken:
        raise ValueError(f"line {broken.lineno}, column {broken.colno}: {broken.msg}") from broken
    if not isinstance(value, dict):
        raise ValueError("its top level is not an object")  # noqa: TRY004 - it is about the text
    return value


def put(text: bytes, path: Sequence[str], value: Any) -> bytes:
    """The document with a value at a path; the objects that lead there are made where they are missing.

    A new member comes first in its object, so that no comma of others is touched.
    """
    newline = b"\r\n" if b"\r\n" in text else b"\n"
    source, node = _in_brackets(text), _root(text)
    if node is None:
        gap = b"" if not text or text.endswith(b"\n") else newline
        return put(text + gap + b"{}" + newline, path, value)
    step = (_indent(source, node.named_children[0]) if node.named_children else b"") or b"  "

    def render(value: Any, indent: bytes) -> bytes:
        lines = json.dumps(value, ensure_ascii=False, indent=step.decode()).encode().split(b"\n")
        return (newline + indent).join(lines)

    keys = [*path]
    while keys and (pair := _find(node, keys[0])):
        node = pair.child_by_field_name("value")
        keys.pop(0)
    outer = _indent(source, node)
    if not keys:
        return (source[: node.start_byte] + render(value, outer) + source[node.end_byte :])[1:-2]
    for key in reversed(keys[1:]):
        value = {key: value}
    name = json.dumps(keys[0], ensure_ascii=False).encode() + b": "
    first: Any = next((each for each in node.named_children if each.type == "pair"), None)
    beside = [each for each in node.children[:-1] if each.start_point.row == node.start_point.row]
    if first in beside:
        at = first.start_byte
        added = name + json.dumps(value, ensure_ascii=False).encode() + b", "
    else:  # below the brace, and a comment beside it
        at = beside[-1].end_byte
        indent = (_indent(source, first) if first else b"") or outer + step
        added = newline + indent + name + render(value, indent) + (b"," if first else b"")
        if not first and source[at:].lstrip(b" \t\r")[:1] != b"\n":
            added += newline + outer
    return (source[:at] + added + source[at:])[1:-2]


def drop(text: bytes, path: Sequence[str]) -> bytes:
    """The document without the member at a path, which is there; its comma and the line that was its own go too."""
    source, node = _in_brackets(text), _root(text)
    for key in path[:-1]:
        node = _find(node, key).child_by_field_name("value")
    pair = _find(node, path[-1])
    tokens = [each for each in node.children if each.type != "comment"]
    before, after = (tokens[tokens.index(pair) + step] for step in (-1, 1))
    has_comma = after.type == ","
    start, end = pair.start_byte, after.end_byte if has_comma else pair.end_byte
    rest = source[end:].split(b"\n", 1)[0].strip()
    if rest and not rest.startswith(b"}"):  # a comment, or the next member
        end = len(source) - len(source[end:].lstrip(b" \t"))
    else:
        start = len(source[:start].rstrip(b" \t" if rest else None))
    source = source[:start] + source[end:]
    if not has_comma and before.type == ",":
        source = source[: before.start_byte] + source[before.end_byte :]
    return source[1:-2]


def _in_brackets(text: bytes) -> bytes:
    return b"(" + text + b"\n)"


def _language() -> Language:
    return Language(tree_sitter_javascript.language())


def _root(text: bytes) -> Any:
    """The top-level value of a document that was read; None where there is none."""
    statement = Parser(_language()).parse(_in_brackets(text)).root_node.children[0]
    values = statement.children[0].named_children if statement.type == "expression_statement" else ()
    return next((each for each in values if each.type == "object"), None)


def _find(node: Any, key: str) -> Any:
    """The last member of an object with this key, which is the one that counts; None where there is none."""
    pairs = (each for each in reversed(node.named_children) if each.type == "pair")
    return next((pair for pair in pairs if json.loads(pair.named_children[0].text) == key), None)


def _indent(source: bytes, node: Any) -> bytes:
    """The blanks at the start of the line of a node."""
    line = source[source.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]
    return line[: len(line) - len(line.lstrip(b" \t"))]
