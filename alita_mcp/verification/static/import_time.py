"""Check that importing a tool's module only binds names."""

from __future__ import annotations

import ast

from alita_mcp.values import Check
from alita_mcp.verification.code.names import Names
from alita_mcp.verification.code.source import excerpt
from alita_mcp.verification.findings import fail_check

_EFFECTS = {
    "open", "input", "print", "exec", "eval", "compile", "__import__", "breakpoint", "exit", "quit", "sys.exit",
    "time.sleep", "os.system", "os.popen", "os.fork", "os.remove", "os.mkdir", "os.makedirs", "anyio.run",
    "asyncio.run",
}  # fmt: skip
_EFFECT_MODULES = {
    "subprocess", "socket", "urllib", "http", "requests", "httpx", "aiohttp", "shutil", "threading",
    "multiprocessing", "signal", "ctypes", "webbrowser",
}  # fmt: skip
_HARMLESS = {
    "Import", "ImportFrom", "FunctionDef", "AsyncFunctionDef", "Pass", "Global", "Delete", "TypeAlias",
}  # fmt: skip
_LOOPS = {"For": "for loop", "AsyncFor": "for loop", "While": "while loop"}
_INTO_FUNCTION = "Move it into the function, or write a constant expression (a comprehension is fine)."


def import_time_checks(tree: ast.Module, names: Names) -> list[Check]:
    """Failures for top-level and class-level statements that do work at import."""
    return _block(tree.body, names)


def _statement(statement: ast.stmt, names: Names) -> list[Check]:
    match statement:
        case ast.Expr():
            return _expression(statement)
        case ast.If():
            return _if(statement, names)
        case ast.Try(body=body, orelse=orelse, finalbody=finalbody):
            handled = [each for handler in statement.handlers for each in handler.body]
            return _block([*body, *handled, *orelse, *finalbody], names)
        case ast.ClassDef(body=body):
            return _block(body, names)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Assert():
            return _effects(statement, names)
    if type(statement).__name__ in _HARMLESS:
        return []
    what = _LOOPS.get(type(statement).__name__, f"{type(statement).__name__.lower()} statement")
    return [fail_check("static", f"a {what} runs at import", _INTO_FUNCTION, line=statement.lineno)]


def _block(body: list[ast.stmt], names: Names) -> list[Check]:
    return [check for statement in body for check in _statement(statement, names)]


def _expression(statement: ast.Expr) -> list[Check]:
    if isinstance(statement.value, ast.Constant):
        return []
    text = excerpt(statement.value)
    fix = "Remove it: a tool's module only defines, its function is called by others."
    return [fail_check("static", f"`{text}` runs at import", fix, line=statement.lineno)]


def _if(statement: ast.If, names: Names) -> list[Check]:
    checks: list[Check] = []
    rest: list[ast.stmt] = [statement]
    while len(rest) == 1 and isinstance(branch := rest[0], ast.If):  # an elif is an if inside an else
        if any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(branch.test)):
            fix = 'Remove the `if __name__ == "__main__":` block; examples show how the tool is called.'
            return [fail_check("static", "the module is written as a program", fix, line=branch.lineno)]
        checks += _block(branch.body, names)
        rest = branch.orelse
    return checks + _block(rest, names)


def _effects(statement: ast.stmt, names: Names) -> list[Check]:
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call):
            continue
        called = names.full_name(node.func)
        if called in _EFFECTS or called.split(".")[0] in _EFFECT_MODULES:
            message = f"{called}() is called at import"
            return [fail_check("static", message, "Call it inside the function.", line=node.lineno)]
    return []
