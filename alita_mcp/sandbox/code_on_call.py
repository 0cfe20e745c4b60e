"""Jobs that bring their code with each call: many variants of one program share workers that are booted once.

A worker holds what it imported, and a variant is other code. So the worker imports a short program of ours instead,
and `exec` makes of the text that a call brings what an import would, in the process of that one call.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.runner.tool import shapes

UNLOADABLE = "VariantDoesNotLoad"
"""The error's class when the code of a call cannot be loaded."""
RUN_VARIANT = "run_variant"
_PROGRAM = """
import json, types

def _preload(names):
    for name in names:
        try:
            __import__(name)
        except Exception:
            continue

class VariantDoesNotLoad(Exception):
    pass

_dumps, _loads, _coroutine = json.dumps, json.loads, types.CoroutineType

def _outcome(function, arguments):
    try:
        value = function(**to_parameters(function, arguments))
        if isinstance(value, _coroutine):
            import asyncio
            value = asyncio.run(value)
        return [_loads(_dumps(to_json(value), allow_nan=False))]
    except MemoryError:
        raise
    except BaseException as problem:
        return {"raised": [kind.__name__ for kind in type(problem).__mro__]}

def run_variant(code, function, arguments):
    module = type(sys)("tool")
    module.__file__ = "tool.py"
    sys.modules["tool"] = module
    try:
        exec(compile(code, "tool.py", "exec", dont_inherit=True), module.__dict__)
        called = module.__dict__[function]
    except Exception as problem:
        raise VariantDoesNotLoad(type(problem).__name__) from None
    if isinstance(arguments, list):
        return [_outcome(called, each) for each in arguments]
    return called(**to_parameters(called, arguments))
"""


def loader_program(code: str) -> str:
    """Program that loads variants of some code: it imports what the code imports."""
    digest = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
    shaping = Path(shapes.__file__).read_text(encoding="utf-8")
    return f"{shaping}{_PROGRAM}\n_preload({json.dumps(_modules(code))})\n# {digest}\n"


def on_call(job: Job, program: str) -> Job:
    """The same call in a worker that holds the program; only calls of this program share that worker."""
    words = {"code": job.code, "function": job.function, "arguments": job.arguments}
    return job.model_copy(update={"code": program, "function": RUN_VARIANT, "arguments": words})


def on_many(job: Job, inputs: Sequence[dict[str, Any]]) -> Job:
    """A call of `on_call` on many inputs, one after the other in one process.

    Its result has for each a list that holds the value, or an object whose `raised` names the error's classes.
    """
    return job.model_copy(update={"arguments": {**job.arguments, "arguments": list(inputs)}})


def _modules(code: str) -> list[str]:
    """All that the code imports anywhere, with submodules; `alita_tool` is there already."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return sorted(name for name in found if name.partition(".")[0] not in {"alita_tool", "__future__"})
