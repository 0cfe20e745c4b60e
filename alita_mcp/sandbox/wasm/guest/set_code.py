"""Rewriter of code for rehearsed set orders: each set that it makes goes through functions of `set_order`."""

from __future__ import annotations

import ast

SET, OWN, CLASS_OF = ".set", ".own", ".class_of"
"""Names that no code can have for something of its own."""
_SET_OPERATORS = (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)


def rewrite_sets(code: str, file: str) -> ast.Module:
    """Rewrites code into a tree with the same line numbers.

    Raises:
        SyntaxError, ValueError: it cannot be parsed.
    """
    tree: ast.Module = _Rewrite().visit(ast.parse(code, file))
    return ast.fix_missing_locations(tree)


class _Rewrite(ast.NodeTransformer):
    def visit_Set(self, node: ast.Set) -> ast.AST:
        """`{a, b}`."""
        self.generic_visit(node)
        return _call(SET, node, ast.List(node.elts, ast.Load()))

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        """`{a for a in b}`."""
        self.generic_visit(node)
        return _call(SET, node, ast.ListComp(node.elt, node.generators))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`a.keys() & b.keys()`; operators of sets of ours would do without."""
        self.generic_visit(node)
        if not isinstance(node.op, _SET_OPERATORS) or _is_number(node.left) or _is_number(node.right):
            return node
        return _call(OWN, node, node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`a in {b, c}`, where the order says nothing."""
        displays = [each for each in node.comparators if isinstance(each, ast.Set)]
        if len(node.ops) == len(displays) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            node.left = self.visit(node.left)
            displays[0].elts = [self.visit(each) for each in displays[0].elts]
            return node
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`type(a)`."""
        self.generic_visit(node)
        plain = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)
        if plain and isinstance(node.func, ast.Name) and node.func.id == "type":
            return _call(CLASS_OF, node, node.func, node.args[0])
        return node


def _call(name: str, place: ast.AST, *arguments: ast.expr) -> ast.AST:
    call = ast.Call(ast.Name(name, ast.Load()), [*arguments], [])
    return ast.copy_location(call, place)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex))
