"""Interface of a tool's code: what a caller sees of it, without the body of any function."""

from __future__ import annotations

import ast
import copy

from alita_mcp.verification.code.function import find_function
from alita_mcp.verification.code.source import parse_code


def signature_in(code: str, name: str) -> str:
    """The `def` line of a tool, behind the imports, aliases and classes of data that its annotations name."""
    used, bare = _interface(code, name)
    return "\n".join((*map(ast.unparse, used), ast.unparse(bare).removesuffix(":\n    pass")))


def promise_in(code: str, name: str) -> str:
    """The same with the docstring."""
    used, bare = _interface(code, name)
    said = ast.get_docstring(find_function(parse_code(code), name), clean=False)
    bare.body = [ast.Expr(ast.Constant(... if said is None else said))]
    return "\n".join(map(ast.unparse, (*used, bare)))


def _interface(code: str, name: str) -> tuple[list[ast.stmt], ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = parse_code(code)
    bare = copy.copy(find_function(tree, name))
    bare.body, bare.decorator_list = [ast.Pass()], []
    named, used = _names_in(bare), list[ast.stmt]()
    for node in reversed(tree.body):  # what is named stands before what names it
        if isinstance(node, ast.ClassDef):
            node.body = [each for each in node.body if isinstance(each, ast.AnnAssign)] or [ast.Pass()]
        if named & _defined_by(node):
            named |= _names_in(node)
            used.insert(0, node)
    return used, bare


def _names_in(node: ast.AST) -> set[str]:
    """Names, those in quotes among them: annotations may have them so."""
    found = {getattr(each, "id", getattr(each, "value", None)) for each in ast.walk(node)}
    return {each for each in found if isinstance(each, str)}


def _defined_by(node: ast.stmt) -> set[str]:
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(each.asname or each.name).partition(".")[0] for each in names}
        case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return {name}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
    return set()
