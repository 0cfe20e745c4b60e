"""Checks that a program can become a function without changing what it does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from alita_mcp.mining.generalisation.refusal import NoFunctionError
from alita_mcp.mining.generalisation.scopes import (
    Function,
    Opening,
    bindings,
    globals_declared,
    resolve,
    walk,
)
from alita_mcp.mining.generalisation.script import BUILTINS, Script

_NAMES = {"exec", "eval", "compile", "globals", "locals", "exit", "quit", "breakpoint", "SystemExit"}
_OF_ITS_NAMESPACE = {"vars", "dir"}
_MODULES = {
    "alita_tools": "it calls tools of the library",
    "argparse": "it reads the command line",
    "click": "it reads the command line",
    "optparse": "it reads the command line",
    "getopt": "it reads the command line",
    "fileinput": "it reads standard input",
    "inspect": "it looks at its own code",
    "traceback": "it looks at its own code",
    "atexit": "it does something after its end",
    "__main__": "it looks at its own names",
}
_SYS = {"argv", "stdin", "exit", "_getframe", "modules", "settrace", "setprofile", "__stdout__", "__stdin__"}
_BY_NAME = {"pickle", "shelve", "multiprocessing", "joblib", "dill", "cloudpickle"}
_TEXT_NAMES = {"query", "eval"}


def check_admissible(script: Script) -> None:
    """Refuses programs that notice whether their names are a module's or a function's, or that read the process.

    Raises:
        NoFunctionError: with the first reason found.
    """
    reason = next(_reasons(script), "")
    if reason:
        raise NoFunctionError(reason)


def _reasons(script: Script) -> Iterator[str]:
    for node, stack in walk(script.tree.body, (script.scope,)):
        match node:
            case ast.Name(id=name) if resolve(stack, name) is None:
                yield from _unbound(name)
            case ast.Import() | ast.ImportFrom():
                yield from _import(node, script)
            case ast.Attribute(value=ast.Name(id="sys"), attr=attribute) if attribute in _SYS:
                yield f"it uses sys.{attribute}, which a function has not; take an argument instead"
            case ast.Attribute(
                attr="__qualname__" | "__module__" | "__doc__" | "__code__" | "__globals__" as what
            ):
                yield f"it reads {what}, which differs in a function"
            case ast.Call():
                yield from _call(node)
    yield from _scopes(script)


def _call(node: ast.Call) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[], keywords=[]) if name in _OF_ITS_NAMESPACE:
            yield f"it looks at its own names with {name}()"
        case ast.Call(func=ast.Attribute(attr=attribute), args=[ast.Constant(value=str(text)), *_]) if (
            attribute in _TEXT_NAMES and "@" in text
        ):
            yield f"a text names variables: {attribute}({text[:40]!r})"
        case ast.Call(func=ast.Attribute(attr="basicConfig" | "StreamHandler" | "addHandler")) if (
            "stdout" in ast.dump(node)
        ):
            yield "it makes logs of the whole process part of what it prints"


def _unbound(name: str) -> Iterator[str]:
    if name in _NAMES:
        yield f"it uses {name}, which a function has not in this way"
    elif name in ("display", "get_ipython"):
        yield "it shows figures, and a function returns JSON"
    elif name not in BUILTINS or (name.startswith("__") and name not in ("__import__", "__debug__")):
        yield f"it reads {name}, which it does not define: send it as an argument"


def _import(node: ast.Import | ast.ImportFrom, script: Script) -> Iterator[str]:
    module = (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
    root = module.split(".")[0]
    own = any(isinstance(each, Function | ast.ClassDef) for each in script.tree.body)
    if (
        isinstance(node, ast.ImportFrom)
        and root == "__future__"
        and node.names[0].name not in script.definitions
    ):
        yield "it binds a name anew that it imports from __future__"
    elif isinstance(node, ast.ImportFrom) and node.level:
        yield "it imports a module of its own folder"
    elif node.names[0].name == "*":
        yield f"`from {module} import *` binds names that nobody can see"
    elif root in _MODULES:
        yield _MODULES[root]
    elif root == "sys" and (isinstance(node, ast.ImportFrom) or node.names[0].asname):
        yield "it takes names from sys, which differ in a function"
    elif own and (root in _BY_NAME or "ProcessPoolExecutor" in {each.name for each in node.names}):
        yield f"{root} finds functions and classes by name, which it cannot inside a function"


def _scopes(script: Script) -> Iterator[str]:
    """What reads otherwise when the top level becomes a function around the rest."""
    declared = globals_declared(script.tree)
    for node, stack in walk(script.tree.body, (script.scope,)):
        match node:
            case ast.Global(names=names):
                shadowed = any(set(names) & scope.bound for scope in stack[1:])
                if shadowed or stack[-1].kind == "class":
                    yield f"{', '.join(names)} is global here and local around it"
            case ast.ClassDef():
                bound = {name for name, _ in bindings(node.body)}
                loaded = {each.id for each in _direct(node.body) if isinstance(each.ctx, ast.Load)}
                if bound & loaded & (script.scope.bound | declared):
                    yield f"class {node.name} reads and binds the same name"


def _direct(nodes: list[ast.stmt]) -> Iterator[ast.Name]:
    """Names in a class body, not in its functions."""
    pending: list[ast.AST] = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            yield node
        if isinstance(node, Opening):
            pending += [*node.decorator_list] if isinstance(node, Function) else []
        else:
            pending += ast.iter_child_nodes(node)
