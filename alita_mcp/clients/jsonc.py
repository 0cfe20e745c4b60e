"""Edits of JSON with comments and trailing commas: each splices the bytes of one member and leaves all others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import tree_sitter_json
from tree_sitter import Language, Node, Parser

Path = Sequence[str]


def read(text: bytes) -> dict[str, Any]:
    """The object that a document holds; an empty one where there is nothing but blanks and comments.

    Raises:
        ValueError: the document is not one object; the message says where.
    """
    plain, _ = _without_comments(text)
    if not plain.strip():
        return {}
    try:
        value = json.loads(plain)
    except json.JSONDecodeError as broken:
        raise ValueError(f"line {broken.lineno}, column {broken.colno}: {broken.msg}") from broken
    if not isinstance(value, dict):
        raise ValueError("its top level is not an object")  # noqa: TRY004 - it is about the text
    root = _root(text)
    if root is None or root.has_error:
        raise ValueError("it is not understood")
    return value


def put(text: bytes, path: Path, value: Any) -> bytes:
    """The document with a value at a path; the objects that lead there are made where they are missing."""
    root = _root(text)
    if root is None:
        line_end = b"" if not text or text.endswith(b"\n") else _newline(text)
        text += line_end + b"{}" + _newline(text)
        root = _root(text)
    node = root
    for place, key in enumerate(path):
        pair = _member(node, key)
        if pair is None:
            for name in reversed(path[place + 1 :]):
                value = {name: value}
            return _insert(text, node, key, value, _unit(text, root))
        node = _value(pair)
    new = _render(text, value, _indent(text, node.start_byte), _unit(text, root))
    return text[: node.start_byte] + new + text[node.end_byte :]


def drop(text: bytes, path: Path) -> bytes:
    """The document without the member at a path, which is there; its comma and the blanks before it go too."""
    node: Any = None
    pair: Any = None
    for key in path:
        node = _root(text) if node is None else _value(pair)
        pair = _member(node, key)
    around = node.children
    place = next(place for place, child in enumerate(around) if child.id == pair.id)
    following = around[place + 1]
    end = following.end_byte if following.type == "," else pair.end_byte
    commas = [(each.start_byte, each.end_byte) for each in around[:place] if each.type == ","][-1:]
    trailing = [(at, at + 1) for at in _without_comments(text)[1] if pair.end_byte <= at < node.end_byte - 1]
    if trailing and not text[end : trailing[0][0]].strip():
        end, trailing, commas = trailing[0][1], [], []
    line_rest = text[end:].split(b"\n", 1)[0].strip()
    if line_rest and not line_rest.startswith(b"}"):  # a comment, or the next member, stays on the line
        start, end = pair.start_byte, len(text) - len(text[end:].lstrip(b" \t"))
    else:
        start = len(text[: pair.start_byte].rstrip())
    cuts = [(start, end)] + ([] if following.type == "," else trailing or commas)
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def _insert(text: bytes, node: Any, key: str, value: Any, unit: bytes) -> bytes:
    """The document with a new last member of an object.

    1. It is empty: a line for ours, one step in.
    2. Its last member ends a line: a line for ours, indented as that one.
    3. It stands on one line: ours goes there too.
    """
    pairs = [child for child in node.named_children if child.type == "pair"]
    close = node.end_byte - 1
    at = len(text[:close].rstrip())
    newline, tail = _newline(text), text[at:close]
    name = json.dumps(key, ensure_ascii=False).encode() + b": "
    if not pairs:
        outer = _indent(text, node.start_byte)
        member = newline + outer + unit + name + _render(text, value, outer + unit, unit)
        return text[:at] + member + (b"" if b"\n" in tail else newline + outer) + text[at:]
    last = pairs[-1]
    has_comma = any(last.end_byte <= comma < close for comma in _without_comments(text)[1])
    if b"\n" in text[last.end_byte : close]:
        indent = _indent(text, last.start_byte)
        member = newline + indent + name + _render(text, value, indent, unit)
    else:
        member = b" " + name + json.dumps(value, ensure_ascii=False).encode()
    before, after = (b"", b",") if has_comma else (b",", b"")
    return text[: last.end_byte] + before + text[last.end_byte : at] + member + after + text[at:]


def _render(text: bytes, value: Any, indent: bytes, unit: bytes) -> bytes:
    """A value as JSON: a member of an object on a line, anything else on one."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False).encode()
    newline = _newline(text)
    members = (
        newline + indent + unit + json.dumps(key).encode() + b": " + _render(text, each, indent + unit, unit)
        for key, each in value.items()
    )
    return b"{" + b",".join(members) + newline + indent + b"}"


def _without_comments(text: bytes) -> tuple[bytes, list[int]]:
    """The document with blanks in place of comments and trailing commas, and where those commas are."""
    plain, commas, last = bytearray(text), [], None
    for token in _tokens(_parser().parse(text).root_node):
        if token.type == "comment":
            comment = text[token.start_byte : token.end_byte]
            plain[token.start_byte : token.end_byte] = (each if each in b"\r\n" else 32 for each in comment)
            continue
        if token.type in "]}" and last is not None and last.type == ",":
            commas.append(last.start_byte)
            plain[last.start_byte] = ord(" ")
        last = token
    return bytes(plain), commas


def _tokens(root: Node) -> Iterator[Node]:
    """The tokens of a tree in their order, each string as one."""
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is None or (node.type != "string" and cursor.goto_first_child()):
            continue
        if node.end_byte > node.start_byte:
            yield node
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _root(text: bytes) -> Any:
    """The top-level value with the positions that it has in the document; None where there is none."""
    children = _parser().parse(_without_comments(text)[0]).root_node.named_children
    return children[0] if children else None


def _parser() -> Parser:
    return Parser(Language(tree_sitter_json.language()))


def _member(node: Any, key: str) -> Any:
    """The last member of an object with this key, which is the one that counts; None where there is none."""
    return next((pair for pair in reversed(node.named_children) if _key(pair) == key), None)


def _key(pair: Any) -> Any:
    return json.loads(pair.child_by_field_name("key").text)


def _value(pair: Any) -> Any:
    return pair.child_by_field_name("value")


def _newline(text: bytes) -> bytes:
    return b"\r\n" if b"\r\n" in text else b"\n"


def _line_start(text: bytes, position: int) -> bytes:
    """What stands before a position on its line."""
    return text[text.rfind(b"\n", 0, position) + 1 : position]


def _indent(text: bytes, position: int) -> bytes:
    """The blanks at the start of the line of a position."""
    line = _line_start(text, position)
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _unit(text: bytes, root: Any) -> bytes:
    """One step of indentation, as the first member shows it."""
    start = root.named_children[0].start_byte if root.named_children else 0
    return _line_start(text, start) if _line_start(text, start).isspace() else b"  "
