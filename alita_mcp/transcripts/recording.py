"""Converts a program of a transcript to a recorded run, its command line put into its code."""

from __future__ import annotations

import ast
import secrets
from collections.abc import Sequence

from alita_mcp.library.runs.recorded_run import RecordedRun
from alita_mcp.syntax import module_of
from alita_mcp.transcripts.values import ExecutedProgram


def as_run(program: ExecutedProgram) -> RecordedRun:
    """The run that the transcript shows, with the program's standard input in `input`."""
    return RecordedRun(
        id=secrets.token_hex(16),
        at=program.at,
        client=program.agent,
        code=with_arguments(program.code, program.arguments),
        arguments={"input": [*program.given.splitlines()]} if program.given else {},
        status="error" if program.failed else "ok",
        stdout=program.output,
    )


def with_arguments(code: str, arguments: Sequence[str]) -> str:
    """The code with constants in place of `sys.argv[1]`, …; where it reads `sys.argv` otherwise, with that set."""
    tree = module_of(code)
    uses = [node for node in ast.walk(tree) if _is_argv(node)]
    if not uses and not arguments:
        return code
    places = {id(node.value): node for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    read = [(places.get(id(use)), use) for use in uses]
    texts = [_argument(place, arguments) for place, _ in read]
    if uses and all(text is not None for text in texts):
        spots = [(place, text) for (place, _), text in zip(read, texts, strict=True) if place and text]
        return _replaced(code, spots)
    return _set(code, tree, arguments)


def _is_argv(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="sys"), attr="argv"):
            return True
    return False


def _argument(place: ast.Subscript | None, arguments: Sequence[str]) -> str | None:
    """The constant for `sys.argv[N]`, where it is read and was given."""
    match place:
        case ast.Subscript(slice=ast.Constant(value=int(number)), ctx=ast.Load()) if (
            1 <= number <= len(arguments)
        ):
            return repr(arguments[number - 1])
    return None


def _replaced(code: str, spots: Sequence[tuple[ast.Subscript, str]]) -> str:
    """Columns are counted in bytes; the last spot is replaced first."""
    lines = code.encode().splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))
    whole = b"".join(lines)
    for node, text in sorted(spots, key=lambda spot: (-spot[0].lineno, -spot[0].col_offset)):
        start = begins[node.lineno - 1] + node.col_offset
        end = begins[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        whole = whole[:start] + text.encode() + whole[end:]
    return whole.decode()


def _set(code: str, tree: ast.Module, arguments: Sequence[str]) -> str:
    """With `sys.argv` set behind the imports from `__future__`."""
    head = 0
    for node in tree.body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not text and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        head = node.end_lineno or head
    lines = code.splitlines(keepends=True)
    listed = ", ".join(repr(each) for each in ("script.py", *arguments))
    before = "".join(lines[:head])
    glue = "" if not before or before.endswith("\n") else "\n"
    return f"{before}{glue}import sys\nsys.argv = [{listed}]\n{''.join(lines[head:])}"
