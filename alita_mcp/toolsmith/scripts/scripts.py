"""Plain scripts, whose code does its work at the top level."""

from __future__ import annotations

import ast

from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError

_DEFINES = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def is_script(request: SynthesisRequest) -> bool:
    """Whether the code does its work at the top level instead of in a function that a tool could be.

    With a function of the tool's name and tests it is meant as a tool, whatever else stands in it.
    """
    try:
        tree = parse_code(request.code)
    except ContractError:
        return False
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    if request.name in functions and request.tests:
        return False
    acts = any(_acts(statement) for statement in tree.body)
    return acts and (request.name not in functions or _reads_or_prints(tree))


def _acts(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.Assign() | ast.AnnAssign():
            return _reads_or_prints(statement)
    return not isinstance(statement, _DEFINES)


def _reads_or_prints(tree: ast.AST) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in ("input", "print"))
        or (isinstance(node, ast.Attribute) and node.attr in ("argv", "stdin", "stdout"))
        for node in ast.walk(tree)
    )
