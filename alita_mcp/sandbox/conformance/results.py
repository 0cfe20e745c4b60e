"""Conformance claims about results: strict JSON both ways, exact types, output apart from results."""

from __future__ import annotations

import math

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.conformance.claims import Broken, Claim, Subject, chapter, ends, gives, hits, of_result
from alita_mcp.values import Limits

_VALUE = {
    "a": [1, 2.5, 2.0, None, True, {"b": 'Grüße ✓ \U0001f600 \u0000 " \\'}],
    "": [],
    "deep": [[[[]]]],
    "negative": -(10**18),
}
_DATACLASSES = """
from __future__ import annotations
from dataclasses import dataclass

@dataclass
class Point:
    x: int
    y: int

def f(point: Point) -> Point:
    return Point(point.y, point.x)
"""


async def _arguments_that_are_no_json(subject: Subject) -> None:
    try:
        result = await subject.run("def f(x):\n    return 1\n", {"x": math.nan})
    except SandboxRefused:
        return
    raise Broken(f"NaN went in as an argument and came to {result.status}")


RESULTS = chapter(
    "results",
    of_result("gives what the function returns, types included", "def f(x):\n    return x\n", gives(_VALUE),
              {"x": _VALUE}, essential=True),
    of_result("takes keyword arguments and defaults", "def f(a, b=40):\n    return a + b\n", gives(42), {"a": 2},
              essential=True),
    of_result("gives null for nothing", "def f():\n    pass\n", gives(None), essential=True),
    of_result("gives a list for a tuple", "def f():\n    return (1, 2)\n", gives([1, 2])),
    of_result("keeps whole numbers of 4,000 digits", "def f():\n    return 10 ** 4000\n", gives(10**4000)),
    of_result("awaits a coroutine function", "async def f(a):\n    return a + 1\n", gives(2), {"a": 1}),
    of_result("turns objects into dataclasses and back", _DATACLASSES, gives({"x": 2, "y": 1}),
              {"point": {"x": 1, "y": 2}}),
    of_result("refuses a whole number of more than 4,300 digits", "def f():\n    return 10 ** 4400\n",
              ends("bad_result")),
    of_result("refuses NaN as a result", "def f():\n    return [float('nan')]\n", ends("bad_result")),
    of_result("refuses infinity as a result", "def f():\n    return {'x': float('inf')}\n", ends("bad_result")),
    of_result("refuses a set as a result", "def f():\n    return {1, 2}\n", ends("bad_result")),
    of_result("refuses keys that are no text", "def f():\n    return {1: 2}\n", ends("bad_result")),
    of_result("refuses a result that holds itself", "def f():\n    x = []\n    x.append(x)\n    return x\n",
              ends("bad_result", "error")),
    of_result("refuses a result that is too deep",
              "def f():\n    x = []\n    for _ in range(100):\n        x = [x]\n    return x\n", ends("bad_result")),
    of_result("refuses a result that is too large, and names the limit", "def f():\n    return 'x' * 5000\n",
              hits("bad_result", "4096"), limits=Limits(result_bytes=4096), essential=True),
    of_result("keeps stdout apart from the result", "def f():\n    print('hello')\n    return 1\n",
              lambda result: (result.value, result.stdout) == (1, "hello\n"), essential=True),
    of_result("keeps stderr apart from stdout",
              "import sys\ndef f():\n    print('out')\n    print('err', file=sys.stderr)\n",
              lambda result: (result.stdout, result.stderr) == ("out\n", "err\n"), may_lack=True),
    of_result("cuts output at its limit", "def f():\n    for _ in range(300):\n        print('x' * 99)\n    return 1\n",
              lambda result: result.value == 1 and len(result.stdout) == 4096, limits=Limits(output_bytes=4096)),
    Claim("", "refuses arguments that are no JSON", _arguments_that_are_no_json),
)  # fmt: skip
