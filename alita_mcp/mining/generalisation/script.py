"""Program of a recorded run in the plain form that programs are compared and rewritten in."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from dataclasses import dataclass

from alita_mcp.mining.generalisation.literals import value_of
from alita_mcp.mining.generalisation.refusal import NoFunctionError
from alita_mcp.mining.generalisation.scopes import (
    Function,
    Scope,
    bindings,
    bound_by_import,
    global_names,
    globals_declared,
    module_scope,
)
from alita_mcp.runs.recorded_run import RecordedRun
from alita_mcp.syntax import module_of

Import = ast.Import | ast.ImportFrom
BUILTINS = frozenset(dir(builtins))


@dataclass
class Script:
    """A program: its imports, functions and classes by name, and the other statements of its top level in order."""

    run: RecordedRun
    tree: ast.Module
    scope: Scope
    times: Counter[str]
    """How often each name of the top level is bound; those that a function declares global count twice more."""
    definitions: dict[str, list[ast.stmt]]
    """Those bound once and without effects of their own, so that where they stand means nothing."""

    @property
    def rest(self) -> list[ast.stmt]:
        """The statements of the top level that do something, in order."""
        defined = {id(each) for statements in self.definitions.values() for each in statements}
        return [statement for statement in self.tree.body if id(statement) not in defined]

    @property
    def given(self) -> list[str]:
        """Names that the run was given and that the program reads."""
        return [name for name in self.run.arguments if name in self.used and name != "input"]

    @property
    def used(self) -> set[str]:
        """Names of the top level, and names bound nowhere, that the program mentions."""
        return global_names(self.tree.body, self.scope)

    @property
    def lines(self) -> list[str]:
        """Lines that `input()` reads."""
        given = self.run.arguments.get("input", "")
        text = "\n".join(map(str, given)) if isinstance(given, list) else str(given)
        return text.split("\n") if text else []


def read_script(run: RecordedRun) -> Script:
    """The program of a run.

    Raises:
        NoFunctionError: it does not parse.
    """
    try:
        tree = module_of(run.code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as broken:
        raise NoFunctionError(f"the code does not parse: {broken}", writable=False) from broken
    tree.body = _plain_body(tree.body)
    _Plain().visit(tree)
    given = [name for name in run.arguments if name != "input"]
    times = _times(tree)
    script = Script(run, tree, module_scope(tree, given), times, _definitions(tree, times))
    _drop_unused(script)
    return script


def _plain_body(body: list[ast.stmt]) -> list[ast.stmt]:
    """Top-level statements one by one: the main guard opened, an import a name, no texts that do nothing."""
    opened = [each for statement in body for each in _opened(statement)]
    if body and opened[-1] is not body[-1]:
        opened.append(ast.Pass())  # the program ended with a statement, not with an expression
    last = len(opened) - 1
    return [
        each
        for place, statement in enumerate(opened)
        if place == last or not is_text(statement)
        for each in _split(statement)
    ]


def is_text(statement: ast.AST) -> bool:
    """Whether a statement is a docstring, or a text that stands for a comment."""
    return isinstance(statement, ast.Expr) and isinstance(
        value := statement.value, ast.Constant
    ) and isinstance(value.value, str)  # fmt: skip


def _opened(statement: ast.stmt) -> list[ast.stmt]:
    match statement:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]
            )
        ):
            return statement.body
    return [statement]


def _split(statement: ast.stmt) -> list[ast.stmt]:
    match statement:
        case ast.Import(names=names):
            return [ast.Import([alias]) for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            return [ast.ImportFrom(module, [alias], level) for alias in names]
        case ast.Global():
            return []
        case ast.AnnAssign(target=ast.Name() as target, value=value):
            return [ast.Assign([target], value)] if value else []
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if (
            len(targets) == len(values)
            and all(isinstance(each, ast.Name) for each in targets)
            and all(value_of(each) is not None for each in values)
        ):
            pairs = zip(targets, values, strict=True)
            return [ast.Assign([target], value) for target, value in pairs]
    return [statement]


class _Plain(ast.NodeTransformer):
    """Gives variables of functions no annotations, and `__name__` its value."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        kept = [each if isinstance(each, ast.AnnAssign) else self.visit(each) for each in node.body]
        node.body = kept
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None or not isinstance(node.target, ast.Name):
            return node
        return ast.Assign([node.target], node.value)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant("__main__") if node.id == "__name__" else node


def _times(tree: ast.Module) -> Counter[str]:
    times = Counter(name for name, _ in bindings(tree.body))
    for name in globals_declared(tree):
        times[name] += 2
    return times


def _definitions(tree: ast.Module, times: Counter[str]) -> dict[str, list[ast.stmt]]:
    found: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        if (name := _defined(statement)) and name not in BUILTINS:
            found.setdefault(name, []).append(statement)
    return {
        name: statements
        for name, statements in found.items()
        if times[name] == len(statements) and (times[name] == 1 or _one_import(statements))
    }


def _defined(statement: ast.stmt) -> str:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return bound_by_import(statement.names[0])
        case ast.FunctionDef(decorator_list=[]) | ast.AsyncFunctionDef(decorator_list=[]):
            return statement.name if _defaults_are_plain(statement) else ""
        case ast.ClassDef(decorator_list=[], keywords=[], bases=bases):
            plain = all(isinstance(each, ast.Name) and each.id in BUILTINS for each in bases)
            return statement.name if plain else ""
    return ""


def _defaults_are_plain(function: Function) -> bool:
    defaults = [*function.args.defaults, *filter(None, function.args.kw_defaults)]
    return all(isinstance(each, ast.Constant) for each in defaults)


def _one_import(statements: list[ast.stmt]) -> bool:
    """Whether several imports bind one and the same thing: the same import twice, or modules of one package."""
    if len({ast.dump(each) for each in statements}) == 1:
        return isinstance(statements[0], Import)
    return all(isinstance(each, ast.Import) and not each.names[0].asname for each in statements)


def _drop_unused(script: Script) -> None:
    """Leaves out imports and functions that nothing mentions; a class may be found by its base."""
    while True:
        mentioned = {
            name
            for statement in script.tree.body
            for name in global_names([statement], script.scope)
            if statement not in script.definitions.get(name, ())
        }
        unused = [
            name
            for name, (first, *_) in script.definitions.items()
            if name not in mentioned and isinstance(first, Import | Function) and not _is_pragma(first)
        ]
        if not unused:
            return
        gone = {id(each) for name in unused for each in script.definitions.pop(name)}
        script.tree.body = [each for each in script.tree.body if id(each) not in gone]


def _is_pragma(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and (
        statement.module == "__future__" or statement.names[0].name == "*"
    )


def own_names(script: Script) -> frozenset[str]:
    """Every name that a program binds or reads anywhere."""
    bound = {
        name
        for node in ast.walk(script.tree)
        for name in (getattr(node, "name", None), getattr(node, "arg", None), getattr(node, "id", None))
        if isinstance(name, str)
    }
    return frozenset(bound | script.scope.bound)
