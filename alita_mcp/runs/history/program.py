"""Programs without their literals: programs that are the same but for literals have the same key.

A literal is a text, a number, true, false, None, or a list of literals.
"""

from __future__ import annotations

import ast
import hashlib
import math
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from alita_mcp.syntax import module_tree

MAX_CODE = 10_000
"""Longer programs, in characters, have no key: a tool has one purpose."""
_SAFE_INTEGER = 1 << 53
"""Clients in JavaScript keep integers exact up to here."""
_FIXED = {"annotation", "returns", "pattern", "type_params"}
"""Fields in which a literal cannot give way to a variable without changing what it means."""
_INNER = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
    | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
)  # fmt: skip
_NO_LITERAL = object()


@dataclass(frozen=True)
class Slot:
    """Place of a literal in a program."""

    node: ast.expr
    value: JsonValue
    hint: str
    """What the program calls the value: the name of a variable, of a keyword or parameter, or the key; may be empty."""
    at_top: bool
    """Whether it stands outside of all functions, classes and comprehensions."""


@dataclass(frozen=True)
class Program:
    """A program whose literals are taken out."""

    key: str
    """The same for programs that differ only in literals, layout, comments and texts that stand for comments."""
    body: list[ast.stmt]
    """In the place of each literal a name that no program can have: `slot_name` of its place among `slots`."""
    slots: tuple[Slot, ...]


def slot_name(number: int) -> str:
    """The name in the place of a slot."""
    return f"?{number}"


def program_of(code: str) -> Program | None:
    """A program without its literals, made anew for each call; None for one that is too long or does not parse."""
    if len(code) > MAX_CODE:
        return None
    try:
        body = _plain(module_tree(code).body)
        reader = _LiteralReader(_hints(body))
        body = [reader.visit(statement) for statement in body]
        key = hashlib.sha256(ast.dump(ast.Module(body, [])).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Program(key, body, tuple(reader.slots))


def _plain(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without texts that stand for comments, and without `if __name__ == "__main__":` around the last."""
    plain = [each for each in body[:-1] if not _is_text(each)] + body[-1:]
    match plain:
        case [*before, ast.If(test=ast.Compare(left=ast.Name(id="__name__")), body=inner, orelse=[])]:
            return [*before, *inner, ast.Pass()]  # its last expression is not the program's result
    return plain


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(_value_of(statement.value), str)


def _value_of(node: ast.AST) -> Any:
    """The JSON value of a literal; `_NO_LITERAL` for all else."""
    match node:
        case ast.Constant(value=None | bool() | str() as value):
            return value
        case ast.Constant(value=int() as value) if abs(value) < _SAFE_INTEGER:
            return value
        case ast.Constant(value=float() as value) if math.isfinite(value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            inner = _value_of(node.operand)
            return _NO_LITERAL if inner is _NO_LITERAL or isinstance(value, bool) else -value
        case ast.List(elts=items, ctx=ast.Load()):
            values = [_value_of(each) for each in items]
            return _NO_LITERAL if _NO_LITERAL in values else values
    return _NO_LITERAL


def _hints(body: list[ast.stmt]) -> dict[int, str]:
    """What a program calls the values of its expressions, by the `id` of their nodes."""
    found: dict[int, str] = {}
    arguments = {each.name: each.args.args for each in body if isinstance(each, ast.FunctionDef)}
    for node in ast.walk(ast.Module(body, [])):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                | ast.keyword(arg=str(name), value=value)
            ):
                found[id(value)] = name
            case (
                ast.For(target=ast.Name(id=name), iter=value)
                | ast.comprehension(target=ast.Name(id=name), iter=value)
            ):
                found[id(value)] = f"{name}_values"
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                found |= {id(value): str(key.value) for key, value in pairs if isinstance(key, ast.Constant)}
            case ast.Call(func=ast.Name(id=name), args=given) if name in arguments:
                named = zip(arguments[name], given, strict=False)
                found |= {id(value): argument.arg for argument, value in named}
            case ast.arguments(args=args, defaults=defaults) if defaults:
                named = zip(args[-len(defaults) :], defaults, strict=False)
                found |= {id(value): argument.arg for argument, value in named}
    return found


class _LiteralReader(ast.NodeTransformer):
    """Puts slots in the places of literals, in the order of the text."""

    def __init__(self, hints: dict[int, str]) -> None:
        self.slots: list[Slot] = []
        self._hints = hints
        self._depth = 0

    def visit(self, node: ast.AST) -> Any:
        value = _value_of(node)
        if isinstance(node, ast.expr) and value is not _NO_LITERAL:
            self.slots.append(Slot(node, value, self._hints.get(id(node), ""), self._depth == 0))
            return ast.Name(slot_name(len(self.slots) - 1), ast.Load())
        self._depth += isinstance(node, _INNER)
        for name, old in ast.iter_fields(node):
            if name in _FIXED:
                continue
            if isinstance(old, list):
                kept = [each for each in old if not (isinstance(each, ast.stmt) and _is_text(each))]
                kept = kept if kept or not old else [ast.Pass()]
                old[:] = [self.visit(each) if isinstance(each, ast.AST) else each for each in kept]
            elif isinstance(old, ast.AST):
                setattr(node, name, self.visit(old))
        self._depth -= isinstance(node, _INNER)
        return node
