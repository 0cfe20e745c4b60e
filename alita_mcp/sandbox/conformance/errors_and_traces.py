"""Conformance claims about failing code: its error is reported as it was, and nothing else of the machine is."""

from __future__ import annotations

import sys
from pathlib import Path

from alita_mcp.sandbox.conformance.claims import (
    Broken,
    Claim,
    Subject,
    chapter,
    ends,
    fails,
    hits,
    of_result,
    shown,
)


async def _trace_of_own_lines(subject: Subject) -> None:
    result = await subject.run("def g(x):\n    return 1 / x\n\ndef f():\n    return g(0)\n")
    if result.error_type != "ZeroDivisionError" or not result.trace:
        raise Broken(shown(result))
    told = "\n".join(result.trace)
    if len(result.trace) > 10 or not all(line.startswith("tool.py:") for line in result.trace):
        raise Broken(f"the trace is {told!r}")
    if "tool.py:2" not in result.trace[-1]:
        raise Broken(f"the last line of the trace is {result.trace[-1]!r}, not the tool's line 2")
    if any(path in told for path in (str(Path.cwd()), sys.prefix, str(Path.home()))):
        raise Broken("the trace names folders of this machine")


async def _works_after_an_error(subject: Subject) -> None:
    code = "def f(x):\n    return 1 / x\n"
    failed = await subject.run(code, {"x": 0})
    if failed.error_type != "ZeroDivisionError":
        raise Broken(shown(failed))
    if await subject.value(code, {"x": 2}) != 0.5:
        raise Broken("the next call of the same code did not give 0.5")


ERRORS = chapter(
    "errors and traces",
    of_result("tells an exception by type, message and trace",
              "def f():\n    raise ValueError('no such day')\n", fails("ValueError", "no such day"), essential=True),
    of_result("tells of what an exception is a kind", "def f():\n    return {}['x']\n",
              lambda result: result.error_kinds[:2] == ("builtins.KeyError", "builtins.LookupError"), essential=True),
    of_result("tells of what an exception of a library is a kind",
              "import json\ndef f():\n    return json.loads('{')\n",
              lambda result: {"json.decoder.JSONDecodeError", "builtins.ValueError"} <= {*result.error_kinds},
              may_lack=True),
    of_result("tells an exception of the tool's own",
              "class Late(Exception):\n    pass\ndef f():\n    raise Late('x')\n", fails("Late"), may_lack=True),
    of_result("tells wrong arguments as a TypeError", "def f(a):\n    return a\n",
              lambda result: (result.status, result.error_type) == ("error", "TypeError"), {"b": 1}),
    of_result("survives endless recursion", "def f(n=0):\n    return f(n + 1)\n",
              lambda result: result.error_type == "RecursionError" and len(result.trace) <= 10, essential=True),
    of_result("does not end when the code exits", "def f():\n    raise SystemExit(0)\n",
              lambda result: result.status == "error" and result.error_type == "SystemExit"),
    of_result("cuts a message without end", "def f():\n    raise ValueError('x' * 3000000)\n",
              lambda result: result.status in {"error", "memory"} and len(result.message) <= 10_000),
    of_result("tells code that does not parse", "def f(:\n",
              lambda result: (result.status, result.error_type) == ("load_failed", "SyntaxError"), essential=True),
    of_result("tells code that fails while it is imported", "raise KeyError('early')\n",
              lambda result: (result.status, result.error_type) == ("load_failed", "KeyError"), essential=True),
    of_result("tells a function that is missing", "def g():\n    return 1\n", hits("load_failed", "'f'")),
    of_result("tells a function that is none", "f = 1\n", ends("load_failed", "error")),
    Claim("", "shows the tool's own lines and no folder of the machine", _trace_of_own_lines, essential=True),
    Claim("", "works on after an error", _works_after_an_error, essential=True),
)  # fmt: skip
