"""Scripts run in this process as the interpreter runs them, and recorded; functions made of them called."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import itertools
import json
import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import anyio

from alita_mcp.runs.recorded_run import RecordedRun

MAX_LINES = 20_000


class EndlessError(BaseException):
    """A program does not come to its end."""


_NUMBERS = itertools.count()


def recorded(code: str, **arguments: Any) -> RecordedRun:
    """The run of a script: the value of its last expression, or its `result`, and what it printed."""
    namespace: dict[str, Any] = {"__name__": "__main__", **json.loads(json.dumps(arguments))}
    namespace.pop("input", None)
    given = arguments.get("input", [])
    text = given if isinstance(given, str) else "\n".join(given)
    lines = iter(text.split("\n") if text else [])

    def read(prompt: object = "") -> str:
        for line in lines:
            return line
        raise EOFError("EOF when reading a line")

    namespace["__builtins__"] = {**vars(__import__("builtins")), "input": read}
    printed = io.StringIO()
    seen: dict[str, Any] = {}
    try:
        with contextlib.redirect_stdout(printed), _bounded("script.py"):
            value = anyio.run(_executed, code, namespace)
        seen = _as_result(value)
    except EndlessError:
        seen = {"status": "timeout", "error_type": "TimeoutError"}
    except Exception as failure:  # noqa: BLE001 - whatever a program raises is what it gave
        seen = {"status": "error", "error_type": type(failure).__name__, "error": str(failure)}
    return RecordedRun(
        id=f"{next(_NUMBERS):032x}", at="2026-01-01T00:00:00Z", code=code, arguments=arguments,
        stdout=printed.getvalue(), **seen,
    )  # fmt: skip


@contextlib.contextmanager
def _bounded(file: str) -> Iterator[None]:
    """Ends a program that runs more lines than any of ours needs."""
    left = [MAX_LINES]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        left[0] -= 1
        if left[0] < 0:
            raise EndlessError
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


async def _executed(code: str, namespace: dict[str, Any]) -> Any:
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    await _step(tree, namespace, "exec")
    value = await _step(ast.Expression(last.value), namespace, "eval") if isinstance(last, ast.Expr) else None
    return namespace.get("result") if value is None else value


async def _step(tree: ast.AST, namespace: dict[str, Any], mode: str) -> Any:
    compiled = compile(tree, "script.py", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    value = eval(compiled, namespace)
    return await value if compiled.co_flags & inspect.CO_COROUTINE else value


def _as_result(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    try:
        return {"result": json.loads(json.dumps(value)), "result_kind": "json"}
    except (TypeError, ValueError):
        return {"result": repr(value), "result_kind": "repr"}


def called(code: str, name: str, arguments: Mapping[str, Any]) -> tuple[str, Any]:
    """What a function of a module gives, or the name of the error that it raises."""
    namespace: dict[str, Any] = {"__name__": "tool"}
    exec(compile(code, "tool.py", "exec", dont_inherit=True), namespace)

    async def call() -> Any:
        value = namespace[name](**json.loads(json.dumps(arguments)))
        return await value if inspect.isawaitable(value) else value

    try:
        with contextlib.redirect_stdout(io.StringIO()), _bounded("tool.py"):
            return "expected", json.loads(json.dumps(anyio.run(call)))
    except Exception as failure:  # noqa: BLE001 - whatever a program raises is what it gave
        return "raises", type(failure).__name__
