"""Detector of text that code executes, which no gate can read: its use caps the trust."""

from __future__ import annotations

import ast

from alita_mcp.values import Check
from alita_mcp.verification.code.names import Names, last_name
from alita_mcp.verification.findings import fail_check

_RUNNERS = frozenset({"exec", "eval", "compile", "__import__", "globals"})
"""Builtins that run text, import by name, or lead to those that do."""
_MODULES = frozenset({
    "builtins", "code", "codeop", "imp", "importlib", "marshal", "pickle", "pkgutil", "runpy", "timeit", "zipimport",
})  # fmt: skip
_METADATA = ("importlib.metadata", "importlib.resources")
_ATTRIBUTES = frozenset({
    "exec", "import_module", "__import__", "__builtins__", "__globals__", "__subclasses__", "CodeType", "FunctionType",
})  # fmt: skip
"""Whatever they are attributes of; `compile` and `eval` are methods of honest objects, too."""
_LOOKED_UP = _ATTRIBUTES | {"eval"}
_LOOK_UPS = frozenset(
    {"getattr", "attrgetter", "methodcaller", "get", "pop", "__getitem__", "__getattribute__"}
)
_BUILT = ast.BinOp | ast.JoinedStr | ast.Call
_FIX = "Write it as code; a tool that runs text stays provisional."


def run_text_checks(tree: ast.Module, names: Names) -> list[Check]:
    """A soft check when the code executes text or imports by name, which no gate can read."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr | ast.stmt)]
    found = [(node.lineno, word) for node in nodes if (word := _runs_text(node, names))]
    if not found:
        return []
    line, word = min(found)
    return [
        fail_check("static", f"the code runs text or imports by name ({word})", _FIX, line=line, hard=False)
    ]


def _runs_text(node: ast.AST, names: Names) -> str:
    """The word that gives it away; empty when nothing does."""
    match node:
        case ast.Import(names=aliases):
            return next((each.name for each in aliases if _is_runner_module(each.name)), "")
        case ast.ImportFrom(module=str(module), names=aliases):
            imported = {each.name for each in aliases}
            if module == "importlib" and imported <= {"metadata", "resources"}:
                return ""
            return module if _is_runner_module(module) else next(iter(imported & _ATTRIBUTES), "")
        case ast.Name(id=name):
            return name if name in _RUNNERS | {"__builtins__"} else ""
        case ast.Attribute(attr=name):
            dotted = names.full_name(node)
            if name in _ATTRIBUTES or dotted == "sys.modules":
                return dotted or name
            return dotted if dotted in _RUNNERS else ""  # `builtins.eval` as such, or under an alias
        case ast.Call(func=function, args=args) if (name := last_name(function)) in _LOOK_UPS:
            # `getattr(x, "eval")` and the like, and names that are put together where they are looked up
            if word := next(filter(None, map(_word_looked_up, args)), ""):
                return word
            is_built = name == "getattr" and len(args) > 1 and isinstance(args[1], _BUILT)
            return "getattr() of a computed name" if is_built else ""
        case ast.Subscript(slice=key):
            return _word_looked_up(key)
    return ""


def _is_runner_module(name: str) -> bool:
    return name.partition(".")[0] in _MODULES and not name.startswith(_METADATA)


def _word_looked_up(node: ast.expr) -> str:
    word = _constant(node)
    return word if word in _LOOKED_UP else ""


def _constant(node: ast.expr) -> str:
    """The text of a literal, of several added up too; empty for all else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = _constant(left), _constant(right)
            return one + other if one and other else ""
    return ""
