"""Sets in another order, for the rehearsal of a tool under another hash seed.

Hashes of text are baked into the component, so a result that depends on the order of a set would always be the same
here, and another one elsewhere. In a rehearsal the sets that the tool's own code makes get a table of another size,
which gives another order; all else about them is as it was. Sets that libraries make keep their order, frozen ones too.
"""

from __future__ import annotations

import ast
import builtins
import datetime
import enum
from typing import Any

WIDEN = ".widen"
"""A name that no code can have for something of its own."""
_OPERATORS = (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)
_METHODS = {"copy", "union", "intersection", "difference", "symmetric_difference"}
_MOST_FILLERS = 500_000
"""In all sets of a call: some tenths of a second."""
_SEEDED = (str, bytes, datetime.date, datetime.time, enum.Enum)
_set, _frozenset, _tuple, _type = set, frozenset, tuple, type


def seed_sets(seed: int) -> dict[str, Any]:
    """Builtins of a module that `rewrite_sets` rewrote."""
    left = _MOST_FILLERS

    def widen(result: Any) -> Any:
        """A set of which some hash depends on the seed, in a large table; anything else stays."""
        nonlocal left
        if left <= 0 or _type(result) is not _set or not any(map(_has_seeded_hash, result)):
            return result
        count = min((len(result) + 8) * (16 if seed % 2 else 4), left)
        left -= count
        fillers = [(WIDEN, number) for number in range(count)]
        wide = _set(fillers)
        wide.update(result)
        for each in fillers:  # one by one: the table would shrink again if many went at once
            wide.discard(each)
        return wide

    return vars(builtins) | {WIDEN: widen}


def _has_seeded_hash(item: Any) -> bool:
    """Whether the hash of something depends on the seed; what objects of the tool's own classes have is not known."""
    if isinstance(item, (_tuple, _frozenset)):
        return any(map(_has_seeded_hash, item))
    return isinstance(item, _SEEDED) and not isinstance(item, int)


def rewrite_sets(code: str, file: str) -> ast.Module:
    """Rewrites code for `seed_sets` into a tree with the same line numbers.

    Raises:
        SyntaxError, ValueError: it cannot be parsed.
    """
    tree: ast.Module = _Rewrite().visit(ast.parse(code, file))
    return ast.fix_missing_locations(tree)


class _Rewrite(ast.NodeTransformer):
    def visit(self, node: Any) -> Any:
        """Passes each expression through `widen` that may give a new set, except in annotations."""
        annotations = {name: getattr(node, name, None) for name in ("annotation", "returns")}
        for name in annotations.keys() & _set(node._fields):
            setattr(node, name, None)
        self.generic_visit(node)
        for name in annotations.keys() & _set(node._fields):
            setattr(node, name, annotations[name])
        if not _may_give_set(node):
            return node
        return ast.copy_location(ast.Call(ast.Name(WIDEN, ast.Load()), [node], []), node)


def _may_give_set(node: ast.AST) -> bool:
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name("set")):
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _METHODS
        case ast.BinOp(op=operator):
            return isinstance(operator, _OPERATORS)
    return False
