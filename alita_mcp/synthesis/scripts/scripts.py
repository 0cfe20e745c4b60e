"""Plain scripts, without a function of the tool's name, turned into programs that the sandbox can call."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from alita_mcp.syntax import expression_of, module_of
from alita_mcp.synthesis.requests.request import SynthesisRequest
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError

ENTRY = "run_script"
OUT_OF_INPUT = "the script reads more lines than it was given"
_PROLOGUE = f"""\
_lines = []
_argv = []
_stdin = None
def input(prompt=""):
    if not _lines:
        raise EOFError("{OUT_OF_INPUT}")
    return _lines.pop(0)
"""
_SETUP = """\
global _lines, _argv, _stdin
_lines = list(_given_lines)
_argv = ["script.py"] + list(_given_argv)
"""
_STDIN = """\
import io
_stdin = io.StringIO("\\n".join(_lines))
"""
_REAL_ARGV = """\
import sys
sys.argv = _argv
"""
_DEFINES = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_NESTED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


def is_script(request: SynthesisRequest) -> bool:
    """Whether the code does its work at the top level instead of in a function that a tool could be.

    With a function of the tool's name and tests it is meant as a tool, whatever else stands in it.
    """
    tree = _read(request.code)
    if tree is None:
        return False
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    if request.name in functions and request.tests:
        return False
    acts = any(_acts(statement) for statement in tree.body)
    return acts and (request.name not in functions or _talks(tree))


def program_of(code: str, constants: Mapping[str, Any]) -> str:
    """Returns a module whose `run_script` does what the script does, with other constants if wanted.

    Names of the top level stay global, so that functions of the script see them; `input()`, `sys.argv` and
    `sys.stdin` are what the call gives.

    Raises:
        ContractError: the code does not parse.
    """
    tree = _Inputs().visit(parse_code(code))
    future, star, body = [], [], []
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            future.append(statement)
        elif isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            star.append(statement)
        else:
            body.append(_plain(statement, constants))
    bound = sorted(set(_bound(body)) - {"_lines", "_argv", "_stdin"})
    setup = module_of(_SETUP + (f"global {', '.join(bound)}\n" if bound else "")).body
    if "stdin" in code:
        setup += module_of(_STDIN).body
    if "argparse" in code or "import argv" in code:
        setup += module_of(_REAL_ARGV).body
    module = module_of(f"{_PROLOGUE}\ndef {ENTRY}(_given_lines, _given_argv):\n    pass")
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == ENTRY:
            node.body = [*setup, *(_ended(body) if "exit" in code else body), ast.Pass()]
    module.body = [*future, *star, *module.body]
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


class _Inputs(ast.NodeTransformer):
    """Puts the call's own inputs in the place of the process's."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant("__main__") if node.id == "__name__" and isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "sys" and node.attr in ("argv", "stdin"):
            return ast.Name(f"_{node.attr}", node.ctx)
        return node


def _plain(statement: ast.stmt, constants: Mapping[str, Any]) -> ast.stmt:
    """A top-level statement as it may stand in a function whose names are global."""
    match statement:
        case ast.AnnAssign(target=ast.Name() as target):
            value = statement.value
            statement = ast.Assign([target], value) if value is not None else ast.Pass()
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) if name in constants:
            return ast.Assign(statement.targets, expression_of(repr(constants[name])).body)
    return statement


def _ended(body: list[ast.stmt]) -> list[ast.stmt]:
    """A body in which leaving with status 0 is an end like any other."""
    guarded = module_of(
        "try:\n    pass\nexcept SystemExit as _end:\n    if _end.code not in (None, 0):\n        raise"
    ).body[0]
    if isinstance(guarded, ast.Try):
        guarded.body = body or guarded.body
    return [guarded]


def _bound(body: Iterable[ast.AST]) -> Iterable[str]:
    """Names that statements bind in their own scope."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Import() | ast.ImportFrom():
                yield from ((alias.asname or alias.name.partition(".")[0]) for alias in node.names)
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield node.id
            case ast.ExceptHandler(name=str() as name):
                yield name
        if not isinstance(node, _NESTED):
            yield from _bound(ast.iter_child_nodes(node))


def _acts(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.Assign() | ast.AnnAssign():
            return _talks(statement)
    return not isinstance(statement, _DEFINES)


def _talks(tree: ast.AST) -> bool:
    """Whether it reads input or prints."""
    return any(
        (isinstance(node, ast.Name) and node.id in ("input", "print"))
        or (isinstance(node, ast.Attribute) and node.attr in ("argv", "stdin", "stdout"))
        for node in ast.walk(tree)
    )


def _read(code: str) -> ast.Module | None:
    try:
        return parse_code(code)
    except ContractError:
        return None
