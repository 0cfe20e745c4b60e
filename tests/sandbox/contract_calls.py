"""What a call gives and what it leaves, for every back end: subclasses give the fixture `sandbox`.

What proves isolation are the claims of `alita doctor --sandbox`, which `test_conformance_suite.py` runs on each.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.values import Limits

WAIT_SECONDS = 120
CALLERS = 6
SQUARE = "def f(n):\n    return n * n\n"
LOOP = "def f():\n    while True:\n        pass\n"
FOREVER = Limits(wall_seconds=600, cpu_seconds=600)
VALUE = {
    "a": [1, 2.5, 2.0, None, True, {"b": 'Grüße ✓ \U0001f600 \u0000 " \\'}],
    "": [],
    "deep": [[[[]]]],
    "negative": -(10**18),
}
EXTRA_DEEP = "def f():\n    x = []\n    for _ in range(100):\n        x = [x]\n    return x\n"
HOLDS_ITSELF = "def f():\n    x = []\n    x.append(x)\n    return x\n"
OWN_ERROR = "class Late(Exception):\n    pass\ndef f():\n    raise Late('x')\n"


class Call(NamedTuple):
    """A call and what must come of it."""

    code: str
    holds: Callable[[RunResult], bool]
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    limits: Limits = Limits()
    fails_to_load: bool = False


def gives(value: Any) -> Callable[[RunResult], bool]:
    """Exactly this value: `repr` tells True from 1 and 2.0 from 2."""
    return lambda result: result.ok and repr(result.value) == repr(value)


def ends(status: str, error_type: str | None = None, *words: str) -> Callable[[RunResult], bool]:
    return lambda result: (
        result.status == status
        and error_type in (None, result.error_type)
        and all(word in result.message for word in words)
    )


RESULTS = {
    "the value with its types": Call("def f(x):\n    return x\n", gives(VALUE), {"x": VALUE}),
    "keyword arguments and defaults": Call("def f(a, b=40):\n    return a + b\n", gives(42), {"a": 2}),
    "null for nothing": Call("def f():\n    pass\n", gives(None)),
    "a list for a tuple": Call("def f():\n    return (1, 2)\n", gives([1, 2])),
    "whole numbers of 4,000 digits": Call("def f():\n    return 10 ** 4000\n", gives(10**4000)),
    "no whole number of 4,400 digits": Call("def f():\n    return 10 ** 4400\n", ends("bad_result")),
    "a coroutine function": Call("async def f(a):\n    return a + 1\n", gives(2), {"a": 1}),
    "no NaN": Call("def f():\n    return [float('nan')]\n", ends("bad_result")),
    "no infinity": Call("def f():\n    return {'x': float('inf')}\n", ends("bad_result")),
    "no set": Call("def f():\n    return {1, 2}\n", ends("bad_result")),
    "no keys but text": Call("def f():\n    return {1: 2}\n", ends("bad_result")),
    "nothing that holds itself": Call(HOLDS_ITSELF, lambda result: result.status in {"bad_result", "error"}),
    "nothing too deep": Call(EXTRA_DEEP, ends("bad_result")),
    "stdout apart from the result": Call(
        "def f():\n    print('hello')\n    return 1\n",
        lambda result: (result.value, result.stdout) == (1, "hello\n"),
    ),
    "stderr apart from stdout": Call(
        "import sys\ndef f():\n    print('out')\n    print('err', file=sys.stderr)\n",
        lambda result: (result.stdout, result.stderr) == ("out\n", "err\n"),
    ),
    "output cut at its limit": Call(
        "def f():\n    for _ in range(300):\n        print('x' * 99)\n    return 1\n",
        lambda result: result.value == 1 and len(result.stdout) == 4096,
        limits=Limits(output_bytes=4096),
    ),
}
ERRORS = {
    "type, message and trace": Call(
        "def f():\n    raise ValueError('no such day')\n",
        lambda result: ends("error", "ValueError", "no such day")(result) and bool(result.trace),
    ),
    "what an exception is a kind of": Call(
        "def f():\n    return {}['x']\n",
        lambda result: result.error_kinds[:2] == ("builtins.KeyError", "builtins.LookupError"),
    ),
    "what a library's exception is a kind of": Call(
        "import json\ndef f():\n    return json.loads('{')\n",
        lambda result: {"json.decoder.JSONDecodeError", "builtins.ValueError"} <= {*result.error_kinds},
    ),
    "an exception of the tool's own": Call(OWN_ERROR, ends("error", "Late")),
    "wrong arguments": Call("def f(a):\n    return a\n", ends("error", "TypeError"), {"b": 1}),
    "endless recursion": Call(
        "def f(n=0):\n    return f(n + 1)\n",
        lambda result: result.error_type == "RecursionError" and len(result.trace) <= 10,
    ),
    "code that exits": Call("def f():\n    raise SystemExit(0)\n", ends("error", "SystemExit")),
    "a message without end": Call(
        "def f():\n    raise ValueError('x' * 3000000)\n",
        lambda result: result.status in {"error", "memory"} and len(result.message) <= 10_000,
    ),
    "code that does not parse": Call("def f(:\n", ends("load_failed", "SyntaxError"), fails_to_load=True),
    "code that fails at import": Call(
        "raise KeyError('early')\n", ends("load_failed", "KeyError"), fails_to_load=True
    ),
    "a function that is missing": Call(
        "def g():\n    return 1\n", ends("load_failed", None, "'f'"), fails_to_load=True
    ),
    "a function that is none": Call(
        "f = 1\n", lambda result: result.status in {"load_failed", "error"}, fails_to_load=True
    ),
    "the next call": Call("def f(x):\n    return 1 / x\n", gives(0.5), {"x": 2}),
}
FORGETS = {
    "defaults": (
        "def g(x, seen=[]):\n    seen.append(x)\n    return seen", "len(g(1)) - 1", "g(2)",
    ),
    "what was put on modules": ("import os", "getattr(os, 'leak', 0)", "os.leak = 1"),
    "the working folder": (
        "import os\nAT = os.getcwd()", "AT != '/' and os.getcwd() == '/'",
        "try:\n        os.chdir('/')\n    except OSError:\n        pass",
    ),
    "folders that were closed": (
        "import os, tempfile\nAT = os.path.join(tempfile.gettempdir(), 'alita-shut')", "os.path.lexists(AT)",
        "os.makedirs(AT + '/in'), os.chmod(AT + '/in', 0), os.chmod(AT, 0)",
    ),
}  # fmt: skip
"""What a call leaves: the module's head, an expression that finds it, and a statement that leaves it."""


def in_one_module(table: dict[str, Call]) -> str:
    """All programs that load, so that one worker serves them: the function of each is `f` and its number."""
    return "\n".join(
        re.sub(r"\bf\(", f"f{number}(", call.code)
        for number, call in enumerate(table.values())
        if not call.fails_to_load
    )


async def run(sandbox: Sandbox, code: str, limits: Limits = Limits(), **arguments: Any) -> RunResult:  # noqa: B008 - frozen
    with anyio.fail_after(WAIT_SECONDS):
        return await sandbox.run(Job(code=code, function="f", arguments=arguments, limits=limits))


async def value(sandbox: Sandbox, code: str, **arguments: Any) -> Any:
    result = await run(sandbox, code, **arguments)
    assert result.ok, result
    return result.value


class CallContract:
    """Subclasses give the fixture `sandbox`."""

    @pytest.mark.parametrize("table", [RESULTS, ERRORS], ids=["results", "errors"])
    async def test_a_call_gives_what_it_must(self, sandbox: Sandbox, table: dict[str, Call]) -> None:
        module, found = in_one_module(table), {}
        for number, (name, call) in enumerate(table.items()):
            code, function = (call.code, "f") if call.fails_to_load else (module, f"f{number}")
            job = Job(code=code, function=function, arguments=call.arguments, limits=call.limits)
            with anyio.fail_after(WAIT_SECONDS):
                found[name] = await sandbox.run(job)
        assert {name: result for name, result in found.items() if not table[name].holds(result)} == {}

    async def test_arguments_that_are_no_json_are_refused(self, sandbox: Sandbox) -> None:
        with pytest.raises(SandboxRefused):
            await run(sandbox, SQUARE, n=math.nan)

    async def test_a_trace_shows_the_tools_own_lines_and_no_folder_of_the_machine(
        self, sandbox: Sandbox
    ) -> None:
        result = await run(sandbox, "def g(x):\n    return 1 / x\n\ndef f():\n    return g(0)\n")
        assert result.error_type == "ZeroDivisionError"
        assert all(line.startswith("tool.py:") for line in result.trace)
        assert "tool.py:2" in result.trace[-1]
        assert not [at for at in (Path.cwd(), sys.prefix, Path.home()) if str(at) in "\n".join(result.trace)]

    async def test_a_call_finds_nothing_of_an_earlier_one(self, sandbox: Sandbox) -> None:
        found = {}
        for name, (head, look, leave) in FORGETS.items():
            code = f"{head}\ndef f():\n    found = {look}\n    {leave}\n    return found\n"
            found[name] = [await value(sandbox, code) for _ in range(3)]
        assert {name: seen for name, seen in found.items() if any(seen)} == {}

    async def test_each_call_draws_other_random_numbers(self, sandbox: Sandbox) -> None:
        code = "import random\ndef f():\n    return [random.random() for _ in range(4)]\n"
        assert len({str(await value(sandbox, code)) for _ in range(3)}) == 3

    async def test_calls_and_tools_at_once_do_not_mix(self, sandbox: Sandbox) -> None:
        squares: dict[int, Any] = {}
        numbers: dict[int, Any] = {}

        async def square(number: int) -> None:
            squares[number] = await value(sandbox, SQUARE, n=number)

        async def tell(number: int) -> None:
            numbers[number] = await value(sandbox, f"NUMBER = {number}\ndef f():\n    return NUMBER\n")

        async with anyio.create_task_group() as tasks:
            for number in range(CALLERS):
                tasks.start_soon(square, number)
                tasks.start_soon(tell, number // 3)  # two tools
        assert squares == {number: number * number for number in range(CALLERS)}
        assert numbers == {number: number for number in range(CALLERS // 3)}

    async def test_nobody_notices_what_another_call_overdoes(self, sandbox: Sandbox) -> None:
        overdone = []

        async def overdo() -> None:
            code = "def f():\n    return len([[n] * 500000 for n in range(80)])\n"
            try:
                overdone.append((await run(sandbox, code, Limits(memory_bytes=64 << 20))).status)
            except SandboxError as problem:
                overdone.append(problem.message)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(overdo)
            tasks.start_soon(overdo)
            assert [await value(sandbox, SQUARE, n=n) for n in range(6)] == [n * n for n in range(6)]
        assert "ok" not in overdone

    async def test_calls_that_are_given_up_at_any_moment_free_what_they_held(self, sandbox: Sandbox) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            for number in range(10):
                with anyio.move_on_after(0.05 * number):
                    await sandbox.run(Job(code=LOOP, function="f", arguments={}, limits=FOREVER))
        assert await value(sandbox, SQUARE, n=7) == 49
