"""Plain scripts, whose code does its work at the top level, and what they print when they run without input."""

from __future__ import annotations

import ast

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Job, Sandbox
from alita_mcp.synthesis.requests.request import SynthesisRequest
from alita_mcp.values import Limits
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError

WALL_S = 10.0
"""For the run of a script."""
_PROGRAM = """\
import io
import sys

def run_script(code):
    sys.argv = ["script.py"]
    sys.stdin = io.StringIO()
    try:
        exec(compile(code, "script.py", "exec"), {"__name__": "__main__", "input": _no_input})
    except SystemExit as end:
        if end.code not in (None, 0):
            raise

def _no_input(prompt=""):
    raise EOFError("the script reads more lines than it was given")
"""
_DEFINES = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def is_script(request: SynthesisRequest) -> bool:
    """Whether the code does its work at the top level instead of in a function that a tool could be.

    With a function of the tool's name and tests it is meant as a tool, whatever else stands in it.
    """
    try:
        tree = parse_code(request.code)
    except ContractError:
        return False
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    if request.name in functions and request.tests:
        return False
    acts = any(_acts(statement) for statement in tree.body)
    return acts and (request.name not in functions or _reads_or_prints(tree))


async def output_of(code: str, sandbox: Sandbox) -> str | None:
    """Output of a script that is given no input; None when it needs some, or fails, or there is no sandbox."""
    arguments = {"code": code}
    job = Job(code=_PROGRAM, function="run_script", arguments=arguments, limits=Limits(wall_seconds=WALL_S))
    try:
        result = await sandbox.run(job)
    except SandboxError:
        return None
    return result.stdout if result.ok else None


def _acts(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.Assign() | ast.AnnAssign():
            return _reads_or_prints(statement)
    return not isinstance(statement, _DEFINES)


def _reads_or_prints(tree: ast.AST) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in ("input", "print"))
        or (isinstance(node, ast.Attribute) and node.attr in ("argv", "stdin", "stdout"))
        for node in ast.walk(tree)
    )
