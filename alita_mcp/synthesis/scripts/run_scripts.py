"""Plain script of a recorded run, which prints what the run gave."""

from __future__ import annotations

import ast
import json
from typing import Any

from alita_mcp.runs.recorded_run import RecordedRun
from alita_mcp.syntax import expression_of, module_of
from alita_mcp.synthesis.requests.script_template import function_of

MAX_TEST = 4_000
"""Longest test that a template takes, in characters of its JSON."""
MAX_TESTS = 10


def script_of(run: RecordedRun) -> str:
    """Returns the run's code with its arguments as constants, printing its result if it had one."""
    body = module_of(run.code).body
    opening = [each for each in body if _opens(each)]
    given = [
        ast.Assign([ast.Name(name, ast.Store())], expression_of(repr(value)).body)
        for name, value in run.arguments.items()
        if name != "input"
    ]
    rest = [each for each in body if not _opens(each)]
    if run.result_kind != "none" and rest:
        rest = _printing(rest)
    module = ast.Module([*opening, *given, *rest], [])
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


def printed_by(run: RecordedRun) -> str:
    """Returns what that script prints, without the line end."""
    result = "" if run.result_kind == "none" else str(run.result)
    return f"{run.stdout}{result}".strip()


def as_tests(runs: list[RecordedRun], name: str) -> list[dict[str, Any]]:
    """Makes each run a test of the function that `function_of` makes of the first script, where it fits."""
    tests: list[dict[str, Any]] = []
    for run in runs:
        arguments = _with_lines(
            function_of(script_of(run), name, "").arguments, run.arguments.get("input", [])
        )
        test = {"arguments": arguments, "expected": printed_by(run)}
        same = not tests or tests[0]["arguments"].keys() == arguments.keys()
        if same and test not in tests and len(json.dumps(test)) <= MAX_TEST:
            tests.append(test)
    return tests[:MAX_TESTS]


def _with_lines(arguments: dict[str, Any], given: Any) -> dict[str, Any]:
    """Arguments with the lines that the run read, as far as it was given some."""
    lines = given if isinstance(given, list) else str(given).splitlines()
    read = {f"input_{number}": str(line) for number, line in enumerate(lines, 1)}
    return {name: read.get(name, value) for name, value in arguments.items()}


def _opens(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _printing(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body with its result printed: of the last expression, else of what it calls `result`."""
    last = body[-1]
    printing = module_of("print(result)").body
    match last:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return [*body, *printing]
        case ast.Expr(value=value):
            return [*body[:-1], ast.Expr(ast.Call(ast.Name("print", ast.Load()), [value], []))]
    return [*body, *printing]
