"""Writes the module of one function that does what a program does with given parameters."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from alita_mcp.mining.generalisation.hoisting import bound_everywhere, hoisted
from alita_mcp.mining.generalisation.refusal import NoFunctionError
from alita_mcp.mining.generalisation.scopes import (
    Comprehension,
    Function,
    Opening,
    bindings,
    global_names,
    globals_declared,
    parts_of,
)
from alita_mcp.mining.generalisation.script import BUILTINS, Import, Script, is_text, own_names
from alita_mcp.syntax import expression_of, module_of, symbols_of


@dataclass
class Plan:
    """Plan of what is written around and into a program."""

    name: str
    signature: str
    """Parameters and result as they stand behind the name."""
    docstring: str
    reads: str
    parameters: frozenset[str]
    texts: Mapping[int, str]
    """Expressions by the id of the node that they replace."""
    gone: Sequence[ast.stmt]
    prelude: str = ""
    records: Mapping[str, Sequence[str]] = field(default_factory=dict)


def module_text(script: Script, plan: Plan) -> str:
    """The module: imports, records, helper functions of their own, then the function. Changes the script's tree.

    Raises:
        NoFunctionError: it cannot be written as text that means the same.
    """
    gone = {id(statement) for statement in plan.gone}
    script.tree.body = [statement for statement in script.tree.body if id(statement) not in gone]
    _Filling(plan.texts).visit(script.tree)
    _keep_qualified_names(script.tree.body)
    top = hoisted(script, plan.name, plan.parameters)
    above = {id(each) for statements in top.values() for each in statements}
    body = [statement for statement in script.tree.body if id(statement) not in above]
    _rename(script, top)
    function = _function(script, body, plan)
    imports = [each for statements in top.values() for each in statements if isinstance(each, Import)]
    helpers = [each for statements in top.values() for each in statements if not isinstance(each, Import)]
    text = "\n\n\n".join(
        filter(
            None, [_imports(imports, script, plan), _builtins(function), _records(plan), *map(_text, helpers)]
        )
    )
    whole = f"{text}\n\n\n{_text(function)}\n".lstrip("\n")
    _check_means_the_same(whole, function)
    return whole


class _Filling(ast.NodeTransformer):
    """Puts expressions in the places of literals."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts

    def visit(self, node: ast.AST) -> ast.AST:
        text = self._texts.get(id(node))
        if text is None:
            self.generic_visit(node)
            return node
        return expression_of(text).body

    def visit_pieces(self, values: list[ast.expr]) -> list[ast.expr]:
        """Pieces of an f-string, where an expression stands in braces."""
        return [
            ast.FormattedValue(expression_of(self._texts[id(each)]).body, -1)
            if id(each) in self._texts
            else each
            for each in values
        ]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.JoinedStr):
            node.values = self.visit_pieces(node.values)
        return super().generic_visit(node)


def _rename(script: Script, top: Mapping[str, list[ast.stmt]]) -> None:
    """Gives helper functions at the top a leading underscore; nothing else has their names."""
    renamed = {
        name: f"_{name}"
        for name, (first, *_) in top.items()
        if isinstance(first, Function) and not name.startswith("_")
    }
    for node in ast.walk(script.tree):
        if isinstance(node, ast.Name):
            node.id = renamed.get(node.id, node.id)
        elif isinstance(node, Function) and any(node is each for (each, *_) in top.values()):
            node.name = renamed.get(node.name, node.name)


def _function(script: Script, body: list[ast.stmt], plan: Plan) -> ast.stmt:
    bound = {name for name, _ in bindings(body)}
    ended = _ended(body, bound | globals_declared(script.tree), plan.reads)
    before = _prelude(script, ended, bound, plan)
    ended = [_Enclosed().visit(statement) for statement in ended if not isinstance(statement, ast.Pass)]
    if plan.reads == "printed":
        ended = _captured(ended, own_names(script))
    kind = "async def" if any(map(_awaits, ended)) else "def"
    whole = module_of(f"{kind} {plan.name}{plan.signature}:\n    pass").body[0]
    whole.body = [ast.Expr(ast.Constant(plan.docstring)), *before, *ended]  # type: ignore[attr-defined]
    return ast.fix_missing_locations(whole)


def _captured(body: list[ast.stmt], taken: frozenset[str]) -> list[ast.stmt]:
    """The body with what it prints returned."""
    name = next(each for each in ("_printed", "_printed_text", "_all_printed_text") if each not in taken)
    redirected = expression_of("contextlib.redirect_stdout(io.StringIO())").body
    block = ast.With([ast.withitem(redirected, ast.Name(name, ast.Store()))], body)
    return [block, _returned(f"{name}.getvalue()")]


def _ended(body: list[ast.stmt], bound: set[str], reads: str) -> list[ast.stmt]:
    """The body with its result returned."""
    if reads == "printed":
        return body
    has_result = "result" in bound
    match body[-1] if body else None:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))) if has_result and "print" not in bound:
            return [*body, _returned("result")]
        case ast.Expr(value=value) if has_result:
            kept = [ast.Assign([ast.Name("_last", ast.Store())], value)]
            return [*body[:-1], *kept, _returned("result if _last is None else _last")]
        case ast.Expr(value=value):
            return [*body[:-1], ast.Return(value)]
    if not has_result:
        raise NoFunctionError("it ends without an expression and sets no variable named result")
    return [*body, _returned("result")]


def _returned(text: str) -> ast.Return:
    return ast.Return(expression_of(text).body)


def _prelude(script: Script, body: list[ast.stmt], bound: set[str], plan: Plan) -> list[ast.stmt]:
    """What a module has and a function has not: builtins under names that are bound later, names that may be unset."""
    text = plan.prelude
    for name in sorted(bound & BUILTINS):
        if not _set_before_use(name, body, script):
            text = f"{name} = _builtin_{name}\n{text}"
    unset = globals_declared(ast.Module(body, [])) - bound - plan.parameters
    if "result" in bound and not any(_sets_result(statement) for statement in body):
        unset.add("result")
    for name in sorted(unset):
        text = f"{name} = None\n{text}"
    return module_of(text).body


def _sets_result(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign() | ast.AugAssign() | ast.FunctionDef() | ast.Import() | ast.ImportFrom():
            return any(name == "result" for name, _ in bindings([statement]))
    return False


def _set_before_use(name: str, body: list[ast.stmt], script: Script) -> bool:
    for statement in body:
        if name in global_names([statement], script.scope):
            match statement:
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    return target == name and name not in global_names([value], script.scope)
            return False
        if isinstance(statement, Opening) and statement.name == name:
            return True
    return False


class _Enclosed(ast.NodeTransformer):
    """What was global is the enclosing function's now."""

    def visit_Global(self, node: ast.Global) -> ast.AST:
        return ast.Nonlocal(node.names)


def _awaits(node: ast.AST) -> bool:
    """Whether a node waits for something outside the functions in it."""
    if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
        return True
    if isinstance(node, Comprehension):
        inside: list[ast.AST] = list(ast.iter_child_nodes(node))
        return any(each.is_async for each in node.generators) or any(map(_awaits, inside))
    inside = parts_of(node).outer if isinstance(node, Opening) else list(ast.iter_child_nodes(node))
    return any(map(_awaits, inside))


def _imports(imports: Sequence[ast.stmt], script: Script, plan: Plan) -> str:
    """Import lines, with those that our own code needs."""
    own = {"contextlib", "io"} if plan.reads == "printed" else set()
    own |= {"copy"} if any("copy.deepcopy(" in text for text in plan.texts.values()) else set()
    texts = {_text(each) for each in imports}
    own -= {text.removeprefix("import ") for text in texts}
    wanted = own | {
        kind for kind in ("tuple", "set") if any(f"{kind}(" in text for text in plan.texts.values())
    }
    if bound := (wanted | own) & (set(bound_everywhere(script.tree)) | {plan.name} | plan.parameters):
        raise NoFunctionError(f"it binds the name {', '.join(sorted(bound))}, which the function needs")
    texts |= {f"import {name}" for name in own}
    if plan.records:
        several = any("NotRequired[" in line for lines in plan.records.values() for line in lines)
        texts.add(f"from typing import {'NotRequired, ' if several else ''}TypedDict")
    return "\n".join(
        sorted(texts, key=lambda text: ("__future__" not in text, text.startswith("from"), text))
    )


def _builtins(function: ast.stmt) -> str:
    """Lines that keep builtins under another name, for a function that binds their names."""
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return "\n".join(f"_builtin_{name} = {name}" for name in sorted(BUILTINS) if f"_builtin_{name}" in read)


def _records(plan: Plan) -> str:
    classes = [
        f"class {name}(TypedDict):\n" + "\n".join(f"    {line}" for line in lines)
        for name, lines in plan.records.items()
    ]
    return "\n\n\n".join(classes)


def _text(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node))


def _check_means_the_same(text: str, function: ast.stmt) -> None:
    """Texts of some trees read otherwise than the trees: quotes within f-strings, for one."""
    if ast.dump(module_of(text).body[-1]) != ast.dump(function):
        raise NoFunctionError("it has an expression that cannot be written out again")
    symbols_of(text)


def _keep_qualified_names(body: Sequence[ast.AST], prefix: str = "") -> None:
    """Lets classes be called what they were called: what dataclasses print begins with it."""
    for node in body:
        inside = prefix
        if isinstance(node, ast.ClassDef):
            inside = f"{prefix}{node.name}."
            if node.decorator_list or any(not _is_plain_base(each) for each in node.bases):
                place = 1 if is_text(node.body[0]) else 0
                named = ast.Assign(
                    [ast.Name("__qualname__", ast.Store())], ast.Constant(f"{prefix}{node.name}")
                )
                node.body.insert(place, named)
        elif isinstance(node, Function):
            inside = f"{prefix}{node.name}.<locals>."
        _keep_qualified_names(list(ast.iter_child_nodes(node)), inside)


def _is_plain_base(base: ast.expr) -> bool:
    return isinstance(base, ast.Name) and base.id in BUILTINS
