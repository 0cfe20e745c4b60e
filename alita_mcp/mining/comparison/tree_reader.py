"""Trees of labels and variables, made of syntax trees without constants, comments, types and imports."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from alita_mcp.mining.comparison.scopes import Scope, Variable, scope_of

HOLE = "hole "
"""How the label of a constant begins, or of a container of constants; its kind follows."""
_WORD = "word "
_BLOCKS = {"body", "orelse", "finalbody", "handlers", "cases"}
_LEFT_OUT = {"ctx", "annotation", "returns", "type_comment", "type_params", "kind", "str"}
_OPERATORS = ast.operator | ast.unaryop | ast.boolop | ast.cmpop
_CONTAINERS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set", ast.Dict: "dict"}
_CONSTANTS = {bool: "truth", type(None): "none", str: "text", bytes: "text"}


@dataclass(slots=True, eq=False)
class Node:
    """One part of a program; a leaf that stands for a variable has no label."""

    label: str
    parts: list[Node] = field(default_factory=list)
    variable: Variable | None = None

    @property
    def is_hole(self) -> bool:
        """Whether it is a constant."""
        return self.label.startswith(HOLE)


class TreeReader:
    """Reads syntax trees within the scope where it stands."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._function_read: Variable | None = None
        self.sources: dict[Variable, list[Node]] = defaultdict(list)
        """Where the values of variables come from."""
        self._special: dict[type[ast.AST], Callable[[Any], Node | None]] = {
            **dict.fromkeys((ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal), lambda _: None),
            **dict.fromkeys((ast.UnaryOp, ast.BinOp), self._folded),
            **dict.fromkeys((ast.List, ast.Tuple, ast.Set), self._container), ast.Dict: self._dict,
            **dict.fromkeys((ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr), self._assign),
            **dict.fromkeys((ast.For, ast.AsyncFor, ast.comprehension), self._loop),
            **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp), self._comprehension),
            **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef), self._function), ast.Lambda: self._lambda,
            ast.Constant: _constant, ast.JoinedStr: self._formatted, ast.FormattedValue: self._field,
            ast.Name: lambda node: self._named(node.id), ast.Attribute: self._attribute, ast.Call: self._call,
            ast.keyword: self._keyword, ast.Expr: self._statement, ast.withitem: self._with_item,
            ast.ClassDef: self._class, ast.Return: self._return,
        }  # fmt: skip

    def all_of(self, nodes: Iterable[ast.AST | None]) -> list[Node]:
        """Trees of the nodes, without empty ones."""
        found = []
        for each in nodes:  # no comprehension: that is one frame more for each level of nesting
            read = self._read(each)
            if read:
                found.append(read)
        return found

    def _read(self, node: ast.AST | None) -> Node | None:
        if node is None:
            return Node("**")  # the key of an unpacked dictionary
        return self._special.get(type(node), self._plain)(node)

    def _node(self, node: ast.AST) -> Node:
        """For what is never left out."""
        return self._read(node) or Node("")

    def _plain(self, node: ast.AST) -> Node:
        """The kind of a node, its operators and the fields that it has, with what these hold."""
        words, parts = [type(node).__name__], list[Node]()
        for name in node._fields:
            value = getattr(node, name, None)
            if not value or name in _LEFT_OUT:
                continue
            if isinstance(value, list):
                self._several(name, value, words, parts)
            elif isinstance(value, _OPERATORS):
                words.append(type(value).__name__)
            elif isinstance(value, ast.AST):
                words.append(name)
                parts.append(self._node(value))
            elif name in ("name", "rest"):
                parts.append(self._named(value))
            else:
                words.append(str(value))
        return Node(" ".join(words), parts)

    def _several(self, name: str, values: list[Any], words: list[str], parts: list[Node]) -> None:
        if name in _BLOCKS:
            parts.append(Node(name, self.all_of(values)))
        elif isinstance(values[0], str | ast.cmpop):
            words += [each if isinstance(each, str) else type(each).__name__ for each in values]
        else:
            parts += self.all_of(values)

    def _named(self, name: str) -> Node:
        meant = self._scope.find(name)
        return Node(_WORD + meant) if isinstance(meant, str) else Node("", variable=meant)

    def _gives(self, target: Node, source: Node) -> None:
        if target.variable:
            self.sources[target.variable].append(source)
        elif target.label.partition(" ")[0] in ("Tuple", "List", "Starred"):
            for each in target.parts:
                self._gives(each, Node("part", [source]))

    def _folded(self, node: ast.UnaryOp | ast.BinOp) -> Node:
        """What is computed of constants alone is one."""
        plain = self._plain(node)
        return plain.parts[0] if all(each.is_hole for each in plain.parts) else plain

    def _container(self, node: ast.List | ast.Tuple | ast.Set) -> Node:
        if isinstance(node, ast.Set) or isinstance(node.ctx, ast.Load):
            return _contained(node, self.all_of(node.elts))
        return Node(type(node).__name__, self.all_of(node.elts))

    def _dict(self, node: ast.Dict) -> Node:
        pairs = zip(node.keys, node.values, strict=True)
        return _contained(node, self.all_of(each for pair in pairs for each in pair))

    def _formatted(self, node: ast.JoinedStr) -> Node:
        parts = self.all_of(each for each in node.values if isinstance(each, ast.FormattedValue))
        return Node("JoinedStr", parts) if parts else Node(HOLE + "text")

    def _field(self, node: ast.FormattedValue) -> Node:
        layout = self.all_of([node.format_spec] if node.format_spec else [])
        computed = [each for each in layout if not each.is_hole]
        return Node(f"FormattedValue {max(node.conversion, 0)}", [self._node(node.value), *computed])

    def _attribute(self, node: ast.Attribute) -> Node:
        owner = self._node(node.value)
        if owner.label.startswith(_WORD) and not owner.parts:
            return Node(f"{owner.label}.{node.attr}")
        return Node(f".{node.attr}", [owner])

    def _call(self, node: ast.Call) -> Node:
        called = self._node(node.func)
        order = called.variable.parameters if called.variable else ()
        named = [self._keyword(each, order) for each in node.keywords]
        parts = self.all_of(node.args) + sorted(named, key=lambda each: each.label)
        if called.label.startswith((_WORD, ".")):
            return Node(f"{called.label}()", called.parts + parts)
        return Node("call", [called, *parts])

    def _keyword(self, node: ast.keyword, order: Sequence[str] = ()) -> Node:
        """A named argument; the names of our own functions' parameters are variables, so these count by place."""
        at = order.index(node.arg) if node.arg in order else node.arg
        return Node(f"key {at}", [self._node(node.value)])

    def _statement(self, node: ast.Expr) -> Node | None:
        return None if isinstance(node.value, ast.Constant) else self._plain(node)

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) -> Node | None:
        if node.value is None:  # a mere annotation
            return Node("field", self.all_of([node.target])) if self._scope.is_class else None
        targets = self.all_of(node.targets if isinstance(node, ast.Assign) else [node.target])
        value = self._node(node.value)
        if isinstance(node, ast.AugAssign):
            value = Node(f"BinOp left {type(node.op).__name__} right", [targets[0], value])
        for each in targets:
            self._gives(each, value)
        return Node("NamedExpr" if isinstance(node, ast.NamedExpr) else "Assign", [*targets, value])

    def _loop(self, node: ast.For | ast.AsyncFor | ast.comprehension) -> Node:
        plain = self._plain(node)
        self._gives(plain.parts[0], Node("each", [plain.parts[1]]))
        return plain

    def _with_item(self, node: ast.withitem) -> Node:
        plain = self._plain(node)
        if node.optional_vars:
            self._gives(plain.parts[1], Node("with", [plain.parts[0]]))
        return plain

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Node:
        outer, self._scope = self._scope, scope_of([each.target for each in node.generators], self._scope)
        made = self._plain(node)
        self._scope = outer
        return made

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
        decorators = Node("before", self.all_of(node.decorator_list))
        around, self._function_read = self._function_read, self._named(node.name).variable
        parts = [decorators, *self._parameters_and_body(node.args, node.body)]
        self._function_read = around
        return self._defined("def", node.name, parts)

    def _return(self, node: ast.Return) -> Node:
        plain = self._plain(node)
        if self._function_read and plain.parts:
            self.sources[self._function_read].append(plain.parts[0])
        return plain

    def _lambda(self, node: ast.Lambda) -> Node:
        return Node("lambda", self._parameters_and_body(node.args, [node.body]))

    def _parameters_and_body(self, given: ast.arguments, body: Sequence[ast.AST]) -> list[Node]:
        defaults = Node("before", self.all_of((*given.defaults, *filter(None, given.kw_defaults))))
        outer, self._scope = self._scope, scope_of(body, self._scope)
        parameters = []
        for each in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg):
            if each:
                self._scope.names[each.arg] = Variable()
                parameters.append(self._named(each.arg))
        shape = f"parameters {bool(given.vararg):d}{len(given.kwonlyargs)}{bool(given.kwarg):d}"
        inner = Node("body", self.all_of(body))
        self._scope = outer
        return [defaults, Node(shape, parameters), inner]

    def _class(self, node: ast.ClassDef) -> Node:
        before = Node("before", self.all_of((*node.decorator_list, *node.bases, *node.keywords)))
        outer, self._scope = self._scope, scope_of(node.body, self._scope, is_class=True)
        inner = Node("body", self.all_of(node.body))
        self._scope = outer
        return self._defined("class", node.name, [before, inner])

    def _defined(self, label: str, name: str, parts: list[Node]) -> Node:
        named = self._named(name)
        return Node(label, parts if named.variable else [named, *parts], named.variable)


def _constant(node: ast.Constant) -> Node:
    return Node("Ellipsis") if node.value is ... else Node(HOLE + _CONSTANTS.get(type(node.value), "number"))


def _contained(node: ast.expr, parts: list[Node]) -> Node:
    """Constants in a container are one, however many they are."""
    if all(each.is_hole for each in parts):
        return Node(HOLE + _CONTAINERS[type(node)])
    return Node(type(node).__name__, parts)
