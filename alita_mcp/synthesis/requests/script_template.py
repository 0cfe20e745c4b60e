"""Rewrites a plain script as a function by its syntax alone, as a first version for its author."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from alita_mcp.syntax import expression_of
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError

_HOISTED = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass
class ScriptFunction:
    """Module of the rewritten function, with arguments that fit it."""

    code: str
    arguments: dict[str, Any] = field(default_factory=dict)


def function_of(code: str, name: str, summary: str) -> ScriptFunction:
    """Returns a function that returns the lines the script prints; each input of the script is a parameter."""
    try:
        tree = parse_code(code)
    except ContractError:
        return ScriptFunction(code)
    rewriting = _Rewriting(tree)
    above: list[ast.stmt] = []
    body: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, _HOISTED):
            above.append(statement)
        else:
            body.extend(rewriting.statements(statement))
    parameters = [*rewriting.inputs, *rewriting.constants] or ["text"]
    types = [f"{each}: {_type(rewriting.constants.get(each, ''))}" for each in parameters]
    head = f"def {name}({', '.join(types)}) -> str:\n"
    described = "".join(f"        {each}: Say what it is.\n" for each in parameters)
    docstring = f'    """{summary}\n\n    Args:\n{described}    """\n'
    lines = ast.unparse(ast.fix_missing_locations(ast.Module(body, []))) if body else ""
    indented = "".join(f"    {line}\n" if line else "\n" for line in lines.splitlines())
    top = f"{ast.unparse(ast.Module(above, []))}\n\n\n" if above else ""
    rest = '    return "\\n".join(_printed)\n'
    arguments: dict[str, Any] = dict.fromkeys(parameters, "…") | rewriting.constants
    return ScriptFunction(f"{top}{head}{docstring}    _printed = []\n{indented}{rest}", arguments)


class _Rewriting(ast.NodeTransformer):
    """Turns input() into parameters, print() into lines of the result, and constants at the top into parameters."""

    def __init__(self, tree: ast.Module) -> None:
        stored = (
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        self._times = Counter(stored)
        self.inputs: list[str] = []
        self.constants: dict[str, Any] = {}

    def statements(self, statement: ast.stmt) -> list[ast.stmt]:
        """One top-level statement as it stands in the function."""
        match statement:
            case ast.Expr(value=ast.Constant()):
                return []
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)) if _is_plain(value):
                if self._times[name] == 1:
                    self.constants[name] = value
                    return []
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                return [each for inner in statement.body for each in self.statements(inner)]
        changed: ast.stmt = self.visit(statement)
        return [changed]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id="input"):
                name = f"input_{len(self.inputs) + 1}"
                self.inputs.append(name)
                return ast.Name(name, ast.Load())
            case ast.Name(id="print") if not node.keywords:
                text = expression_of("_printed.append(' '.join(map(str, [])))").body
                for inner in ast.walk(text):
                    if isinstance(inner, ast.List):
                        inner.elts = node.args
                return text
        return node


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float)


def _type(value: object) -> str:
    return type(value).__name__
