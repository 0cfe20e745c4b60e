"""Parser of a tool's text to a syntax tree; every failure is a ContractError."""

from __future__ import annotations

import ast
import io
import platform
import re
import tokenize
from collections.abc import Callable
from typing import TypeVar

from alita_mcp.syntax import expression_tree, module_tree, symbol_table
from alita_mcp.unseen import HIDDEN
from alita_mcp.verification.findings import refusal

T = TypeVar("T")

MAX_CODE_BYTES = 64 << 10
MAX_WORDS = 16_000
"""Names, numbers and signs: what 64 kB of ordinary code have. The parser stops all threads while it reads."""
_WORD = re.compile(r"\w+|[^\w\s]")
_UTF_8 = {"utf-8", "utf8"}
_SMALLER = "Make the tool smaller: one capability per tool, large tables in a package."
MAX_DEPTH = 200
"""Deeper than any person nests, `elif` chains and long sums included; some of us walk the tree recursively."""


def parse_code(code: str) -> ast.Module:
    """The syntax tree of a tool's code, after checks of its encoding, length and depth.

    Raises:
        ContractError: the code is too large, is not plain UTF-8 text, hides characters or does not parse.
    """
    _check_text(code)
    tree = _run_parser(lambda: module_tree(code), "the code")
    _check_depth(tree)
    # Two parameters of one name and the like. Not compile(): nested finally blocks double its work each.
    _run_parser(lambda: symbol_table(code), "the code")
    return tree


def parse_expression(text: str) -> ast.expr:
    """The syntax tree of one expression; errors as `parse_code`."""
    _check_text(text)
    tree = _run_parser(lambda: expression_tree(text.strip()), repr(text[:80]))
    _check_depth(tree)
    return tree.body


def excerpt(node: ast.AST, limit: int = 60) -> str:
    """The beginning of a node's source on one line, for messages."""
    try:
        text = " ".join(ast.unparse(node).split())
    except (ValueError, RecursionError):  # a number with more digits than Python prints
        return "…"
    return text if len(text) <= limit else f"{text[:limit]}…"


def _run_parser(read: Callable[[], T], what: str) -> T:
    try:
        return read()
    except SyntaxError as broken:
        fix = f"Send code that Python {platform.python_version()} can parse."
        raise refusal(f"{what} does not parse: {broken.msg}", fix, line=broken.lineno) from broken
    except (RecursionError, MemoryError) as broken:
        raise _too_deep() from broken
    except (ValueError, OverflowError) as broken:
        raise refusal(f"{what} does not parse: {broken}", "Send plain Python source.") from broken


def _check_text(code: str) -> None:
    try:
        encoded = code.encode()
    except UnicodeEncodeError as lone:
        fix = "Send valid Unicode text; write such a character as an escape like \\ud800."
        message = f"character {lone.start} is half of a surrogate pair, which no file can hold"
        raise refusal(message, fix) from lone
    if len(encoded) > MAX_CODE_BYTES:
        raise refusal(f"the code has {len(encoded):,} bytes, the limit is {MAX_CODE_BYTES:,}", _SMALLER)
    if len(_WORD.findall(code)) > MAX_WORDS:
        raise refusal(f"the code has more than {MAX_WORDS:,} names, numbers and signs", _SMALLER)
    if hidden := HIDDEN.search(code):
        message = f"the code holds the hidden character U+{ord(hidden.group()):04X}"
        fix = f"Write it as the escape {hidden.group()!a}, which a reader sees."
        raise refusal(message, fix, line=code.count("\n", 0, hidden.start()) + 1)
    # a coding cookie would let the stored file mean something else than the text that was read here
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(encoded).readline)
    except SyntaxError as unknown:
        encoding = str(unknown)
    if encoding not in _UTF_8:
        message = f"the code declares another encoding than UTF-8 ({encoding})"
        raise refusal(message, "Remove the coding comment; tools are UTF-8.", line=1)


def _check_depth(tree: ast.AST) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> Exception:
    fix = f"Stay below {MAX_DEPTH} levels; name intermediate results."
    return refusal("the code is nested too deeply", fix)
