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


def import_time_checks(body: list[ast.stmt], names: Names) -> list[Check]:
    """Failures for statements of a module's or a class's body that do work at import."""
    checks: list[Check] = []
    for statement in body:
        # A statement (1) is an expression, (2) holds others, (3) binds a name, whose value may call something,
        # (4) is harmless, or (5) does work.
        match statement:
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    fix = "Remove it: a tool's module only defines, its function is called by others."
                    message = f"`{excerpt(value)}` runs at import"
                    checks.append(fail_check("static", message, fix, line=statement.lineno))
            case ast.If(test=test, body=inner, orelse=orelse):
                if any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(test)):
                    fix = (
                        'Remove the `if __name__ == "__main__":` block; examples show how the tool is called.'
                    )
                    message = "the module is written as a program"
                    checks.append(fail_check("static", message, fix, line=statement.lineno))
                else:
                    checks += import_time_checks([*inner, *orelse], names)
            case ast.Try(body=inner, orelse=orelse, finalbody=finalbody):
                handled = [each for handler in statement.handlers for each in handler.body]
                checks += import_time_checks([*inner, *handled, *orelse, *finalbody], names)
            case ast.ClassDef(body=inner):
                checks += import_time_checks(inner, names)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Assert():
                calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
                for called, line in ((names.full_name(node.func), node.lineno) for node in calls):
                    if called in _EFFECTS or called.split(".")[0] in _EFFECT_MODULES:
                        fix = "Call it inside the function."
                        checks.append(fail_check("static", f"{called}() is called at import", fix, line=line))
                        break
            case _ if type(statement).__name__ not in _HARMLESS:
                kind = type(statement).__name__
                what = _LOOPS.get(kind, f"{kind.lower()} statement")
                message = f"a {what} runs at import"
                checks.append(fail_check("static", message, _INTO_FUNCTION, line=statement.lineno))
    return checks
